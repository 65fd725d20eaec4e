"""Simulated runs as people read them: one after the other, or side by side."""

from collections.abc import Iterator, Sequence

from caudal.cli.figures import UNKNOWN, figure
from caudal.cli.table import Column, bullets, render_pairs, render_table
from caudal.documents.simulation import DeploymentSummary, LatencyRow, RunDocument
from caudal.traffic.slo import Metric

_PERCENTILES = (0.5, 0.9, 0.95, 0.99)


def run_sections(run: RunDocument, *, width: int) -> Iterator[tuple[str, str]]:
    """Yield the sections of one run: what was simulated, latency, and how the system stood."""
    yield f"{run.name}: {describe(run.deployment)}", verdict(run)
    if run.latencies:
        yield "", latency_table(run.latencies, run, width=width)
    yield "", render_pairs(list(_state(run)), width=width)
    notes = list(_notes(run))
    if notes:
        yield "", bullets(notes, width=width)


def describe(deployment: DeploymentSummary) -> str:
    """Return a deployment in a line."""
    each = f"{deployment.gpus_per_replica} x {deployment.gpu}"
    extra = f" + {deployment.decode_replicas} that decode" if deployment.decode_replicas else ""
    return (
        f"{deployment.model} {deployment.weight_format} on {deployment.replicas} x ({each}, "
        f"{deployment.layout}, {deployment.engine}){extra}, {deployment.router}"
    )


def verdict(run: RunDocument) -> str:
    """Return what the run came to in a sentence."""
    offered = "" if run.offered_rate is None else f"{figure(run.offered_rate)} requests/s offered: "
    if run.saturated:
        return (
            f"{offered}saturated. The queue grows without end, so no latency is stated; at most "
            f"{figure(run.sustainable_rate)} requests/s can be sustained."
        )
    missed = [
        f"{row.metric.upper()} p{row.percentile * 100:g}"
        for row in run.latencies
        if row.keeps is False
    ]
    asked = any(row.keeps is not None for row in run.latencies)
    if not asked:
        return f"{offered}{figure(run.request_rate)} requests/s answered ({run.label})."
    kept = f"misses {', '.join(missed)}" if missed else "keeps every objective"
    return f"{offered}{kept}; goodput {figure(run.goodput)} requests/s ({run.label})."


def latency_table(rows: Sequence[LatencyRow], run: RunDocument, *, width: int) -> str:
    """Return metrics down, percentiles across, in milliseconds with the 95 % interval."""
    percentiles = sorted({row.percentile for row in rows})
    columns = [
        Column(title="latency", unit="ms"),
        *(Column(title=f"p{each * 100:g}", numeric=True) for each in percentiles),
        Column(title="mean", numeric=True),
    ]
    table = []
    means = {Metric.TTFT: run.mean_ttft_s, Metric.TPOT: run.mean_tpot_s, Metric.E2E: run.mean_e2e_s}
    for metric in Metric:
        cells = {row.percentile: _cell(row) for row in rows if row.metric is metric}
        if cells:
            mean = means[metric]
            table.append([
                metric.upper(),
                *(cells.get(each, UNKNOWN) for each in percentiles),
                figure(None if mean is None else mean * 1e3),
            ])  # fmt: skip
    gaps = {row.percentile: figure(row.seconds * 1e3) for row in run.gaps}
    if gaps:
        table.append(["ITL", *(gaps.get(each, UNKNOWN) for each in percentiles), UNKNOWN])
    return render_table(columns, table, width=width)


def _cell(row: LatencyRow) -> str:
    half = (row.high_s - row.low_s) / 2 * 1e3
    text = f"{figure(row.seconds * 1e3)} ±{figure(half, digits=2)}"
    if row.keeps is None or row.at_most_s is None:
        return text
    return f"{text} {'≤' if row.keeps else '>'} {figure(row.at_most_s * 1e3)}"


def _state(run: RunDocument) -> Iterator[tuple[str, str]]:
    if run.output_tok_s is not None:
        yield "throughput", f"{figure(run.output_tok_s)} output tokens/s"
    yield (
        "requests in the system",
        (f"{figure(run.mean_running)} running, {figure(run.mean_waiting)} waiting on average"),
    )
    yield "replicas' time", f"{run.utilisation:.1%} computing, {figure(run.replica_hours)} hours"
    if run.cached_share:
        yield "prefix cache", f"{run.cached_share:.1%} of the prompt tokens"
    if run.preemptions:
        yield "preemptions", f"{run.preemptions:,}"
    if run.restarted_share:
        yield "lost with a replica", f"{run.restarted_share:.2%} of the requests, begun anew"


def _notes(run: RunDocument) -> Iterator[str]:
    if run.rejected:
        yield (
            f"{run.rejected:,} requests are longer than the server accepts and were refused; they "
            "are in no latency."
        )
    if run.pace_error > 0.02:
        yield (
            f"Step times follow the speed formulas within {run.pace_error:.0%} over this load's "
            "contexts."
        )
    if not run.compiled:
        yield "The plain engine ran: install Caudal where there is a C compiler for a fast one."


def comparison_table(runs: Sequence[RunDocument], *, width: int) -> str:
    """Return one column a scenario."""
    columns = [
        Column(title=""),
        *(Column(title=run.name, numeric=True, wraps=True) for run in runs),
    ]
    rows: list[list[str]] = [
        ["GPUs", *(str(_gpus(run.deployment)) for run in runs)],
        ["requests/s offered", *(figure(run.offered_rate) for run in runs)],
        ["verdict", *(_verdict(run) for run in runs)],
    ]
    for metric in Metric:
        for percentile in _PERCENTILES:
            cells = [_found(run, metric, percentile) for run in runs]
            if any(cell != UNKNOWN for cell in cells):
                rows.append([f"{metric.upper()} p{percentile * 100:g} [ms]", *cells])
    rows += [
        ["goodput [requests/s]", *(figure(run.goodput) for run in runs)],
        ["output tokens/s", *(figure(run.output_tok_s) for run in runs)],
        ["running", *(figure(run.mean_running) for run in runs)],
        ["waiting", *(figure(run.mean_waiting) for run in runs)],
        ["replica-hours", *(figure(run.replica_hours) for run in runs)],
        ["preemptions", *(f"{run.preemptions:,}" for run in runs)],
    ]
    return render_table(columns, rows, width=width)


def _gpus(deployment: DeploymentSummary) -> int:
    return deployment.gpus_per_replica * (deployment.replicas + deployment.decode_replicas)


def _verdict(run: RunDocument) -> str:
    if run.saturated:
        return f"saturated above {figure(run.sustainable_rate)}/s"
    return "keeps the SLO" if run.keeps_slo else "misses the SLO"


def _found(run: RunDocument, metric: Metric, percentile: float) -> str:
    for row in run.latencies:
        if row.metric is metric and row.percentile == percentile:
            return figure(row.seconds * 1e3)
    return UNKNOWN
