"""How a rental is used, as it is stated at a door."""

from decimal import Decimal

from caudal.plan.use import Use
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import Bytes, BytesPerSecond


def parse_number(text: str) -> Decimal:
    """Return a plain decimal number.

    Raises:
        InvalidQuantityError: it is none.
    """
    cleaned = text.strip()
    if not cleaned.replace(".", "", 1).isdigit() or not cleaned.isascii() or len(cleaned) > 12:
        raise InvalidQuantityError(f"{text!r} is no number.", remedy="Write 7 or 7.5.")
    return Decimal(cleaned)


def stated_use(
    *,
    hours_per_day: Decimal | None = None,
    days: Decimal | None = None,
    starts: int | None = None,
    data_out: Bytes | None = None,
    disk: Bytes | None = None,
    download_rate: BytesPerSecond | None = None,
    discount: float | None = None,
    vat: float | None = None,
) -> Use:
    """Return the use as stated; what was not said is a machine that is always on."""
    usual = Use()
    return Use(
        hours_per_day=usual.hours_per_day if hours_per_day is None else hours_per_day,
        days=days,
        starts=starts,
        data_out_bytes=data_out or usual.data_out_bytes,
        disk_bytes=disk or usual.disk_bytes,
        download_bytes_per_s=download_rate,
        discount_percent=_percent(discount or 0.0),
        vat_percent=None if vat is None else _percent(vat),
    )


def _percent(share: float) -> Decimal:
    return Decimal(str(round(share * 100, 6)))
