"""A plan as text: what to rent, what it delivers, what was assumed, and where the rest fell.

Two tables share the row number, so that both fit a terminal of 80 columns: the first says what to
rent and what it costs, the second what it is expected to do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from caudal.cli.figures import age_text, figure, gibibytes, marks_used, ranged
from caudal.cli.table import Column, bullets, render_table, wrap_text
from caudal.plan.report import (
    DerivationStep,
    GateReport,
    Latency,
    MeasuredPoint,
    PlanReport,
    PlanRow,
)
from caudal.plan.use import Use
from caudal.traffic.slo import Metric
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.formats import format_count, format_money, format_rate
from caudal.vocabulary.money import cents

RENT_COLUMNS: Final = (
    Column(title="#", numeric=True),
    Column(title="GPUs", wraps=True),
    Column(title="precision", wraps=True, narrowest=9),
    Column(title="layout"),
    Column(title="from", wraps=True, narrowest=11),
    Column(title="$/GPU-h", numeric=True),
    Column(title="$/month", numeric=True),
    Column(title="$/M", unit="tok", numeric=True, priority=90),
    Column(title="price", unit="age", priority=95),
)
MILLISECOND: Final = 1e-3
INDENT: Final = "  "


def report_text(report: PlanReport, *, width: int) -> Iterator[tuple[str, str]]:
    """Yield the sections of the answer, each with its heading ("" where it needs none)."""
    yield "", question_text(report, width=width)
    if report.rows:
        rows = [_rent_cells(row) for row in report.rows]
        columns = _rent_columns(report.use)
        yield "What to rent, cheapest first", render_table(columns, rows, width=width)
        yield "What it is expected to do", _delivery_table(report.rows, width=width)
        yield "", "\n".join(wrap_text(_legend(report), width))
        measured = list(_measured_lines(report.rows))
        if measured:
            yield "Measured by others where a row runs", bullets(measured, width=width)
    warnings = list(_row_warnings(report.rows))
    if warnings:
        yield "Warnings", bullets(warnings, width=width)
    if report.notes:
        yield "Notes", bullets(report.notes, width=width)
    assumptions = [*report.workload.assumptions, *report.assumptions]
    if assumptions:
        yield "Assumed", bullets(list(dict.fromkeys(assumptions)), width=width)
    yield "Where the other candidates fell", gates_text(report, width=width)


def question_text(report: PlanReport, *, width: int) -> str:
    """Return the question in one sentence, as it was understood."""
    parts = [report.model.id, workload_text(report.workload)]
    parts += [
        f"{objective.label} ≤ {_latency_text(objective.metric, objective.at_most_s)}"
        for objective in report.slo.objectives
    ]
    return "\n".join(wrap_text("; ".join(parts), width))


def workload_text(workload: Workload) -> str:
    """Return lengths and load, such as "2,000 tokens in, 300 out, 5/s"."""
    lengths = f"{workload.input_tokens:,} tokens in, {workload.output_tokens:,} out"
    loads = []
    if workload.rate is not None:
        loads.append(format_rate(workload.rate))
    if workload.users is not None:
        loads.append(f"{workload.users:,} users at once")
    if workload.mode is Mode.BATCH:
        loads.append("batch")
    return ", ".join([lengths, *loads])


def gates_text(report: PlanReport, *, width: int) -> str:
    """Return how many candidates fell at each gate, the nearest miss and what would mend it."""
    looked = report.considered
    lines = wrap_text(
        f"{looked.candidates:,} candidates ({looked.shapes:,} shapes on {looked.gpus:,} GPUs) and "
        f"{looked.offers:,} offers were considered.",
        width,
    )
    binding = report.binding_gate
    for gate in report.gates:
        mark = " ← nothing is left after this gate" if gate is binding else ""
        lines += wrap_text(f"{gate.gate.value}: {gate.fell:,} of {gate.reached:,}{mark}", width)
        lines += [INDENT + line for line in _nearest_lines(gate, width=width - len(INDENT))]
    return "\n".join(lines)


def explain_text(steps: Sequence[DerivationStep], *, width: int) -> Iterator[tuple[str, str]]:
    """Yield the derivation section by section, a line a step: name, formula, result."""
    sections = dict.fromkeys(step.section for step in steps)
    for section in sections:
        lines = []
        for step in steps:
            if step.section == section:
                lines += _step_lines(step, width=width)
        yield section.capitalize(), "\n".join(lines)


def layout_text(row: PlanRow) -> str:
    """Return the split of a replica and how many there are, such as "TP4 x 2"."""
    replicas = row.operation.replicas
    return f"{row.serving.layout} x {replicas}" if replicas > 1 else str(row.serving.layout)


def precision_text(row: PlanRow) -> str:
    """Return the weights' format, and the KV cache's where it is not the usual 16 bit."""
    kept = row.serving.kv_format.name
    return row.serving.weight_format.name + ("" if kept in {"bf16", "fp16"} else f", KV {kept}")


def _rent_columns(use: Use) -> tuple[Column, ...]:
    """Return the columns with what the price is for: a month, or the days asked about."""
    if use.days is None:
        return RENT_COLUMNS
    title = f"$/{use.days:f} d"
    return tuple(
        replace(column, title=title) if column.title == "$/month" else column
        for column in RENT_COLUMNS
    )


def _rent_cells(row: PlanRow) -> list[str]:
    price = row.price
    paid = price.gpus_paid
    spare = f" (pays {paid})" if paid != row.gpus else ""
    others = price.same_price_regions
    region = price.offer.region + (f" (+{len(others)})" if others else "")
    return [
        str(row.rank),
        f"{row.gpus} x {row.gpu.id}{spare}",
        precision_text(row),
        layout_text(row),
        " ".join(part for part in (price.offer.provider, region, price.offer.term.value) if part),
        f"{cents(price.usd_per_gpu_hour):,}",
        f"{cents(price.full.usd):,.0f}",
        format_money(price.usd_per_million_tokens).removeprefix("$"),
        age_text(price.age_days),
    ]


def _delivery_table(rows: Sequence[PlanRow], *, width: int) -> str:
    items = {item.label: item for row in rows for item in row.operation.latencies}
    order = list(Metric)
    labels = sorted(items, key=lambda label: (order.index(items[label].metric), label))
    columns = [
        Column(title="#", numeric=True),
        Column(title="used", unit="GiB", numeric=True),
        Column(title="for KV", unit="GiB", numeric=True),
        Column(title="KV", unit="tokens", numeric=True, priority=80),
        Column(title="holds", unit="req", numeric=True, priority=70),
        *(_latency_column(rows, label) for label in labels),
        Column(title="output", unit="tok/s", numeric=True, priority=90),
        Column(title="carries", unit="req/s", numeric=True, wraps=True, narrowest=10, priority=60),
    ]
    return render_table(columns, [_delivery_cells(row, labels) for row in rows], width=width)


def _latency_column(rows: Sequence[PlanRow], label: str) -> Column:
    """Return the column of one percentile: the range may stand below the value, but in one line."""
    found = [item for row in rows for item in row.operation.latencies if item.label == label]
    ranges = [_latency_cell(item).partition(" ")[2] for item in found]
    return Column(
        title=label,
        unit=_latency_unit(found[0].metric)[1],
        numeric=True,
        wraps=True,
        narrowest=max(map(len, (label, *ranges))),
    )


def _latency_unit(metric: Metric) -> tuple[float, str]:
    return (1.0, "s") if metric is Metric.E2E else (MILLISECOND, "ms")


def _latency_text(metric: Metric, seconds: float) -> str:
    factor, unit = _latency_unit(metric)
    return f"{figure(seconds / factor)} {unit}"


def _delivery_cells(row: PlanRow, labels: Sequence[str]) -> list[str]:
    memory, operation = row.memory, row.operation
    latencies = {item.label: item for item in operation.latencies}
    used = memory.weights_bytes + memory.other_bytes
    return [
        str(row.rank),
        gibibytes(used.value),
        gibibytes(memory.kv_pool_bytes.value),
        format_count(round(memory.kv_tokens.value)),
        figure(int(memory.concurrency.value)),
        *(_latency_cell(latencies.get(label)) for label in labels),
        ranged(operation.output_tokens_per_s),
        ranged(operation.largest_rate),
    ]


def _latency_cell(latency: Latency | None) -> str:
    if latency is None:
        return ""
    return ranged(latency.seconds, unit=_latency_unit(latency.metric)[0])


def _legend(report: PlanReport) -> str:
    predicted: list[Estimate] = []
    for row in report.rows:
        predicted += [item.seconds for item in row.operation.latencies]
        predicted += [row.operation.output_tokens_per_s, row.operation.largest_rate]
    oldest = age_text(max(row.price.age_days for row in report.rows))
    return (
        f"{marks_used(predicted)} Memory is of one GPU: used by weights and overhead, left for KV. "
        "KV tokens and the requests they hold are of one replica; output and the rate carried are "
        f"of all. $/M is for a million tokens, in and out, at this load. Oldest price: {oldest}. "
        f"--explain {report.rows[0].rank} derives a row term by term."
    ).strip()


def _measured_lines(rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield what was measured at nearly the load of a row, beside what is predicted for it."""
    about: dict[str, list[int]] = {}
    for row in rows:
        points = row.operation.measured
        if points:
            found = "; ".join(map(_measured_text, points))
            first = points[0]
            lengths = f"{first.input_tokens:,.0f} tokens in, {first.output_tokens:,.0f} out"
            day = f", {first.measured_on}" if first.measured_on else ""
            text = (
                f"{found}; at {first.concurrency:g} concurrent, {lengths} "
                f"({first.row_id}, {first.licence}{day})"
            )
            about.setdefault(text, []).append(row.rank)
    for text, ranks in about.items():
        yield f"{_rows_named(ranks)}: {text}"


