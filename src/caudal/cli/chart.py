"""A chart of steps over time in plain text."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

_HEIGHT: Final = 10  # chosen: with the axis it fits under a table on a screen of 24 lines
_MARK: Final = "•"


def step_chart(points: Sequence[tuple[date, float]], *, until: date, width: int) -> str:
    """Return the chart of values that hold from their day to the next, the last up to `until`.

    Points are in the order of days. The vertical axis begins at zero only if the values reach
    down to a third of their greatest: a small change shall be seen.
    """
    if not points:
        return ""
    low, high = min(value for _, value in points), max(value for _, value in points)
    floor = 0.0 if low < high / 3 else low - (high - low) * 0.1
    top = high + (high - floor) * 0.02 or 1.0
    label = max(len(f"{top:,.2f}"), len(f"{floor:,.2f}"))
    columns = max(width - label - 3, 10)
    first, last = points[0][0], max(until, points[-1][0])
    span = max((last - first).days, 1)
    grid = [[" "] * columns for _ in range(_HEIGHT)]
    at = 0
    for column in range(columns):
        day = first + timedelta(days=round(span * column / (columns - 1)))
        while at + 1 < len(points) and points[at + 1][0] <= day:
            at += 1
        share = (points[at][1] - floor) / (top - floor) if top > floor else 0.0
        grid[_HEIGHT - 1 - min(int(share * _HEIGHT), _HEIGHT - 1)][column] = _MARK
    lines = []
    for row, cells in enumerate(grid):
        value = top - (top - floor) * (row + 0.5) / _HEIGHT
        lines.append(f"{value:>{label},.2f} │{''.join(cells)}".rstrip())
    lines.append(f"{'':>{label}} └{'─' * columns}")
    ends = f"{first}{last!s:>{max(columns - 10, 11)}}"
    lines.append(f"{'':>{label}}  {ends}")
    return "\n".join(lines)
