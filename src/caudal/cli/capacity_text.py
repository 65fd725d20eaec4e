"""A capacity search as people read it: the answer, and the curve as a table."""

from collections.abc import Iterator

from caudal.cli.figures import UNKNOWN, figure
from caudal.cli.simulate_text import describe
from caudal.cli.table import Column, render_table
from caudal.documents.simulation import CapacityDocument, CapacityRow
from caudal.traffic.slo import Metric, Slo

_PERCENTILES = (0.5, 0.95, 0.99)


def capacity_sections(
    document: CapacityDocument, slo: Slo, *, width: int
) -> Iterator[tuple[str, str]]:
    """Yield the answer in a sentence and the table of all rates tried."""
    yield describe(document.deployment), _answer(document, slo)
    yield "", _curve(document, slo, width=width)
    yield (
        "",
        f"Simulated on the same {document.requests:,} requests each time, seed {document.seed}.",
    )


def _answer(document: CapacityDocument, slo: Slo) -> str:
    unit = "users" if document.by_users else "requests/s"
    asked = ", ".join(
        f"{each.label} ≤ {figure(each.at_most_s * 1e3)} ms" for each in slo.objectives
    )
    within = f" within {asked}" if asked else ""
    sustained = f"at most {figure(document.sustainable_rate)} requests/s are sustained"
    if document.best is None:
        return f"No rate is carried{within}; {sustained}."
    beyond = ""
    if document.limit is not None:
        why = "the queue grows" if document.limit.saturated else ", ".join(document.limit.missed)
        beyond = f"; at {figure(document.limit.rate)} {why}"
        beyond += "" if document.limit.saturated else " is missed"
    return f"Up to {figure(document.best.rate)} {unit}{within}{beyond}; {sustained}."


def _curve(document: CapacityDocument, slo: Slo, *, width: int) -> str:
    metrics = [Metric.TTFT, Metric.TPOT]
    if any(each.metric is Metric.E2E for each in slo.objectives):
        metrics.append(Metric.E2E)
    columns = [
        Column(title="users" if document.by_users else "requests/s", numeric=True),
        Column(title="SLO"),
        *(
            Column(
                title=f"{metric.upper()} p{each * 100:g}",
                unit="ms",
                numeric=True,
                priority=50 if each == 0.95 else 30,
            )
            for metric in metrics
            for each in _PERCENTILES
        ),
        Column(title="goodput", unit="1/s", numeric=True),
        Column(title="output", unit="tok/s", numeric=True, priority=40),
        Column(title="busy", unit="%", numeric=True, priority=20),
    ]
    rows = [
        [
            figure(row.rate),
            _kept(row),
            *(_cell(row, metric, each) for metric in metrics for each in _PERCENTILES),
            figure(row.goodput),
            figure(row.output_tok_s),
            f"{row.utilisation * 100:.0f}",
        ]
        for row in document.rows
    ]
    return render_table(columns, rows, width=width)


def _kept(row: CapacityRow) -> str:
    if row.saturated:
        return "saturated"
    return "kept" if row.keeps else "missed"


def _cell(row: CapacityRow, metric: Metric, percentile: float) -> str:
    for each in row.latencies:
        if each.metric is metric and each.percentile == percentile:
            return figure(each.seconds * 1e3)
    return UNKNOWN
