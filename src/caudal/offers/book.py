"""All offers on one page: select, find the cheapest, and say why a selection is empty."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caudal.offers.batch import OfferBatch, SetAside
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, AgeLimits, Offer
from caudal.offers.overlap import Overlap, overlap_of
from caudal.offers.query import OfferFilter, OfferQuery, filters_of
from caudal.offers.table import Flags, Floats, MadeTable, OfferTable
from caudal.vocabulary.money import cents

__all__ = [
    "BookPart",
    "EmptyReason",
    "OfferBook",
    "OfferQuery",
    "Relaxation",
    "Selection",
    "SourceReport",
    "assemble_book",
]

Rows = NDArray[np.intp]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one source contributed, and when its prices were seen."""

    name: str
    title: str
    licence: str
    offers: int
    set_aside: int
    first_seen: date | None
    last_seen: date | None
    age_limits: AgeLimits = DEFAULT_AGE_LIMITS
    stored: bool = False  # in the user's database; else it comes with Caudal
    tried_at: datetime | None = None  # when it was last asked
    problem: str = ""  # why the last attempt failed; its older rows are kept

    def age(self, today: date, limits: AgeLimits | None = None) -> Age | None:
        """Return how far its newest price may be trusted, None where it has no offers."""
        if self.last_seen is None:
            return None
        return (limits or self.age_limits).age((today - self.last_seen).days)


@dataclass(frozen=True, slots=True, kw_only=True)
class BookPart:
    """The offers of one source in a book."""

    table: OfferTable
    report: SourceReport
    set_aside: tuple[SetAside, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """What would be found if one filter were dropped."""

    filter: str
    offers: int
    nearest: Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyReason:
    """Why a selection is empty.

    `relaxations` are the filters of which any one alone, if dropped, lets offers through. Where
    there are none, `binding` is the filter at which the last offer fell, tested in order.
    """

    binding: str
    left_before: int  # offers that passed the filters before `binding`
    relaxations: tuple[Relaxation, ...]

    @property
    def text(self) -> str:
        """Return the reason in sentences."""
        if not self.relaxations:
            return (
                f"No offer passes, even if any one filter is dropped: {self.left_before} passed"
                f" the filters before {self.binding!r}, none passed it."
            )
        parts = [
            f"Without {item.filter!r} there would be {item.offers:,}, the nearest"
            f" {_described(item.nearest)}."
            for item in self.relaxations
        ]
        return " ".join(["No offer passes all filters.", *parts])


class Selection(Sequence[Offer]):
    """Offers of a book in an order; an offer is built when it is looked at."""

    __slots__ = ("_book", "rows")

    def __init__(self, book: "OfferBook", rows: Rows) -> None:
        self._book = book
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int | slice) -> "Offer | Selection":  # type: ignore[override]
        if isinstance(place, slice):
            return Selection(self._book, self.rows[place])
        return self._book.offer(int(self.rows[place]))

    def __iter__(self) -> Iterator[Offer]:
        return (self._book.offer(int(row)) for row in self.rows)

    def first(self, most: int) -> tuple[Offer, ...]:
        """Return the first `most` offers."""
        return tuple(islice(self, most))

    def order_by(self, figures: Floats) -> "Selection":
        """Return the same offers by figures of all rows of the book, smallest first; NaN last."""
        return Selection(self._book, self.rows[np.argsort(figures[self.rows], kind="stable")])


