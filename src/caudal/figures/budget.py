"""A budget drawn: what moves it, where other ways to pay meet it, what spares and spot give."""

from collections.abc import Sequence
from math import log

from caudal.figures.style import (
    ACCENT,
    COLOURS,
    SECOND,
    Row,
    Spec,
    amounts,
    chart,
    nominal,
    page,
    quantitative,
    sentence_case,
)
from caudal.plan.break_even import BreakEven
from caudal.plan.budget_report import BudgetReport
from caudal.plan.redundancy import Redundancy
from caudal.plan.spot_tier import Mix
from caudal.plan.tornado import Tornado

_BAR_HEIGHT = 30
_LABEL_TURNS = 0.7  # chosen: beyond this part of the width a label stands left of its line


def budget_figure(report: BudgetReport) -> Spec:
    """Return every chart of the budget on one page."""
    charts = [tornado_chart(report.tornado)]
    charts += [break_even_chart(even) for even in report.break_evens]
    charts.append(redundancy_chart(report.redundancies, report.redundancy_sentence))
    if report.mix_curve:
        charts.append(mix_chart(report.mix_curve))
    return page(*charts)


def tornado_chart(tornado: Tornado) -> Spec:
    """Return the bars, the longest on top, around the bill as it stands."""
    order = [bar.name for bar in tornado.bars]
    rows: list[Row] = [
        {
            "name": bar.name, "low": bar.least_usd, "high": bar.most_usd, "base": tornado.base_usd,
            "ends": ", ".join(
                f"{end.label}: {_usd(end.usd)}" for end in bar.ends
            ),
        }
        for bar in tornado.bars
    ]  # fmt: skip
    names = nominal("name", sort=order)
    scale: Spec = {"zero": False, "padding": 12}
    cost = quantitative("low", f"USD {tornado.period}", scale=scale, axis={"format": ",.0f"})
    tip: list[Spec] = [{"field": "ends", "type": "nominal", "title": "assumed"}]
    return chart(
        "What moves the bill",
        rows,
        {
            "mark": {"type": "bar", "height": 15, "color": ACCENT, "tooltip": True},
            "encoding": {"y": names, "x": cost, "x2": {"field": "high"}, "tooltip": tip},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5},
            "encoding": {
                "y": names, "x": quantitative("high", f"USD {tornado.period}", scale=scale),
                "text": {"field": "ends", "type": "nominal"},
            },
        },
        {
            "mark": {"type": "rule", "strokeDash": [4, 3]},
            "encoding": {
                "x": {"aggregate": "max", "field": "base", "type": "quantitative", "scale": scale}
            },
        },
        subtitle=f"{tornado.sentence} Dashed: as asked, {_usd(tornado.base_usd)}.",
        height=_BAR_HEIGHT * len(rows),
        width=430,
    )  # fmt: skip


def break_even_chart(even: BreakEven) -> Spec:
    """Return both ways to pay as lines, the point where they meet, and where you are."""
    rows: list[Row] = [
        {"way": line.name, "x": x, "usd": usd} for line in even.lines for x, usd in line.points
    ]
    kind = "log" if even.log_x else "linear"
    x = quantitative("x", even.x_title, scale={"type": kind, "nice": False}, axis=amounts())
    level: Spec = {"type": "log" if even.log_y else "linear"}
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 2.5, "interpolate": _shape(even)},
            "encoding": {
                "x": x,
                "y": quantitative("usd", even.y_title, scale=level, axis=amounts()),
                "color": nominal("way", sort=[line.name for line in even.lines]),
                "strokeDash": nominal("way", sort=[line.name for line in even.lines], legend=None),
            },
        }
    ]
    low, high = _span(even)
    for value, said, dash in ((even.value, "break-even", [2, 2]), (even.yours, "you", [6, 3])):
        if value is not None and low <= value <= high and even.unit in even.x_title:
            right = (
                log(value / low) / log(high / low) if even.log_x else (value - low) / (high - low)
            ) > _LABEL_TURNS
            layers += _mark(value, said, dash, kind=kind, right=right)
    return chart(sentence_case(even.name), rows, *layers, subtitle=even.sentence)


def redundancy_chart(rows: Sequence[Redundancy], said: str) -> Spec:
    """Return cost against the minutes without full capacity, one point a way."""
    values: list[Row] = [
        {
            "name": row.name,
            "usd": row.usd,
            "minutes": max(row.down_minutes_per_month, 1e-4),
        }
        for row in rows
    ]
    x = quantitative("usd", "USD in the period", scale={"zero": False, "padding": 30},
                     axis=amounts())  # fmt: skip
    y = quantitative(
        "minutes", "minutes a month without full capacity", scale={"type": "log", "padding": 16}
    )
    return chart(
        "What spares buy",
        values,
        {
            "mark": {"type": "point", "filled": True, "size": 90, "color": SECOND},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 8, "dy": -6},
            "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}},
        },
        subtitle=said,
    )


def mix_chart(mixes: Sequence[Mix]) -> Spec:
    """Return the bill over the share of the traffic that can wait."""
    rows: list[Row] = []
    for mix in mixes:
        for way, usd in (
            ("all on demand", mix.all_on_demand_usd_per_month),
            ("live on demand, the rest on spot", mix.mix_usd_per_month),
        ):
            rows.append({"way": way, "share": mix.batch_share, "usd": usd})
    return chart(
        "Live and batch",
        rows,
        {
            "mark": {"type": "line", "strokeWidth": 2.5, "point": True},
            "encoding": {
                "x": quantitative("share", "share of the traffic that can wait",
                                  axis={"format": "%"}),
                "y": quantitative("usd", "USD a month", axis=amounts()),
                "color": nominal("way"),
            },
        },
        subtitle="Work that can wait fills idle live instances first, then spot instances.",
    )  # fmt: skip


def _mark(value: float, said: str, dash: list[int], *, kind: str, right: bool) -> list[Spec]:
    at: Spec = {"datum": value, "type": "quantitative", "scale": {"type": kind}}
    return [
        {"mark": {"type": "rule", "strokeDash": dash, "color": COLOURS[5]}, "encoding": {"x": at}},
        {
            "mark": {"type": "text", "align": "right" if right else "left",
                     "dx": -4 if right else 4, "text": said},
            "encoding": {"x": at, "y": {"value": 8 if said == "you" else 22}},
        },
    ]  # fmt: skip


def _span(even: BreakEven) -> tuple[float, float]:
    at = [x for line in even.lines for x, _ in line.points]
    return min(at), max(at)


def _shape(even: BreakEven) -> str:
    return "step-after" if "requests a second" in even.x_title else "linear"


def _usd(amount: float | None) -> str:
    return "does not serve" if amount is None else f"${amount:,.0f}"