def _rows_named(ranks: Sequence[int]) -> str:
    return f"row{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _measured_text(point: MeasuredPoint) -> str:
    name = f"{point.metric.upper()} {point.statistic}"
    text = f"{name} {_latency_text(point.metric, point.seconds)}"
    if point.predicted_s is None:
        return text
    return f"{text}, predicted {_latency_text(point.metric, point.predicted_s.value)}"


def _row_warnings(rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield each warning once, with the rows that it is about."""
    about: dict[str, list[int]] = {}
    for row in rows:
        for warning in row.warnings:
            about.setdefault(warning, []).append(row.rank)
    for warning, ranks in about.items():
        yield f"{warning} ({_rows_named(ranks)})"


def _nearest_lines(gate: GateReport, *, width: int) -> list[str]:
    if gate.nearest is None:
        return []
    miss = gate.nearest
    return [
        *wrap_text(f"nearest: {miss.candidate}: {miss.reason}", width),
        *wrap_text(f"would mend it: {miss.mend}", width),
    ]


def _step_lines(step: DerivationStep, *, width: int) -> list[str]:
    """Return `name = formula = result`, the source below where there is one."""
    formula = f" = {step.formula}" if step.formula else ""
    first, *rest = wrap_text(f"{step.name}{formula} = {step.result}", width - len(INDENT))
    rest += wrap_text(f"({step.source})", width - len(INDENT)) if step.source else []
    return [first, *(INDENT + line for line in rest)]