@dataclass(frozen=True, eq=False, kw_only=True)
class OfferBook:
    """Every offer of every source as of `today`.

    Rows are counted through all parts. Where two sources price the same instance, region and
    term, the later observation is offered (`overlap`).
    """

    parts: tuple[BookPart, ...]
    today: date
    read_from: tuple[SourceReport, ...] = ()  # where the parts are not the sources

    @cached_property
    def sources(self) -> tuple[SourceReport, ...]:
        """Return what each source contributed."""
        return self.read_from or tuple(part.report for part in self.parts)

    def with_offers(self, offers: Sequence[Offer]) -> "OfferBook":
        """Return a book of the same sources with other offers, such as at other rates."""
        batch = OfferBatch(
            source="", title="", licence="", offers=tuple(offers), set_aside=self.set_aside
        )
        return OfferBook(parts=(_part(batch),), today=self.today, read_from=self.sources)

    def has_currency(self, currencies: Container[str]) -> bool:
        """Return whether a price is in one of these currencies; builds no offer."""
        names = self._names("currency")
        return any(name in currencies for name in names)

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """Return every offer, cheapest per GPU-hour first."""
        return tuple(self.find(OfferQuery(oldest=Age.HISTORICAL)))

    @cached_property
    def set_aside(self) -> tuple[SetAside, ...]:
        """Return the rows kept out of every selection, and the reasons."""
        rows = [row for part in self.parts for row in part.set_aside]
        return (*rows, *(self._superseded(row) for row in self.overlap.losers.tolist()))

    @cached_property
    def overlap(self) -> Overlap:
        """Return which rows a later observation of another source replaces."""
        return overlap_of([part.table for part in self.parts])

    @cached_property
    def providers(self) -> frozenset[str]:
        """Return the names of all providers."""
        return self._names("provider")

    @cached_property
    def sellers(self) -> frozenset[str]:
        """Return the names of all providers and of the marketplaces that resell them."""
        return self.providers | self._names("via")

    def find(self, query: OfferQuery) -> Selection:
        """Return the offers that pass every filter of `query`, cheapest per GPU-hour first.

        Raises:
            UnknownRegionError: nothing is called like one of the regions.
        """
        conditions = filters_of(query, today=self.today)
        passed = [_passing(part.table, conditions) for part in self.parts]
        return self._by_price(np.flatnonzero(_joined(passed) & self.overlap.offered))

    def find_any(self, queries: Sequence[OfferQuery]) -> Selection:
        """Return the offers that pass at least one of the queries, cheapest first."""
        rows = [self.find(query).rows for query in queries]
        return self._by_price(np.unique(np.concatenate(rows)) if rows else np.array([], np.intp))

    def select(self, query: OfferQuery) -> tuple[Offer, ...]:
        """Return the offers that pass every filter of `query`, cheapest per GPU-hour first."""
        return tuple(self.find(query))

    def cheapest_by(self, gpu_id: str, count: int, query: OfferQuery | None = None) -> Offer | None:
        """Return the cheapest instance of exactly `count` whole GPUs, None where none is sold."""
        asked = replace(
            query or OfferQuery(),
            gpu_ids=frozenset({gpu_id}),
            counts=frozenset({count}),
            fractions=False,
        )
        return next(iter(self.find(asked)), None)

    def offer(self, row: int) -> Offer:
        """Return the offer of a row, completed by what an older source knew of it."""
        part, local = self._locate(row)
        offer = part.table.offer(local)
        rival = self.overlap.rival_of.get(row)
        return offer if rival is None else _completed(offer, self.raw_offer(rival))

    def raw_offer(self, row: int) -> Offer:
        """Return the offer of a row as its source has it."""
        part, local = self._locate(row)
        return part.table.offer(local)

    def source_of(self, row: int) -> SourceReport:
        """Return the source that a row comes from."""
        return self._locate(row)[0].report

    def number(self, name: str) -> Floats:
        """Return a column over all rows."""
        return _joined([part.table.number(name) for part in self.parts])

    def derived(self, name: str) -> Floats:
        """Return a derived column over all rows; see `caudal.offers.table.DERIVED`."""
        return _joined([part.table.derived(name) for part in self.parts])

    def explain_empty(self, query: OfferQuery) -> EmptyReason | None:
        """Return why `query` selects nothing, None if it selects something."""
        conditions = filters_of(query, today=self.today)
        passed = self.overlap.offered
        tests = [_joined([item.test(part.table) for part in self.parts]) for item in conditions]
        for condition, test in zip(conditions, tests, strict=True):
            left = passed & test
            if not left.any():
                return EmptyReason(
                    binding=condition.name,
                    left_before=int(passed.sum()),
                    relaxations=self._relaxations(conditions, tests),
                )
            passed = left
        if passed.any():
            return None
        return EmptyReason(binding="no offers", left_before=0, relaxations=())

    def _relaxations(
        self, conditions: Sequence[OfferFilter], tests: Sequence[Flags]
    ) -> tuple[Relaxation, ...]:
        """Return, for each filter that alone stands in the way, what its fall would let through."""
        failed = len(tests) - np.sum(tests, axis=0)
        found = []
        for condition, test in zip(conditions, tests, strict=True):
            rows = np.flatnonzero((failed == 1) & ~test & self.overlap.offered)
            if rows.size:
                distance = _joined([condition.distance(part.table) for part in self.parts])
                nearest = self._by_price(rows).order_by(distance).first(1)[0]
                found.append(
                    Relaxation(filter=condition.name, offers=int(rows.size), nearest=nearest)
                )
        return tuple(found)

    def _by_price(self, rows: Rows) -> Selection:
        return Selection(self, rows).order_by(self.number("price_usd_per_gpu_hour"))

    def _locate(self, row: int) -> tuple[BookPart, int]:
        at = int(np.searchsorted(self._ends, row, side="right"))
        return self.parts[at], row - (int(self._ends[at - 1]) if at else 0)

    @cached_property
    def _ends(self) -> Rows:
        return np.cumsum([part.table.size for part in self.parts], dtype=np.intp)

    def _names(self, column: str) -> frozenset[str]:
        return frozenset(
            name for part in self.parts for name in part.table.text(column).values if name
        )

    def _superseded(self, row: int) -> SetAside:
        older, newer = self.raw_offer(row), self.raw_offer(self.overlap.winner_of[row])
        return SetAside(
            source=self.source_of(row).name,
            where=f"{older.instance} in {older.region}",
            what=f"{older.provider} {older.instance} {older.region} {older.term} {older.price}",
            reason=f"{newer.source.where} saw it later, on {newer.observed_on}: {newer.price}",
        )


