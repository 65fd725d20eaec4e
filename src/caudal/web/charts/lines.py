"""Lines over one axis: break-evens, histories, latency under load."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from markupsafe import Markup

from caudal.web.charts.axes import Text, drawing, frame, scale_over

WIDTH, HEIGHT = 640, 345
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 620, 36, 270


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line and its name."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A line at one value of the horizontal axis."""

    at: float
    label: str


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_text: Text,
    y_text: Text,
    log_x: bool = False,
    log_y: bool = False,
    rules: Sequence[Rule] = (),
) -> Markup:
    """Return the lines in one frame, each named at its end; values without end are left out."""
    kept = [
        (line, [(a, b) for a, b in line.points if isfinite(b) and (not log_y or b > 0)])
        for line in lines
    ]
    places = [point for _, points in kept for point in points]
    if len(places) < 2:
        return Markup("")
    shown = [rule for rule in rules if isfinite(rule.at) and (not log_x or rule.at > 0)]
    across = [a for a, _ in places] + [rule.at for rule in shown]
    x = scale_over(across, start=_LEFT, end=_RIGHT, log=log_x)
    y = scale_over([b for _, b in places], start=_BOTTOM, end=_TOP, log=log_y, zero=not log_y)
    body = frame(x, y, x_title=x_title, y_title=y_title, x_text=x_text, y_text=y_text)
    for number, rule in enumerate(shown):
        left = x(rule.at) > (_LEFT + _RIGHT) / 2
        body += Markup(
            '<line class="rule" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
            '<text class="label" x="{text}" y="{place}" text-anchor="{anchor}">{label}</text>'
        ).format(
            x=x(rule.at), top=_TOP, bottom=_BOTTOM, text=x(rule.at) + (-5 if left else 5),
            place=_TOP + 13 + 16 * (number % 2), anchor="end" if left else "start",
            label=rule.label,
        )  # fmt: skip
    for number, (line, points) in enumerate(kept):
        if points:
            path = " ".join(f"{x(a)},{y(b)}" for a, b in points)
            body += Markup('<polyline class="line line-{n}" points="{path}"/>').format(
                n=number % 4, path=path
            ) + _legend(number, line.name)
    return drawing(WIDTH, HEIGHT, title=title, body=body)


def _legend(number: int, name: str) -> Markup:
    """Return a line's colour and name, two beside each other below the picture."""
    across = _LEFT + (number % 2) * (_RIGHT - _LEFT) // 2
    down = _BOTTOM + 48 + 18 * (number // 2)
    return Markup(
        '<rect class="legend-{n}" x="{x}" y="{y}" width="14" height="4"/>'
        '<text class="axis" x="{text}" y="{base}">{name}</text>'
    ).format(n=number % 4, x=across, y=down - 6, text=across + 20, base=down, name=name)
