"""Quantities written for people, in a form that `quantities` reads back.

What is printed has three significant digits unless it is exact by nature (tokens, money), so
reading it back gives the value to within half a unit of the last digit printed.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite
from typing import Final

from caudal.vocabulary.money import cents
from caudal.vocabulary.units import (
    GB,
    GIB,
    KIB,
    MIB,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    TB,
    Bytes,
    BytesPerSecond,
    RequestsPerSecond,
    Seconds,
    Tokens,
)

_DURATIONS: Final = (
    (1e-6, "µs"),
    (1e-3, "ms"),
    (1.0, "s"),
    (60.0, "min"),
    (float(SECONDS_PER_HOUR), "h"),
    (float(SECONDS_PER_DAY), "d"),
)
_COUNTS: Final = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "B"), (1e12, "T"))
_SIZES: Final = ((1.0, "bytes"), (float(KIB), "KiB"), (float(MIB), "MiB"), (float(GIB), "GiB"))
_BANDWIDTHS: Final = ((1e6, "MB/s"), (float(GB), "GB/s"), (float(TB), "TB/s"))
_RATES: Final = ((1 / SECONDS_PER_DAY, "day"), (1 / SECONDS_PER_HOUR, "h"), (1 / 60, "min"))
_WHOLE_BELOW: Final = 100_000  # counts below are printed in full


def format_bytes_gib(size: Bytes | float) -> str:
    """Return a size as "79.6 GiB"; below a tenth of a GiB in a smaller binary unit."""
    if size >= 0.1 * GIB:
        return f"{size / GIB:,.1f} GiB" if size >= 10 * GIB else f"{_digits(size / GIB)} GiB"
    return _scaled(float(size), _SIZES, zero="0 GiB")


def format_bytes_gb(size: Bytes | float) -> str:
    """Return a nominal size as makers print it: "80 GB", "1,536 GB", "10.7 GB"."""
    return f"{_digits(size / GB) if size < 1000 * GB else f'{size / GB:,.0f}'} GB"


def format_duration(seconds: Seconds | float) -> str:
    """Return a duration as "50 ms", "1.5 s", "12 min" or "2 h"."""
    return _scaled(float(seconds), _DURATIONS, zero="0 s")


def format_count(count: float) -> str:
    """Return an amount as "2,000", "50M" or "70.6B"; whole ones below 100,000 in full."""
    if count < _WHOLE_BELOW and count == int(count):
        return f"{int(count):,}"
    return _scaled(float(count), _COUNTS, zero="0").replace(" ", "")


def format_tokens(tokens: Tokens | int) -> str:
    """Return a length in full, such as "8,192": a letter would be read in two ways."""
    return f"{tokens:,}"


def format_rate(per_second: RequestsPerSecond | float) -> str:
    """Return a rate as "5/s", or over the shortest period in which at least one falls."""
    if per_second >= 1 or per_second <= 0:
        return f"{format_count(float(_digits(per_second)))}/s"
    for unit, period in reversed(_RATES):
        if per_second >= unit:
            return f"{_digits(per_second / unit)}/{period}"
    return f"{_digits(per_second * SECONDS_PER_DAY)}/day"


def format_money(amount: Decimal, *, per: str = "") -> str:
    """Return dollars as "$2.35", "$1,690.00" or "$0.00420/h"; to the cent from one cent on."""
    small = Decimal(0) < abs(amount) < Decimal("0.01")
    shown = _digits(float(abs(amount))) if small else f"{cents(abs(amount)):,}"
    sign = "-" if amount < 0 else ""
    return f"{sign}${shown}" + (f"/{per}" if per else "")


def format_bandwidth(bytes_per_s: BytesPerSecond | float) -> str:
    """Return a bandwidth in decimal units as makers print it: "3.35 TB/s", "900 GB/s"."""
    return _scaled(float(bytes_per_s), _BANDWIDTHS, zero="0 GB/s")


def format_fraction(share: float) -> str:
    """Return a share as "80%" or "12.5%"."""
    return f"{_digits(share * 100)}%"


def format_gpu_counts(counts: Sequence[int]) -> str:
    """Return ascending numbers of GPUs as "4", "1..8" or "1,2,4..6"."""
    runs: list[list[int]] = []
    for count in counts:
        if runs and count == runs[-1][-1] + 1:
            runs[-1].append(count)
        else:
            runs.append([count])
    return ",".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else _listed(run) for run in runs)


def _listed(run: Sequence[int]) -> str:
    return ",".join(str(count) for count in run)


def _scaled(value: float, units: Sequence[tuple[float, str]], *, zero: str) -> str:
    """Return `value` in the largest unit of which it is at least one, after rounding."""
    if value == 0:
        return zero
    factor, sign = units[0]
    for larger, its_sign in units[1:]:
        if float(f"{value / larger:.2e}") >= 1:
            factor, sign = larger, its_sign
    return f"{_digits(value / factor)} {sign}"


def _digits(value: float) -> str:
    """Return three significant digits without exponent, or the whole number from 1,000 on."""
    assert isfinite(value), f"only finite numbers are printed: {value}"
    if value == 0:
        return "0"
    exponent = int(f"{value:.2e}".partition("e")[2])
    text = f"{value:.{max(2 - exponent, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
