"""Scales and their ticks, linear and logarithmic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

Text = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From values to places on paper."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where `value` lies."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = log10(low), log10(high), log10(value)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values between both ends."""
        return (
            _log_ticks(self.low, self.high, most)
            if self.log
            else linear_ticks(self.low, self.high, most)
        )


def scale_over(
    values: Sequence[float], *, start: float, end: float, log: bool = False, zero: bool = False
) -> Scale:
    """Return a scale that holds all values with a little room at both ends."""
    low, high = min(values), max(values)
    if log:
        return Scale(low=low / 1.15, high=high * 1.15, start=start, end=end, log=True)
    low = 0.0 if zero else low
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low=low if zero else low - room, high=high + room, start=start, end=end)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / most
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = ceil(low / step)
    return [index * step for index in range(first, floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [f * 10.0**power for power in decades for f in factors]
        inside = [value for value in found if low <= value <= high]
        if len(inside) <= most:
            return inside or [low, high]
    return inside[:: max(1, len(inside) // most)]


def frame(x: Scale, y: Scale, *, x_title: str, y_title: str, x_text: Text, y_text: Text) -> Markup:
    """Return grid lines, tick labels and titles of both axes."""
    down = [
        Markup(
            '<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
            '<text class="tick" x="{x}" y="{low}" text-anchor="middle">{label}</text>'
        ).format(x=x(value), top=y.end, bottom=y.start, low=y.start + 16, label=x_text(value))
        for value in x.ticks()
    ]
    across = [
        Markup(
            '<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
            '<text class="tick" x="{near}" y="{text}" text-anchor="end">{label}</text>'
        ).format(
            left=x.start,
            right=x.end,
            y=y(value),
            near=x.start - 6,
            text=y(value) + 4,
            label=y_text(value),
        )
        for value in y.ticks(5)
    ]
    titles = Markup(
        '<text class="axis" x="{x}" y="{y}" text-anchor="end">{x_title}</text>'
        '<text class="axis" x="{left}" y="{top}">{y_title}</text>'
    ).format(x=x.end, y=y.start + 34, x_title=x_title, left=4, top=y.end - 10, y_title=y_title)
    return Markup("").join([*down, *across, titles])


def drawing(width: int, height: int, *, title: str, body: Markup, kind: str = "") -> Markup:
    """Return the picture with its title; the table beside it holds the same figures."""
    return Markup(
        '<svg class="chart {kind}" viewBox="0 0 {width} {height}" width="{width}" '
        'height="{height}" role="img" aria-label="{title}"><title>{title}</title>{body}</svg>'
    ).format(kind=kind, width=width, height=height, title=title, body=body)
