"""What a GPU has cost: every observation, each change of a price, and the least of each day."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby

from caudal.facts.regions import region_wish
from caudal.offers.batch import OfferBatch
from caudal.offers.offer import Offer, Term
from caudal.vocabulary.money import UsdPerHour


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePoint:
    """One observation of a price; None where the offer was gone."""

    source: str
    provider: str
    via: str
    instance: str
    region: str
    country: str | None
    gpu_id: str
    gpu_count: int
    term: Term
    observed_on: date
    price: Decimal | None  # of the whole instance, in `currency`, for one unit of the term
    currency: str
    usd_per_gpu_hour: UsdPerHour | None

    @property
    def what(self) -> tuple[str, ...]:
        """Return what is followed over time within one source."""
        named = (self.source, self.provider, self.via, self.instance, self.region, self.gpu_id)
        return (*named, str(self.gpu_count), self.term.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """A price that differs from the one before it."""

    before: PricePoint
    after: PricePoint

    @property
    def percent(self) -> float | None:
        """Return the change, None where the offer came or went."""
        old, new = self.before.usd_per_gpu_hour, self.after.usd_per_gpu_hour
        return None if old is None or new is None else float((new / old - 1) * 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyPrice:
    """What was asked on a day on which something changed."""

    day: date
    term: Term
    least_usd_per_gpu_hour: UsdPerHour
    median_usd_per_gpu_hour: UsdPerHour
    offers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceHistory:
    """The observations in the order of time, and what follows from them."""

    points: tuple[PricePoint, ...]
    changes: tuple[PriceChange, ...]
    daily: tuple[DailyPrice, ...]  # by term, then day


def price_history(
    points: Iterable[PricePoint],
    *,
    regions: Sequence[str] = (),
    terms: frozenset[Term] = frozenset(),
) -> PriceHistory:
    """Return the history of the points in these regions and terms; empty means all.

    Raises:
        UnknownRegionError: nothing is called like one of the regions.
    """
    wishes = [region_wish(text) for text in regions]
    kept = [
        point
        for point in points
        if (not terms or point.term in terms)
        and (
            not wishes
            or any(
                wish.admits(provider=point.provider, region=point.region, country=point.country)
                for wish in wishes
            )
        )
    ]
    kept.sort(key=lambda point: (point.observed_on, point.what))
    return PriceHistory(
        points=tuple(kept), changes=tuple(_changes(kept)), daily=tuple(_daily(kept))
    )


def points_of(batches: Iterable[OfferBatch], *, gpu_ids: frozenset[str]) -> Iterator[PricePoint]:
    """Yield the observations in lists: each says what it saw, once."""
    for batch in batches:
        for offer in batch.offers:
            if offer.gpu_id in gpu_ids:
                yield point_of(offer, source=batch.source)


def point_of(offer: Offer, *, source: str) -> PricePoint:
    """Return what an offer says of its price."""
    return PricePoint(
        source=source,
        provider=offer.provider,
        via=offer.via,
        instance=offer.instance,
        region=offer.region,
        country=offer.country,
        gpu_id=offer.gpu_id,
        gpu_count=offer.gpu_count,
        term=offer.term,
        observed_on=offer.observed_on,
        price=offer.price,
        currency=offer.currency,
        usd_per_gpu_hour=offer.price_usd_per_gpu_hour,
    )


def _changes(points: Sequence[PricePoint]) -> Iterator[PriceChange]:
    """Yield each change; several configurations of one name on one day are no change."""
    found: list[PriceChange] = []
    for _, group in groupby(sorted(points, key=lambda p: (p.what, p.observed_on)), _what):
        before: PricePoint | None = None
        for point in group:
            later = before is not None and point.observed_on > before.observed_on
            if before is not None and later and point.price != before.price:
                found.append(PriceChange(before=before, after=point))
            before = point
    yield from sorted(found, key=lambda change: (change.after.observed_on, change.after.what))


def _what(point: PricePoint) -> tuple[str, ...]:
    return point.what


def _daily(points: Sequence[PricePoint]) -> Iterator[DailyPrice]:
    """Yield, by term, the least and median price asked from each day of change on.

    An observation holds until the next of the same thing.
    """
    for term in Term:
        asked: dict[tuple[str, ...], UsdPerHour] = {}
        of_term = [point for point in points if point.term is term]
        for day, group in groupby(of_term, key=lambda point: point.observed_on):
            for point in group:
                if point.usd_per_gpu_hour is None:
                    asked.pop(point.what, None)
                else:
                    asked[point.what] = point.usd_per_gpu_hour
            if asked:
                prices = sorted(asked.values())
                yield DailyPrice(
                    day=day,
                    term=term,
                    least_usd_per_gpu_hour=prices[0],
                    median_usd_per_gpu_hour=prices[len(prices) // 2],
                    offers=len(prices),
                )
