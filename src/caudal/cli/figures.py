"""Numbers for tables: three digits, the range behind, a letter for what they rest on.

Tables carry the unit in the heading, so a cell is bare: `31 (26–38) c`. Where a number stands
alone its unit is with it, by `caudal.vocabulary.formats`.
"""

from collections.abc import Iterable
from datetime import date
from math import floor, isfinite, log10
from typing import Final

from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GB, GIB

UNKNOWN: Final = "–"
UNBOUNDED: Final = "∞"
MARKS: Final = {
    Basis.EXACT: "",
    Basis.MEASURED: "m",
    Basis.CALIBRATED: "c",
    Basis.ROOFLINE: "r",
    Basis.ASSUMED: "a",
}
_MEANINGS: Final = {
    Basis.MEASURED: "measured",
    Basis.CALIBRATED: "calibrated",
    Basis.ROOFLINE: "roofline over makers' figures",
    Basis.ASSUMED: "assumed",
}


def figure(value: float | None, *, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, whole from 1,000 on; `–` if unknown."""
    if value is None:
        return UNKNOWN
    if not isfinite(value):
        return UNBOUNDED
    if value == 0:
        return "0"
    places = digits - 1 - floor(log10(abs(value)))
    if places <= 0:
        return f"{value:,.0f}"
    text = f"{round(value, places):,.{places}f}"
    return text.rstrip("0").rstrip(".")


def ranged(estimate: Estimate, *, unit: float = 1.0, digits: int = 3) -> str:
    """Return `value (low–high) mark` in multiples of `unit`; no range where it has no width.

    The ends have a digit less than the value: they are known less well.
    """
    value = figure(estimate.value / unit, digits=digits)
    if estimate.low == estimate.high:
        return f"{value} {MARKS[estimate.basis]}".rstrip()
    low = figure(estimate.low / unit, digits=digits - 1)
    high = figure(estimate.high / unit, digits=digits - 1)
    spread = f" ({low}–{high})"
    return f"{value}{spread} {MARKS[estimate.basis]}".rstrip()


def marks_used(estimates: Iterable[Estimate]) -> str:
    """Return the legend of the marks that the estimates show; "" where all are exact."""
    used = {estimate.basis for estimate in estimates} - {Basis.EXACT}
    meanings = [f"{MARKS[basis]} {_MEANINGS[basis]}" for basis in Basis if basis in used]
    if not meanings:
        return ""
    return f"Ranges hold 80 % of cases. Basis: {', '.join(meanings)}; no letter: exact."


def gigabytes(size: float | None) -> str:
    """Return a nominal size in GB, as makers print it."""
    return UNKNOWN if size is None else figure(size / GB)


def gibibytes(size: float | None) -> str:
    """Return a size in GiB, as drivers and engines print it."""
    return UNKNOWN if size is None else figure(size / GIB)


def tera(rate: float | None) -> str:
    """Return a rate in 10^12 per second."""
    return UNKNOWN if rate is None else figure(rate / 1e12)


def age_text(days: int) -> str:
    """Return the age of an observation, such as "today", "12 d" or "14 mo" (months)."""
    if days <= 0:
        return "today"
    return f"{days} d" if days < 120 else f"{round(days / 30.44)} mo"


def days_between(observed_on: date, today: date) -> int:
    """Return whole days from one date to the other."""
    return (today - observed_on).days
