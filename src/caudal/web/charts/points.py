"""Points in a plane: price against time, the front marked."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from caudal.web.charts.axes import Text, drawing, frame, scale_over

WIDTH, HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 740, 36, 330


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One thing at its place."""

    x: float
    y: float
    name: str
    kind: str = ""  # a class of the style sheet: "front", "chosen"
    label: str = ""  # written beside it
    link: str = ""


def point_chart(
    points: Sequence[Point], *, title: str, x_title: str, y_title: str, x_text: Text, y_text: Text
) -> Markup:
    """Return the points on logarithmic axes, those of the front joined."""
    if not points:
        return Markup("")
    x = scale_over([point.x for point in points], start=_LEFT, end=_RIGHT, log=True)
    y = scale_over([point.y for point in points], start=_BOTTOM, end=_TOP, log=True)
    front = sorted((x(p.x), y(p.y)) for p in points if p.kind)
    line = " ".join(f"{across},{down}" for across, down in front)
    marks = []
    for point in sorted(points, key=lambda point: bool(point.kind)):
        across, down = x(point.x), y(point.y)
        mark = Markup(
            '<circle class="mark {kind}" cx="{x}" cy="{y}" r="{r}"><title>{name}</title></circle>'
        ).format(kind=point.kind, x=across, y=down, r=7 if point.label else 4.5, name=point.name)
        marks.append(mark)
        if point.label:
            left = across > (_LEFT + _RIGHT) / 2
            marks.append(
                Markup('<text class="label" x="{x}" y="{y}" text-anchor="{a}">{t}</text>').format(
                    x=across + (-11 if left else 11), y=down - 9, a="end" if left else "start",
                    t=point.label,
                )
            )  # fmt: skip
    body = (
        frame(x, y, x_title=x_title, y_title=y_title, x_text=x_text, y_text=y_text)
        + Markup('<polyline class="front-line" points="{}"/>').format(line)
        + Markup("").join(marks)
    )
    return drawing(WIDTH, HEIGHT, title=title, body=body)
