"""The rows of a CSV list: line by line, so that one broken line costs no other."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caudal.offers.sources.files import InvalidListError
from caudal.vocabulary.errors import nearest_names

_DELIMITERS: Final = ",;\t|"


class CsvRow(NamedTuple):
    """One line: its number, its cells by column, or why it cannot be cut into cells."""

    line: int
    cells: Mapping[str, str]
    problem: str = ""

    def get(self, column: str) -> str:
        """Return a cell, "" where the list has no such column."""
        return self.cells.get(column, "")


def head_of(text: str) -> tuple[str, ...]:
    """Return the names of the columns, "" where the first line is no head."""
    first = text[:20_000].partition("\n")[0].strip("\r\ufeff")
    return _cut(first, _delimiter(first)) if first else ()


def csv_rows(text: str, *, name: str, required: Sequence[str]) -> Iterator[CsvRow]:
    """Yield the lines under the head; empty lines are skipped.

    Raises:
        InvalidListError: a required column is missing.
    """
    lines = text.splitlines()
    first = lines[0].strip("\ufeff") if lines else ""
    delimiter = _delimiter(first)
    head = [column.strip() for column in _cut(first, delimiter)]
    missing = [column for column in required if column not in head]
    if missing:
        near = [f"{m} (is it {n[0]!r}?)" if (n := nearest_names(m, head)) else m for m in missing]
        raise InvalidListError(
            f"{name} lacks the columns {', '.join(near)}.", remedy="Check what kind of list it is."
        )
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        if line.count('"') % 2:
            yield CsvRow(number, {}, "a quotation mark is not closed")
            continue
        try:
            cells = _cut(line, delimiter)
        except csv.Error as broken:
            yield CsvRow(number, {}, f"it is no CSV: {broken}")
            continue
        if len(cells) != len(head):
            problem = f"it has {len(cells)} cells under {len(head)} columns"
            yield CsvRow(number, dict(zip(head, cells, strict=False)), problem)
        else:
            yield CsvRow(number, dict(zip(head, cells, strict=True)))


def _cut(line: str, delimiter: str) -> tuple[str, ...]:
    return tuple(next(csv.reader([line], delimiter=delimiter), []))


def _delimiter(head: str) -> str:
    return max(_DELIMITERS, key=head.count)
