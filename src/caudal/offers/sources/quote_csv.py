"""A provider's own quotes in CSV, a row a price; docs/how-to/quote-sheet.md is the template.

`price` is of the whole instance for one unit of `term`. An unknown column is an error, so that a
misspelt one is not lost.
"""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError, clean, count, flag, number
from caudal.offers.sources.csv_rows import CsvRow, csv_rows, head_of
from caudal.offers.sources.files import InvalidListError
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, More, Row
from caudal.vocabulary.errors import nearest_names
from caudal.vocabulary.units import GB, SECONDS_PER_HOUR, TB, Bytes, BytesPerSecond, Seconds

NEEDED: Final = ("gpu", "gpus", "term", "price")
OPTIONAL: Final = (
    *("provider", "instance", "currency", "region", "country", "gpu_memory_gb", "vcpus", "ram_gb"),
    *("disk_gb", "stock", "minimum_gpus", "interconnect", "hours_per_unit", "billing_unit_s"),
    *("minimum_hours", "setup_usd", "setup_hours", "cold_start_s", "egress_included_tb"),
    *("egress_usd_per_tb", "storage_usd_per_gb_month", "stopped_usd_per_hour", "network_gbit_s"),
    *("verified", "tax", "observed_on", "note", "via"),
)
_STORAGE_MONTH_H: Final = 730  # a mean month
_TERMS: Final = {
    **{term.value: term for term in Term},
    "hour": Term.HOURLY,
    "on-demand": Term.HOURLY,
    "on demand": Term.HOURLY,
    "week": Term.WEEKLY,
    "month": Term.MONTHLY,
    "year": Term.YEARLY,
    "yearly": Term.YEARLY,
    "interruptible": Term.SPOT,
    "quarterly": Term.QUARTERLY,
}


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a sheet.

    Raises:
        InvalidListError: a column is missing or unknown.
    """
    known = (*NEEDED, *OPTIONAL)
    for column in (name.strip() for name in head_of(text)):
        if column not in known:
            near = nearest_names(column, known, most=2)
            meant = f"Did you mean {' or '.join(near)}? " if near else ""
            raise InvalidListError(
                f"{reading.name} has the column {column!r}, which no quote sheet has.",
                remedy=f"{meant}Known: {', '.join(known)}.",
            )
    for line in csv_rows(text, name=reading.name, required=NEEDED):
        where = f"line {line.line}"
        what = " ".join(line.get(c) for c in ("provider", "gpus", "gpu", "term", "price"))
        if line.problem:
            yield Row(where, what, line.problem)
            continue
        try:
            yield Row(where, what, _listed(line, reading))
        except CellError as broken:
            yield Row(where, what, str(broken))


def _listed(line: CsvRow, reading: Reading) -> Listed:
    term = _TERMS.get(line.get("term").strip().casefold())
    if term is None:
        near = nearest_names(line.get("term"), _TERMS, most=1)
        raise CellError(f"the term {line.get('term')!r} is none{f': {near[0]}?' if near else ''}")
    price = _amount(line, "price")
    if price is None or price <= 0:
        raise CellError("it has no price above zero")
    memory = _amount(line, "gpu_memory_gb")
    return Listed(
        provider=clean(line.get("provider")) or reading.provider,
        via=clean(line.get("via")),
        instance=clean(line.get("instance")),
        gpu_name=clean(line.get("gpu")),
        gpu_count=_amount(line, "gpus") or Decimal(0),
        gpu_memory_bytes=Bytes(int(memory * GB)) if memory else None,
        term=term,
        price=price,
        currency=clean(line.get("currency")) or "USD",
        hours_per_unit=_amount(line, "hours_per_unit"),
        region=clean(line.get("region")),
        country=clean(line.get("country")) or None,
        observed_on=_day(line.get("observed_on")),
        more=_more(line),
    )


def _more(line: CsvRow) -> More:
    egress, included = _amount(line, "egress_usd_per_tb"), _amount(line, "egress_included_tb")
    storage, network = _amount(line, "storage_usd_per_gb_month"), _amount(line, "network_gbit_s")
    more: More = {
        "vcpus": count(line.get("vcpus"), what="vcpus"),
        "ram_bytes": _bytes(line, "ram_gb"),
        "local_disk_bytes": _bytes(line, "disk_gb"),
        "stock": count(line.get("stock"), what="stock"),
        "interconnect": clean(line.get("interconnect")) or None,
        "billing_unit_s": _seconds(line, "billing_unit_s"),
        "minimum_s": _seconds(line, "minimum_hours", unit=SECONDS_PER_HOUR),
        "setup_s": _seconds(line, "setup_hours", unit=SECONDS_PER_HOUR),
        "cold_start_s": _seconds(line, "cold_start_s"),
        "setup_usd": _amount(line, "setup_usd"),
        "stopped_usd_per_hour": _amount(line, "stopped_usd_per_hour"),
        "storage_usd_per_byte_hour": None if storage is None else storage / GB / _STORAGE_MONTH_H,
        "included_egress_bytes": None if included is None else Bytes(int(included * TB)),
        "egress_usd_per_byte": None if egress is None else egress / TB,
        "network_bytes_per_s": BytesPerSecond(float(network) * 1e9 / 8) if network else None,
        "verified": flag(line.get("verified"), what="verified"),
        "tax": clean(line.get("tax")),
        "note": clean(line.get("note")),
    }
    minimum = count(line.get("minimum_gpus"), what="minimum_gpus")
    return {**more, "minimum_gpus": minimum} if minimum else more


def _amount(line: CsvRow, column: str) -> Decimal | None:
    value = number(line.get(column), what=column)
    if value is not None and value < 0:
        raise CellError(f"{column} is {value}, below zero")
    return value


def _bytes(line: CsvRow, column: str) -> Bytes | None:
    value = _amount(line, column)
    return None if value is None else Bytes(int(value * GB))


def _seconds(line: CsvRow, column: str, *, unit: int = 1) -> Seconds | None:
    value = _amount(line, column)
    return None if value is None else Seconds(float(value) * unit)


def _day(cell: str) -> date | None:
    if not cell.strip():
        return None
    try:
        return date.fromisoformat(cell.strip())
    except ValueError as broken:
        raise CellError(f"the day {cell.strip()[:40]!r} is not written as 2026-11-30") from broken
