"""Offers as columns: what a query looks at, without an object for every offer.

Two tables keep the same promises: `MadeTable` over offers in memory, whose columns are made when
a query first asks, and `StoredTable` over the bytes of a page, from which an offer is built only
when it is shown. Unknown is NaN in a number and None in a text.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.offers.offer import Offer
from caudal.offers.terms import provider_terms

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int32]


class TextColumn(NamedTuple):
    """Texts by number: `values[codes[i]]` is the text of row i."""

    values: Sequence[str | None]
    codes: Codes  # [offers]

    def where(self, admits: Callable[[str | None], bool]) -> Flags:
        """Return the rows whose text is admitted; each different text is tested once."""
        return np.array([admits(value) for value in self.values], dtype=np.bool_)[self.codes]

    def number(self, figure: Callable[[str | None], float | None]) -> Floats:
        """Return a figure of each row's text, NaN where it is None."""
        found = [figure(value) for value in self.values]
        return np.array([np.nan if x is None else x for x in found], dtype=np.float64)[self.codes]


class OfferTable(ABC):
    """Columns over `size` offers; [offers] in every array."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._derived: dict[str, Floats] = {}

    @abstractmethod
    def text(self, name: str) -> TextColumn:
        """Return the column of a field of `Offer` that is a text."""

    @abstractmethod
    def number(self, name: str) -> Floats:
        """Return the column of a field of `Offer` that is a number, date (ordinal) or flag."""

    @abstractmethod
    def keys(self) -> NDArray[np.int64]:
        """Return the numbers of `instance_keys`."""

    @abstractmethod
    def offer(self, row: int) -> Offer:
        """Return one offer."""

    def derived(self, name: str) -> Floats:
        """Return a column that follows from others, made once; see `DERIVED`."""
        found = self._derived.get(name)
        if found is None:
            found = self._derived[name] = DERIVED[name](self)
        return found


class MadeTable(OfferTable):
    """Offers in memory."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        super().__init__(len(offers))
        self.offers = offers
        self._texts: dict[str, TextColumn] = {}
        self._numbers: dict[str, Floats] = {}

    def text(self, name: str) -> TextColumn:
        """Return the column, made at the first call."""
        found = self._texts.get(name)
        if found is None:
            found = self._texts[name] = text_column([getattr(o, name) for o in self.offers])
        return found

    def number(self, name: str) -> Floats:
        """Return the column, made at the first call."""
        found = self._numbers.get(name)
        if found is None:
            plain = plain_number(name)
            found = self._numbers[name] = np.fromiter(
                (plain(offer) for offer in self.offers), dtype=np.float64, count=self.size
            )
        return found

    def keys(self) -> NDArray[np.int64]:
        """Return the numbers of `instance_keys`."""
        return instance_keys(self.offers)

    def offer(self, row: int) -> Offer:
        """Return the offer of this row."""
        return self.offers[row]


def instance_keys(offers: Sequence[Offer]) -> NDArray[np.int64]:
    """Return one number per instance, region and term: equal where two lists mean the same thing.

    0 where the instance or the region has no name. 63 bits of BLAKE2b: among 10⁶ offers two
    collide by chance once in 10⁷ books.
    """
    return np.fromiter((_instance_key(offer) for offer in offers), np.int64, count=len(offers))


def _instance_key(offer: Offer) -> int:
    if not (offer.instance and offer.region):
        return 0
    named = (offer.provider, offer.instance, offer.region, offer.gpu_id, offer.term)
    text = "\x1f".join((*named, str(offer.gpu_count)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 1) or 1


def text_column(values: Sequence[str | None]) -> TextColumn:
    """Return the texts by number, in the order of their first appearance."""
    known: dict[str | None, int] = {}
    codes = np.fromiter(
        (known.setdefault(value, len(known)) for value in values),
        dtype=np.int32,
        count=len(values),
    )
    return TextColumn(tuple(known), codes)


def plain_number(name: str) -> Callable[[Offer], float]:
    """Return how a field of an offer becomes a number."""
    if name in {"fresh_days", "stale_days"}:
        return lambda offer: float(getattr(offer.age_limits, name))

    def number(offer: Offer) -> float:
        value: object = getattr(offer, name)
        if value is None:
            return np.nan
        if isinstance(value, date):
            return float(value.toordinal())
        assert isinstance(value, int | float | Decimal), f"{name} is no number"
        return float(value)

    return number


def _specs(table: OfferTable, figure: Callable[[GpuSpec], float]) -> Floats:
    catalogue = gpu_catalogue()
    return table.text("gpu_id").number(lambda name: figure(catalogue.get(name or "")))


def _total_gpus(table: OfferTable) -> Floats:
    return table.number("gpu_count") * table.number("gpu_fraction")


def _usd_per_hour(table: OfferTable) -> Floats:
    return table.number("price_usd_per_gpu_hour") * table.derived("total_gpus")


def _total_memory(table: OfferTable) -> Floats:
    def nominal_or_usable(spec: GpuSpec) -> float:
        return (
            spec.usable_bytes if spec.unified_memory else max(spec.memory_bytes, spec.usable_bytes)
        )

    return _specs(table, nominal_or_usable) * table.derived("total_gpus")


def _billing_unit(table: OfferTable) -> Floats:
    """Return the stated unit, else the provider's for metered terms, else the term itself."""
    stated = table.number("billing_unit_s")
    by_provider = table.text("provider").number(
        lambda name: provider_terms(name or "").billing_unit_s
    )
    termed = table.number("hours_per_unit") * 3600.0
    metered = table.text("term").where(lambda term: term in {"hourly", "spot"})
    return np.where(np.isnan(stated), np.where(metered, by_provider, termed), stated)


def _fast_link(table: OfferTable) -> Floats:
    """Return 1 where the node's GPUs are joined by more than PCIe: as stated, else by the GPU."""
    stated = table.text("interconnect").number(_is_fast)
    by_gpu = _specs(table, lambda spec: float(spec.has_fast_link))
    return np.where(np.isnan(stated), by_gpu, stated)


def _is_fast(interconnect: str | None) -> float | None:
    if interconnect is None:
        return None
    return float("pci" not in interconnect.casefold())


DERIVED: Final[Mapping[str, Callable[[OfferTable], Floats]]] = {
    "total_gpus": _total_gpus,
    "usd_per_hour": _usd_per_hour,
    "total_memory_bytes": _total_memory,
    "memory_bytes_per_s": lambda table: _specs(table, lambda spec: spec.memory_bytes_per_s),
    "native_fp8": lambda table: _specs(table, lambda spec: float(spec.native_fp8)),
    "fast_link": _fast_link,
    "billing_unit_s": _billing_unit,
}
