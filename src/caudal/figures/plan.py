"""A plan drawn: which rows no other beats in cost, TTFT and throughput."""

from collections.abc import Sequence

from caudal.figures.style import ACCENT, QUIET, Row, Spec, chart, page, quantitative
from caudal.plan.pareto import pareto_front, shown_ttft
from caudal.plan.report import PlanReport, PlanRow

_MOST_LABELS = 6  # chosen: more of them run into each other


def plan_figure(report: PlanReport) -> Spec:
    """Return cost against TTFT and against throughput, the rows that nothing beats in colour."""
    front = pareto_front(report.rows)
    period = report.use.period_text
    rows = [_row(row, best=row in front) for row in report.rows]
    ttft = shown_ttft(report.rows[0]).label
    said = (
        f"{report.model.id}: {len(front)} of {len(rows)} ways to serve are beaten by no other in "
        "cost, TTFT and throughput at once (in blue; the grey ones are)."
    )
    cost = f"USD {period}"
    return page(
        _scatter(
            "Cost against first token",
            said,
            rows,
            y="ttft_s",
            y_title=f"{ttft} [s]",
            falls=True,
            cost=cost,
        ),
        _scatter(
            "Cost against throughput",
            "Requests a second that the whole deployment carries within the latency bounds.",
            rows,
            y="rate",
            y_title="carries [requests/s]",
            falls=False,
            cost=cost,
        ),
    )


def _row(row: PlanRow, *, best: bool) -> Row:
    return {
        "name": f"{row.gpus} x {row.gpu.id}, {row.serving.weight_format.name}",
        "offer": f"{row.price.offer.provider}, {row.price.offer.term}",
        "usd": float(row.price.full.usd),
        "ttft_s": shown_ttft(row).seconds.value,
        "rate": row.operation.largest_rate.value,
        "best": best,
        "rank": row.rank,
    }


def _scatter(
    title: str, said: str, rows: Sequence[Row], *, y: str, y_title: str, cost: str, falls: bool
) -> Spec:
    x = quantitative("usd", cost, scale={"type": "log", "nice": False, "padding": 18})
    level = quantitative(y, y_title, scale={"type": "log", "nice": False, "padding": 22})
    tips: list[Spec] = [
        {"field": field, "type": kind, "title": name}
        for field, kind, name in (
            ("rank", "quantitative", "row"),
            ("name", "nominal", "GPUs"),
            ("offer", "nominal", "offer"),
            ("usd", "quantitative", cost),
            (y, "quantitative", y_title),
        )
    ]
    return chart(
        title,
        rows,
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
            "encoding": {
                "x": x,
                "y": level,
                "color": {
                    "condition": {"test": "datum.best", "value": ACCENT},
                    "value": QUIET,
                },
                "tooltip": tips,
            },
        },
        *(_labels(x, level, odd=odd, above=odd is falls) for odd in (True, False)),
        subtitle=said,
    )


def _labels(x: Spec, y: Spec, *, odd: bool, above: bool) -> Spec:
    """Return the names of every other of the best rows, away from those of its neighbours."""
    return {
        "transform": [
            {"filter": "datum.best"},
            {"window": [{"op": "row_number", "as": "at"}], "sort": [{"field": "usd"}]},
            {"filter": f"datum.at <= {_MOST_LABELS} && datum.at % 2 == {int(odd)}"},
        ],
        "mark": {"type": "text", "align": "left", "dx": 6, "dy": -9 if above else 11},
        "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}},
    }
