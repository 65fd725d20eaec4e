"""How each field of an offer is kept in a column, and taken out again without loss."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final

from caudal.offers.offer import Offer


class FieldKind(StrEnum):
    """What a field holds."""

    TEXT = "text"  # or None
    DECIMAL = "decimal"  # exact, as text; or None
    COUNT = "count"  # a whole number below 2^53, or None
    NUMBER = "number"  # or None
    DAY = "day"  # as its ordinal
    FLAG = "flag"  # or None


_DECIMALS: Final = {
    *("gpu_fraction", "price", "hours_per_unit", "price_usd_per_gpu_hour"),
    *("egress_usd_per_byte", "setup_usd", "storage_usd_per_byte_hour", "stopped_usd_per_hour"),
}
_COUNTS: Final = {
    *("gpu_count", "vcpus", "ram_bytes", "stock", "minimum_gpus", "included_egress_bytes"),
    "local_disk_bytes",
}
_NUMBERS: Final = {
    *("billing_unit_s", "minimum_s", "setup_s", "cold_start_s", "network_bytes_per_s"),
    "reliability",
}
_KINDS: Final = {
    **dict.fromkeys(_DECIMALS, FieldKind.DECIMAL),
    **dict.fromkeys(_COUNTS, FieldKind.COUNT),
    **dict.fromkeys(_NUMBERS, FieldKind.NUMBER),
    **dict.fromkeys(("opens_later", "verified"), FieldKind.FLAG),
    "observed_on": FieldKind.DAY,
}
# `source` and `age_limits` are values of their own and are kept by their parts.
FIELD_KINDS: Final = {
    field.name: _KINDS.get(field.name, FieldKind.TEXT)
    for field in fields(Offer)
    if field.name not in {"source", "age_limits"}
}


def number_of(value: float, kind: FieldKind) -> object:
    """Return the field's value from its number; NaN is None."""
    if value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return None
    match kind:
        case FieldKind.COUNT:
            return int(value)
        case FieldKind.DAY:
            return date.fromordinal(int(value))
        case FieldKind.FLAG:
            return bool(value)
        case _:
            return float(value)


def decimal_of(text: str | None) -> Decimal | None:
    """Return the exact amount."""
    return None if text is None else Decimal(text)
