"""One row derived term by term, so that a person can check it with a pocket calculator."""

from collections.abc import Iterator

from caudal.facts.model import ModelSpec
from caudal.fit.budget import shares_memory
from caudal.fit.needs import MemoryNeeds, PoolRule, memory_needs
from caudal.plan.cost import FullPrice
from caudal.plan.load_steps import load_steps
from caudal.plan.report import DerivationStep, PlanReport, PlanRow
from caudal.plan.screen import curve_of
from caudal.plan.shapes import Shape
from caudal.plan.speed_steps import speed_steps
from caudal.plan.use import Use
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import pace_for
from caudal.speed.work import step_work
from caudal.traffic.workload import Workload
from caudal.vocabulary.units import GIB, SECONDS_PER_HOUR


def explain_row(report: PlanReport, row: PlanRow) -> tuple[DerivationStep, ...]:
    """Return every step from the model's shape to the price of `row`, in order."""
    shape = Shape(
        serving=row.serving,
        needs=memory_needs(report.model, row.serving),
        work=step_work(report.model, row.serving),
    )
    gpus = GpuColumns.of([row.gpu])
    curve = curve_of(shape, gpus, report.workload).on(0)
    return (
        *_memory_steps(report.model, row, shape.needs, report.workload),
        *speed_steps(row, shape.work, pace_for(shape.work, gpus), report.workload),
        *load_steps(row, report.workload, curve),
        *_price_steps(row, report.workload, report.use),
    )


def _memory_steps(
    model: ModelSpec, row: PlanRow, needs: MemoryNeeds, workload: Workload
) -> Iterator[DerivationStep]:
    layout, stored = row.serving.layout, row.serving.weight_format
    yield DerivationStep(
        section="memory",
        name="usable memory of one GPU",
        formula=(
            f"{row.gpu.name}, {row.gpu.usable_bytes / GIB:.2f} GiB as its driver reports it, "
            "less what the runtime keeps"
        ),
        result=_gib(row.memory.usable_bytes.value),
        source=row.gpu.source.where,
    )
    roles = " + ".join(
        f"{role.value} {size / GIB:.2f}" for role, size in needs.weights_by_role.by_role
    )
    yield DerivationStep(
        section="memory",
        name=f"weights of the fullest GPU, {stored.name}, {layout}",
        formula=(
            f"{model.total_parameters / 1e9:.2f} G parameters in all, matrices at "
            f"{stored.bytes_per_weight:.4g} B each, over {layout.gpus} GPUs: {roles} GiB"
        ),
        result=_gib(needs.weights.value),
        source=stored.source.where,
    )
    held = [
        ("activations of one step", needs.activation),
        ("CUDA graphs", needs.graphs),
        ("libraries and collectives", needs.other),
    ]
    if shares_memory(row.gpu):
        held.append(("processes on the host, whose memory it is", needs.host))
    for name, term in held:
        yield DerivationStep(
            section="memory",
            name=name,
            formula=f"{_gib(term.low)} to {_gib(term.high)}, {term.basis.value}",
            result=_gib(term.value),
        )
    yield DerivationStep(
        section="memory",
        name="KV pool",
        formula=_pool_formula(row, needs),
        result=_gib(row.memory.kv_pool_bytes.value),
        source=row.serving.engine.source.where,
    )
    yield from _cache_steps(row, needs, workload)


def _pool_formula(row: PlanRow, needs: MemoryNeeds) -> str:
    usable, weights = row.memory.usable_bytes.value / GIB, needs.weights.value / GIB
    host = needs.host.value if shares_memory(row.gpu) else 0.0
    peak, other = needs.activation.value / GIB, (needs.other.value + host) / GIB
    graphs = needs.graphs.value / GIB
    share = f"{needs.fraction:.4g}"
    match needs.rule:
        case PoolRule.OF_TOTAL:
            taken = f" - {graphs:.2f}" if needs.graphs_profiled else ""
            return f"{share} x {usable:.2f} - {weights:.2f} - {peak:.2f} - {other:.2f}{taken} GiB"
        case PoolRule.STATIC:
            return f"{share} x ({usable:.2f} - {other:.2f}) - {weights:.2f} GiB"
        case PoolRule.OF_FREE:
            return (
                f"{share} x ({usable:.2f} - {weights:.2f} - {peak:.2f} - {other:.2f} "
                f"- {graphs:.2f}) GiB"
            )
        case PoolRule.WHOLE:
            return f"{usable:.2f} - {weights:.2f} - {peak:.2f} - {other:.2f} - {graphs:.2f} GiB"