def assemble_book(
    batches: Sequence[OfferBatch], *, today: date, stored: Sequence[BookPart] = ()
) -> OfferBook:
    """Return one book of all batches and of parts that were stored before.

    Where two sources price the same instance, region and term, the later observation is offered
    and the earlier set aside; the offer says so where the prices differ by more than 0.1 %.
    """
    return OfferBook(parts=(*(_part(batch) for batch in batches), *stored), today=today)


def _part(batch: OfferBatch) -> BookPart:
    offers = sorted(batch.offers, key=by_price)
    return BookPart(table=MadeTable(offers), report=report_of(batch), set_aside=batch.set_aside)


def by_price(offer: Offer) -> tuple[Decimal, str, str, str]:
    """Return what offers are ordered by: the price of a GPU-hour, then names."""
    return (offer.price_usd_per_gpu_hour, offer.provider, offer.instance, offer.region)


def report_of(batch: OfferBatch) -> SourceReport:
    """Return what a batch contributes."""
    seen = batch.observed
    return SourceReport(
        name=batch.source,
        title=batch.title,
        licence=batch.licence,
        offers=len(batch.offers),
        set_aside=len(batch.set_aside),
        first_seen=seen[0] if seen else None,
        last_seen=seen[1] if seen else None,
    )


def _passing(table: OfferTable, conditions: Sequence[OfferFilter]) -> Flags:
    passed = np.ones(table.size, dtype=np.bool_)
    for condition in conditions:
        passed &= condition.test(table)
    return passed


def _joined(columns: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _completed(newer: Offer, older: Offer) -> Offer:
    """Return the newer offer with what only the older source knew, and any conflict noted."""
    differs = abs(newer.price_usd_per_gpu_hour / older.price_usd_per_gpu_hour - 1) > Decimal(
        "0.001"
    )
    conflict = (
        f"Another source had {older.price} {older.currency} on {older.observed_on}."
        if differs
        else ""
    )
    return replace(
        newer,
        vcpus=newer.vcpus if newer.vcpus is not None else older.vcpus,
        ram_bytes=newer.ram_bytes if newer.ram_bytes is not None else older.ram_bytes,
        note=" ".join(part for part in (newer.note, conflict) if part),
    )


def _described(offer: Offer) -> str:
    place = f" in {offer.region}" if offer.region else ""
    return (
        f"{offer.provider} {offer.instance or offer.gpu_id}{place}, {offer.term},"
        f" ${cents(offer.price_usd_per_gpu_hour)} per GPU-hour, seen {offer.observed_on}"
    )
