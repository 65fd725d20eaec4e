"""Simulated load drawn: how runs went over time, and what a deployment carries."""

from collections.abc import Mapping, Sequence

from caudal.figures.style import (
    QUIET,
    Row,
    Spec,
    amounts,
    chart,
    nominal,
    page,
    quantitative,
)
from caudal.simulate.run import Simulation
from caudal.simulate.search import Capacity
from caudal.traffic.slo import Metric, Objective, Slo

_PERCENTILES = (0.5, 0.95, 0.99)
_SHORT = 190  # pixels; chosen: four charts stand on one page
_MOST_POINTS = 256
_LEAST = 0.1  # of its value, where an interval reaches 0: the axis is logarithmic
_FLAT = 1.02  # a series whose highest value is within this of its lowest says nothing


def runs_figure(runs: Mapping[str, Simulation]) -> Spec:
    """Return requests, cache use and replicas over time, one line a run."""
    charts = [
        _over_time(runs, "running", "Requests that run", "requests"),
        _over_time(runs, "waiting", "Requests that wait", "requests"),
        _over_time(runs, "kv_share", "KV cache in use", "share of all blocks"),
    ]
    if any(float(run.series.replicas.max()) > _FLAT * float(run.series.replicas.min())
           for run in runs.values()):  # fmt: skip
        charts.append(_over_time(runs, "replicas", "Replicas paid for", "replicas"))
    return page(*charts)


def _over_time(runs: Mapping[str, Simulation], series: str, title: str, unit: str) -> Spec:
    rows: list[Row] = []
    longest = max(float(run.span_s) for run in runs.values())
    scale, time = (3600.0, "hours") if longest > 7200 else (60.0, "minutes")
    for name, run in runs.items():
        values = getattr(run.series, series)
        every = max(len(values) // _MOST_POINTS, 1)
        rows += [
            {"run": name, "time": round(float(at) / scale, 5), "value": round(float(value), 4)}
            for at, value in zip(run.series.time_s[::every], values[::every], strict=True)
        ]
    return chart(
        title,
        rows,
        {
            "mark": {"type": "line", "strokeWidth": 1.5, "interpolate": "step"},
            "encoding": {
                "x": quantitative("time", time),
                "y": quantitative("value", unit),
                "color": nominal("run", sort=list(runs)),
            },
        },
        height=_SHORT,
    )


def capacity_figure(capacity: Capacity, slo: Slo) -> Spec:
    """Return latency and goodput over the rate, the objectives and the answer marked."""
    load = "users" if capacity.by_users else "requests/s offered"
    charts = [_latency_chart(capacity, slo, metric, load) for metric in (Metric.TTFT, Metric.TPOT)]
    if any(each.metric is Metric.E2E for each in slo.objectives):
        charts.append(_latency_chart(capacity, slo, Metric.E2E, load))
    charts.append(_goodput_chart(capacity, load))
    return page(*charts)


def _latency_chart(capacity: Capacity, slo: Slo, metric: Metric, load: str) -> Spec:
    rows: list[Row] = []
    for point in capacity.points:
        judged = point.simulation.judgement
        for percentile in _PERCENTILES:
            seconds = judged.seconds_of(metric, percentile) if judged else None
            if seconds is not None:
                rows.append(
                    {
                        "rate": point.rate, "line": f"p{percentile * 100:g}",
                        "seconds": seconds.value, "high": seconds.high,
                        "low": max(seconds.low, seconds.value * _LEAST),
                    }
                )  # fmt: skip
    bounds = [each for each in slo.objectives if each.metric is metric]
    values = [
        *(value for row in rows for value in (row["low"], row["high"]) if isinstance(value, float)),
        *(each.at_most_s for each in bounds),
    ]
    scale: Spec = {
        "type": "log",
        "domain": [min(values, default=1) * 0.9, max(values, default=1) * 1.1],
    }
    x = quantitative("rate", load)
    order = [f"p{each * 100:g}" for each in _PERCENTILES]
    lines, dashes = nominal("line", sort=order), nominal("line", sort=order, legend=None)
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.18},
            "encoding": {
                "x": x, "y": quantitative("low", "seconds", scale=scale), "y2": {"field": "high"},
                "color": lines,
            },
        },
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": True},
            "encoding": {
                "x": x, "y": quantitative("seconds", "seconds", scale=scale, axis=amounts()),
                "color": lines, "strokeDash": dashes,
            },
        },
        *_answer(capacity),
        *(_bound(each, scale) for each in bounds),
    ]  # fmt: skip
    return chart(metric.upper(), rows, *layers, subtitle=_said(capacity), height=_SHORT)


def _bound(objective: Objective, scale: Spec) -> Spec:
    bound: Spec = {"datum": objective.at_most_s, "type": "quantitative", "scale": scale}
    return {"mark": {"type": "rule", "strokeDash": [6, 3]}, "encoding": {"y": bound}}


def _answer(capacity: Capacity) -> Sequence[Spec]:
    if capacity.best is None:
        return ()
    rule: Spec = {
        "mark": {"type": "rule", "strokeDash": [2, 2]},
        "encoding": {"x": {"datum": capacity.best.rate, "type": "quantitative"}},
    }
    return (rule,)


def _goodput_chart(capacity: Capacity, load: str) -> Spec:
    rows: list[Row] = [
        {"rate": point.rate, "goodput": point.simulation.judgement.goodput,
         "answered": point.simulation.judgement.request_rate}
        for point in capacity.points
        if point.simulation.judgement is not None
    ]  # fmt: skip
    x = quantitative("rate", load)
    return chart(
        "Goodput",
        rows,
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": True},
            "encoding": {"x": x, "y": quantitative("goodput", "requests/s within every bound")},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1.5, "color": QUIET},
            "encoding": {"x": x, "y": quantitative("answered", "requests/s within every bound")},
        },
        *_answer(capacity),
        subtitle="Grey: all that are answered.",
        height=_SHORT,
    )


def _said(capacity: Capacity) -> str:
    unit = "users" if capacity.by_users else "requests/s"
    if capacity.best is None:
        return (
            f"No rate keeps every bound. At most {capacity.sustainable_rate:.3g}/s are sustained."
        )
    return (
        f"Up to {capacity.best.rate:.3g} {unit} keep every bound (dotted); "
        f"{capacity.sustainable_rate:.3g} requests/s are sustained at most."
    )
