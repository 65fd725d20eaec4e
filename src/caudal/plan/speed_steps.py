"""How fast one step is, operator by operator, for the derivation of a row."""

from collections.abc import Iterator

import numpy as np

from caudal.plan.report import DerivationStep, PlanRow
from caudal.speed.efficiency import Parameter
from caudal.speed.steps import Pace
from caudal.speed.work import StepWork
from caudal.traffic.workload import Workload


def speed_steps(
    row: PlanRow, work: StepWork, pace: Pace, workload: Workload
) -> Iterator[DerivationStep]:
    """Yield the ceiling and the calibrated time of one decode step and of one prefill."""
    batch = max(row.operation.batch, 1.0)
    context = workload.input_tokens + workload.output_tokens / 2
    yield _ceiling(work, row)
    parts = _decode_parts(pace, batch, context)
    for name, seconds in parts:
        yield DerivationStep(
            section="speed", name=f"decode step: {name}", formula="", result=_ms(seconds)
        )
    yield DerivationStep(
        section="speed",
        name=f"decode step of {batch:.1f} sequences of {context:,.0f} tokens",
        formula=" + ".join(f"{seconds * 1e3:.3f}" for _, seconds in parts) + " ms",
        result=_ms(sum(seconds for _, seconds in parts)),
        source="efficiencies fitted to measured runs, see How the numbers are made",
    )
    prompt = float(pace.prefill(np.array([[float(workload.input_tokens)]]), np.zeros((1, 1)))[0, 0])
    flop = sum(matrix.flop_per_token for matrix in work.matrices) * workload.input_tokens
    yield DerivationStep(
        section="speed",
        name=f"prefill of {workload.input_tokens:,} tokens",
        formula=(
            f"{flop / 1e12:.1f} TFLOP of matrices on each GPU / {flop / prompt / 1e12:,.1f} "
            "TFLOP/s that it reaches, attention and exchanges included"
        ),
        result=_ms(prompt),
    )


def _ceiling(work: StepWork, row: PlanRow) -> DerivationStep:
    read = sum(matrix.weight_bytes for matrix in work.matrices)
    return DerivationStep(
        section="speed",
        name="ceiling of a decode step: all weights read once",
        formula=f"{read / 1e9:.2f} GB / {row.gpu.memory_bytes_per_s / 1e9:,.0f} GB/s",
        result=_ms(read / row.gpu.memory_bytes_per_s),
        source=row.gpu.source.where,
    )


def _decode_parts(pace: Pace, batch: float, context: float) -> tuple[tuple[str, float], ...]:
    """Return each operator's seconds of one decode step."""
    parts = pace.decode_parts(np.array([[batch]]), np.array([[context]]))
    share = float(pace.constants[Parameter.MEMORY].ravel()[0])
    return (
        (f"matrices, memory at {share:.0%} of its bandwidth", float(parts.matrices[0, 0])),
        ("attention over the KV cache", float(parts.attention[0, 0])),
        ("exchanges between GPUs", float(parts.exchanges[0, 0])),
        ("launches, scheduling, sampling", float(parts.overhead[0, 0])),
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
