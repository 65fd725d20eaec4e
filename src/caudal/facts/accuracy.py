"""How far predictions were from measurements when a release was judged."""

import csv
import pkgutil
from dataclasses import dataclass
from datetime import date
from functools import cache
from io import StringIO


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFigure:
    """The errors of one predicted figure over rows that were measured."""

    figure: str  # such as "TPOT"
    rows: int
    median_percent: float  # of the absolute relative errors
    p90_percent: float
    judged_on: date
    command: str  # that repeats it


@cache
def judged_figures() -> tuple[JudgedFigure, ...]:
    """Return what `caudal accuracy` said of this release, in the order of the data file."""
    raw = pkgutil.get_data("caudal.facts", "data/calibration/accuracy.csv")
    assert raw is not None, "the wheel lacks data/calibration/accuracy.csv"
    return tuple(
        JudgedFigure(
            figure=row["figure"],
            rows=int(row["rows"]),
            median_percent=float(row["median_percent"]),
            p90_percent=float(row["p90_percent"]),
            judged_on=date.fromisoformat(row["judged_on"]),
            command=row["command"],
        )
        for row in csv.DictReader(StringIO(raw.decode("utf-8")))
    )
