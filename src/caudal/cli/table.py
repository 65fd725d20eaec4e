"""Plain-text tables that fit the terminal: numbers to the right, units in the header.

A table that is too wide first wraps the columns that may be wrapped, then drops those of the
lowest priority and says which; nothing is cut off in the middle of a number. Widths count what
a terminal shows: two for wide East Asian characters, none for combining ones.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = "  "
NARROWEST_WRAP: Final = 12  # chosen: narrower columns break nearly every name
ESSENTIAL: Final = 100  # a priority that is never dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its heading, and what may happen to it when the terminal is narrow."""

    title: str
    unit: str = ""
    numeric: bool = False  # aligned to the right
    wraps: bool = False
    narrowest: int = NARROWEST_WRAP  # to which wrapping may squeeze it
    priority: int = ESSENTIAL  # the lowest goes first

    @property
    def heading(self) -> str:
        """Return what stands above the column."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


def render_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int) -> str:
    """Return the table in at most `width` terminal cells, without a trailing newline.

    Essential columns are kept even where they exceed `width`: a number is never cut.
    """
    assert all(len(row) == len(columns) for row in rows), "a row does not match the columns"
    headings = [_heading_lines(column) for column in columns]
    natural = [
        max([*map(shown_width, headings[at]), *(_widest_line(row[at]) for row in rows)])
        for at in range(len(columns))
    ]
    kept, widths = _fit(columns, natural, width=width)
    lines = _render_row([headings[at] for at in kept], [columns[at] for at in kept], widths)
    lines.append(GAP.join("─" * cells for cells in widths))
    for row in rows:
        cells = [_wrap(row[at], cells) for at, cells in zip(kept, widths, strict=True)]
        lines += _render_row(cells, [columns[at] for at in kept], widths)
    dropped = [column.heading for at, column in enumerate(columns) if at not in kept]
    if dropped:
        lines += wrap_text(
            f"(no room for {', '.join(dropped)}: a wider terminal or --json shows more)", width
        )
    return "\n".join(lines)


def render_pairs(pairs: Sequence[tuple[str, str]], *, width: int) -> str:
    """Return names and values one under the other, values wrapped to `width`."""
    left = max((shown_width(name) for name, _ in pairs), default=0)
    room = max(width - left - len(GAP), NARROWEST_WRAP)
    lines = []
    for name, value in pairs:
        for at, line in enumerate(wrap_text(value, room) or [""]):
            label = name if at == 0 else ""
            lines.append(f"{_pad(label, left)}{GAP}{line}".rstrip())
    return "\n".join(lines)


def bullets(sentences: Sequence[str], *, width: int) -> str:
    """Return one line a sentence, with a dash before and the rest of it indented."""
    lines = []
    for sentence in sentences:
        first, *rest = wrap_text(sentence, width - 2) or [""]
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return "\n".join(lines)


def shown_width(text: str) -> int:
    """Return how many terminal cells `text` occupies."""
    if text.isascii():
        return len(text)
    return sum(_cell_width(character) for character in text)


def wrap_text(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` cells, broken at spaces where there are any."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            joined = f"{line} {word}" if line else word
            if shown_width(joined) <= width:
                line = joined
                continue
            if line:
                lines.append(line)
            *whole, line = _pieces(word, width)
            lines += whole
        lines.append(line)
    return lines


def _cell_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _pieces(word: str, width: int) -> list[str]:
    """Cut a word that is longer than a line, after a sign such as a dash where it has one."""
    pieces, piece = [], ""
    for character in word:
        while piece and shown_width(piece) + _cell_width(character) > width:
            end = max(piece.rfind(sign) for sign in "-_/.") + 1 or len(piece)
            pieces.append(piece[:end])
            piece = piece[end:]
        piece += character
    return [*pieces, piece]


def _heading_lines(column: Column) -> list[str]:
    """Put the unit under the title: headers are often longer than the numbers below."""
    return [column.title, f"[{column.unit}]"] if column.unit else [column.title]


def _widest_line(text: str) -> int:
    return max(map(shown_width, text.split("\n")))


def _fit(
    columns: Sequence[Column], natural: Sequence[int], *, width: int
) -> tuple[list[int], list[int]]:
    """Return which columns are kept and how wide each is."""
    kept = list(range(len(columns)))
    while True:
        widths = _squeeze([columns[at] for at in kept], [natural[at] for at in kept], width=width)
        droppable = [at for at in kept if columns[at].priority < ESSENTIAL]
        if _total(widths) <= width or not droppable:
            return kept, widths
        kept.remove(min(droppable, key=lambda at: (columns[at].priority, -at)))


def _squeeze(columns: Sequence[Column], natural: Sequence[int], *, width: int) -> list[int]:
    """Take cells from the widest column that may wrap until the row fits or none is left."""
    widths = list(natural)
    excess = _total(widths) - width
    while excess > 0:
        wrappable = [
            at
            for at, column in enumerate(columns)
            if column.wraps and widths[at] > column.narrowest
        ]
        if not wrappable:
            break
        widest = max(wrappable, key=lambda at: widths[at])
        widths[widest] -= 1
        excess -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _wrap(text: str, width: int) -> list[str]:
    if _widest_line(text) <= width:
        return text.split("\n")
    return wrap_text(text, width)


def _render_row(
    cells: Sequence[Sequence[str]],
    columns: Sequence[Column],
    widths: Sequence[int],
) -> list[str]:
    height = max(len(lines) for lines in cells)
    out = []
    for at in range(height):
        parts = []
        for lines, column, cells_wide in zip(cells, columns, widths, strict=True):
            text = lines[at] if at < len(lines) else ""
            parts.append(_pad(text, cells_wide, right=column.numeric))
        out.append(GAP.join(parts).rstrip())
    return out


def _pad(text: str, width: int, *, right: bool = False) -> str:
    blank = " " * max(width - shown_width(text), 0)
    return blank + text if right else text + blank