def _cache_steps(row: PlanRow, needs: MemoryNeeds, workload: Workload) -> Iterator[DerivationStep]:
    length = workload.sequence_tokens
    for group in needs.kv.groups:
        yield DerivationStep(
            section="memory",
            name=f"KV block, {group.count * group.layers} {group.kind} layers",
            formula=(
                f"{group.count} x {group.block_bytes:,.0f} B for {group.block_tokens} tokens in "
                f"{row.serving.kv_format.name}"
            ),
            result=f"{group.bytes_per_token:,.0f} B a token and GPU",
        )
    yield DerivationStep(
        section="memory",
        name=f"one request of {length:,} tokens",
        formula="whole blocks of every group",
        result=f"{needs.kv.request_bytes(length) / GIB:.4f} GiB",
    )
    yield DerivationStep(
        section="memory",
        name="requests that one replica holds",
        formula=(
            f"{row.memory.kv_pool_bytes.value / GIB:.2f} / "
            f"{needs.kv.request_bytes(length) / GIB:.4f}, at most {row.serving.sequences} at once"
        ),
        result=f"{int(row.memory.concurrency.value)}",
    )


def _price_steps(row: PlanRow, workload: Workload, use: Use) -> Iterator[DerivationStep]:
    price, offer = row.price, row.price.offer
    yield DerivationStep(
        section="price",
        name=f"{offer.provider} {offer.instance}, {offer.term.value}",
        formula=f"{offer.price} {offer.currency} for {offer.hours_per_unit} h / "
        f"({offer.hours_per_unit} h x {offer.total_gpus} GPUs)",
        result=f"${price.usd_per_gpu_hour:.4f} a GPU-hour",
        source=f"{offer.source.where}, seen {offer.observed_on}",
    )
    if use.is_plain:
        yield DerivationStep(
            section="price",
            name="a month",
            formula=(
                f"{price.instances} instances x {offer.total_gpus} GPUs x "
                f"${price.usd_per_gpu_hour:.4f} x {offer.month_hours} h"
            ),
            result=f"${price.usd_per_month:,.2f}",
        )
    else:
        yield from _bill_steps(price.full, use)
    rate = workload.mean_rate or row.operation.request_rate * float(use.hours_per_day) / 24
    tokens = rate * workload.sequence_tokens * float(offer.month_hours) * SECONDS_PER_HOUR
    yield DerivationStep(
        section="price",
        name="a million tokens, input and output together",
        formula=(
            f"${price.usd_per_month:,.2f} / ({rate:.4g} requests/s x "
            f"{workload.sequence_tokens:,} tokens x {offer.month_hours} h x 3600 s "
            f"= {tokens / 1e6:,.1f} M)"
        ),
        result=f"${price.usd_per_million_tokens:.4f}",
    )


def _bill_steps(full: FullPrice, use: Use) -> Iterator[DerivationStep]:
    for item in full.items:
        yield DerivationStep(
            section="price",
            name=item.name,
            formula=f"{item.quantity:,.2f} {item.unit} x ${item.usd_per_unit:,.4f}",
            result=f"${item.usd:,.2f}",
            source=item.basis,
        )
    yield DerivationStep(
        section="price",
        name=f"in all {use.period_text}",
        formula=" + ".join(f"${item.usd:,.2f}" for item in full.items),
        result=f"${full.usd:,.2f}",
        source=f"not known, so not in it: {', '.join(full.unknown)}" if full.unknown else "",
    )


def _gib(amount: float) -> str:
    return f"{amount / GIB:.2f} GiB"
