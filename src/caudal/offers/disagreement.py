"""Where two sources ask different prices for the same instance, region and term."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from caudal.offers.book import OfferBook
from caudal.offers.offer import Offer

_SAME_PRICE: Final = Decimal("0.001")  # rounding of lists
_SAME_TIME_DAYS: Final = 7  # chosen: list prices rarely move within a week


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two prices of one thing: a conflict if seen at about the same time, else a drift."""

    offer: Offer  # the later observation, which is offered
    source: str
    other_source: str
    other_usd_per_gpu_hour: Decimal
    other_observed_on: date
    percent: float  # of the later against the earlier

    @property
    def is_conflict(self) -> bool:
        """Return whether both were seen within a week."""
        days = (self.offer.observed_on - self.other_observed_on).days
        return abs(days) <= _SAME_TIME_DAYS


def disagreements(book: OfferBook) -> Iterator[Disagreement]:
    """Yield every pair of rows that differ by more than 0.1 %, in the order of the book."""
    for winner, loser in sorted(book.overlap.rival_of.items()):
        newer, older = book.raw_offer(winner), book.raw_offer(loser)
        ratio = newer.price_usd_per_gpu_hour / older.price_usd_per_gpu_hour
        if abs(ratio - 1) > _SAME_PRICE:
            yield Disagreement(
                offer=newer,
                source=book.source_of(winner).name,
                other_source=book.source_of(loser).name,
                other_usd_per_gpu_hour=older.price_usd_per_gpu_hour,
                other_observed_on=older.observed_on,
                percent=float((ratio - 1) * 100),
            )
