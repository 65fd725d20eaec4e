"""What other programs than language models ask of a GPU's memory, each with where it was read.

A program for which no figure was found stands in the list without one: unknown is an answer.
"""

import csv
import pkgutil
from dataclasses import dataclass
from datetime import date
from functools import cache
from io import StringIO

from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GB, Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The memory one task of one program takes, as a range; None is unknown."""

    kind: str  # "images", "3d", "science"
    name: str
    task: str
    least_bytes: Bytes | None
    most_bytes: Bytes | None
    needs: str  # beside memory
    source: Source | None

    @property
    def wanted_bytes(self) -> Bytes | None:
        """Return the memory with which it surely runs: the larger end that is known."""
        return self.most_bytes if self.most_bytes is not None else self.least_bytes


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return every requirement, in the order of the data file."""
    raw = pkgutil.get_data("caudal.facts", "data/requirements.csv")
    assert raw is not None, "the wheel lacks data/requirements.csv"
    return read_requirements(raw.decode("utf-8"))


def read_requirements(text: str) -> tuple[Requirement, ...]:
    """Return the rows of a file.

    Raises:
        InvalidFactError: a figure without a source, a range upside down, or no number.
    """
    return tuple(
        _requirement(row, line) for line, row in enumerate(csv.DictReader(StringIO(text)), start=2)
    )


def _requirement(row: dict[str, str], line: int) -> Requirement:
    try:
        least, most = _size(row["least_gb"]), _size(row["most_gb"])
        source = (
            Source(row["source"], date.fromisoformat(row["read_on"])) if row["source"] else None
        )
    except ValueError as error:
        raise _wrong(line, str(error)) from None
    if (least is not None or most is not None) and source is None:
        raise _wrong(line, "a figure without a source")
    if least is not None and most is not None and least > most:
        raise _wrong(line, f"{row['least_gb']} GB to {row['most_gb']} GB is no range")
    return Requirement(
        kind=row["kind"],
        name=row["name"],
        task=row["task"],
        least_bytes=least,
        most_bytes=most,
        needs=row["needs"],
        source=source,
    )


def _size(text: str) -> Bytes | None:
    return Bytes(round(float(text) * GB)) if text else None


def _wrong(line: int, what: str) -> InvalidFactError:
    return InvalidFactError(
        f"requirements.csv, line {line}: {what}.", remedy="Mend the row, or leave its figures out."
    )
