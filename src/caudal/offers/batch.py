"""What one source yields: its offers, and the rows that were set aside, each with the reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

from caudal.facts.currency import ExchangeRates
from caudal.facts.gpu import GpuSpec
from caudal.offers.offer import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A row that is kept out of every selection, and why."""

    source: str
    where: str  # line or entry of the source, such as "line 12"
    what: str  # the row as it can be recognised, such as "cudo compute 8 x A4000 (16 GB)"
    reason: str


class OfferBatch(NamedTuple):
    """What one source yields at one reading."""

    source: str
    title: str
    licence: str
    offers: tuple[Offer, ...]
    set_aside: tuple[SetAside, ...]
    ignored: int = 0  # rows that sell no GPU, or say the same again for another zone
    notes: tuple[str, ...] = ()  # how the file was read, where that was not plain

    @property
    def observed(self) -> tuple[date, date] | None:
        """Return the first and the last day on which a price was seen."""
        days = {offer.observed_on for offer in self.offers}
        return (min(days), max(days)) if days else None


class UsualPrice(NamedTuple):
    """What is asked for a GPU-hour in the lists that come with Caudal, in USD."""

    median: Decimal
    dearest: Decimal


class ReadingFacts(NamedTuple):
    """The facts that rows are checked and completed by."""

    gpus: Mapping[str, GpuSpec]
    rates: ExchangeRates
    usual_usd: Mapping[str, UsualPrice] = MappingProxyType({})  # per GPU-hour, by GPU
    instances: Mapping[tuple[str, str], str] = MappingProxyType({})  # (provider, instance) → GPU
    own_names: Mapping[str, str] = MappingProxyType({})  # the user's: name in the list → GPU


class OfferSource(NamedTuple):
    """A price list; `tests/contract/test_offer_source.py` tests all of them."""

    name: str
    title: str
    read: Callable[[ReadingFacts], OfferBatch]
