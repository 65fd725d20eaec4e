"""Bars: memory stacked along one line, and how far each assumption moves a sum."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from caudal.web.charts.axes import Text, drawing, linear_ticks, scale_over

WIDTH = 760


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a stack."""

    name: str
    size: float
    kind: str  # a class of the style sheet
    text: str  # its size as it is written


def stacked_bar(
    parts: Sequence[Part],
    *,
    limit: float,
    limit_text: str,
    title: str,
    unit_text: Text,
    share: float | None = None,
    share_text: str = "",
) -> Markup:
    """Return the parts on one line against a limit, and against the share of it that is used."""
    total = sum(part.size for part in parts)
    full = max(total, limit) * 1.02
    scale = (WIDTH - 8) / full
    body, at = Markup(""), 4.0
    for part in parts:
        width = max(part.size * scale, 0)
        body += Markup(
            '<rect class="part {kind}" x="{x:.1f}" y="30" width="{w:.1f}" height="44">'
            "<title>{name}: {text}</title></rect>"
        ).format(kind=part.kind, x=at, w=width, name=part.name, text=part.text)
        if width > 11 * len(part.text) * 0.62:
            body += Markup(
                '<text class="part-text {kind}" x="{x:.1f}" y="57" text-anchor="middle">{t}</text>'
            ).format(kind=part.kind, x=at + width / 2, t=part.text)
        at += width
    edge = 4 + limit * scale
    body += Markup(
        '<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="82"/>'
        '<text class="label" x="{x:.1f}" y="14" text-anchor="{anchor}">{text}</text>'
    ).format(x=edge, anchor="end" if edge > WIDTH / 2 else "start", text=limit_text)
    if share is not None:
        body += Markup(
            '<line class="limit share" x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="82"/>'
            '<text class="label" x="{x:.1f}" y="117" text-anchor="end">{text}</text>'
        ).format(x=4 + share * scale, text=share_text)
    for value in linear_ticks(0, full, 8):
        body += Markup(
            '<text class="tick" x="{x:.1f}" y="98" text-anchor="middle">{t}</text>'
        ).format(x=4 + value * scale, t=unit_text(value))
    return drawing(WIDTH, 106 if share is None else 124, title=title, body=body, kind="stack")


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """How far one assumption moves the sum, between its two ends."""

    name: str
    low: float
    high: float
    low_text: str
    high_text: str


def tornado_chart(swings: Sequence[Swing], *, base: float, title: str, x_text: Text) -> Markup:
    """Return one bar an assumption, longest first, around the line of the base."""
    if not swings:
        return Markup("")
    ends = [base, *(swing.low for swing in swings), *(swing.high for swing in swings)]
    x = scale_over(ends, start=230, end=WIDTH - 45)
    height = 34 * len(swings) + 44
    body = Markup("")
    for value in x.ticks(6):
        body += Markup(
            '<line class="grid" x1="{x}" x2="{x}" y1="8" y2="{low}"/>'
            '<text class="tick" x="{x}" y="{text}" text-anchor="middle">{t}</text>'
        ).format(x=x(value), low=height - 30, text=height - 12, t=x_text(value))
    for row, swing in enumerate(swings):
        top = 12 + 34 * row
        left, right = x(swing.low), x(swing.high)
        body += Markup(
            '<text class="axis" x="220" y="{y}" text-anchor="end">{name}</text>'
            '<rect class="swing" x="{x}" y="{top}" width="{w:.1f}" height="20">'
            "<title>{name}: {low} … {high}</title></rect>"
        ).format(
            y=top + 15, name=swing.name, x=left, top=top, w=max(right - left, 1.5),
            low=swing.low_text, high=swing.high_text,
        )  # fmt: skip
    body += Markup('<line class="rule" x1="{x}" x2="{x}" y1="4" y2="{low}"/>').format(
        x=x(base), low=height - 30
    )
    return drawing(WIDTH, height, title=title, body=body)
