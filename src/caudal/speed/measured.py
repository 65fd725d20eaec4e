"""The measured row that answers a question about one replica, where there is one."""

from dataclasses import dataclass
from math import inf, log
from typing import Final

from caudal.facts.measured import MeasuredKind, MeasuredRow, measured_rows
from caudal.fit.serving import Serving

# Chosen: lengths and concurrency this far apart move TPOT by less than the range that Caudal
# states around its own predictions (a factor of about 1.25).
TOLERANCE: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQuestion:
    """One replica at one point: what a row must match."""

    model_id: str
    gpu_id: str
    serving: Serving
    concurrency: float  # requests under way in the replica, from arrival to last token
    input_tokens: float  # mean
    output_tokens: float  # mean


def nearest_measured(question: MeasuredQuestion) -> MeasuredRow | None:
    """Return the row of a running server nearest to the question, None where none is near.

    Model, GPU, engine, precision and layout are the same; lengths and concurrency lie within 15 %,
    and the row with the smallest sum of their `|ln(ratio)|` is taken, of equals the newest. A KV
    precision that the source states is the same too; most state none.
    Leaves out speculative decoding, whose acceptance no row states, attention data parallelism, and
    engine versions.
    """
    near = [
        (distance, row)
        for row in measured_rows(question.model_id, question.gpu_id, kind=MeasuredKind.SERVING)
        if is_served_alike(row, question.serving) and (distance := _distance(row, question)) < inf
    ]
    if not near:
        return None
    closest = min(distance for distance, _ in near)
    return max(
        (row for distance, row in near if distance == closest), key=lambda row: (row.date, row.id)
    )


def is_served_alike(row: MeasuredRow, serving: Serving) -> bool:
    """Return whether one replica of `serving` is what the row measured."""
    layout = serving.layout
    tensor = row.tensor or (1 if row.gpus == 1 else None)
    return (
        row.engine == serving.engine.name
        and row.precision == serving.weight_format.name
        and row.kv_precision in {None, serving.kv_format.name}
        and (tensor, row.pipeline or 1) == (layout.tensor, layout.pipeline)
        and row.gpus == layout.gpus
        and ((row.expert or 1) > 1) == layout.expert
        and (row.data or 1) == 1
        and not row.speculative
        and serving.speculation is None
    )


def _distance(row: MeasuredRow, question: MeasuredQuestion) -> float:
    """Return the sum of the logarithms by which row and question differ, infinite if too far."""
    pairs = (
        (row.concurrency, question.concurrency),
        (row.input_tokens, question.input_tokens),
        (row.output_tokens, question.output_tokens),
    )
    total = 0.0
    for measured, asked in pairs:
        if not measured or asked <= 0:
            return inf
        apart = abs(log(measured / asked))
        if apart > log(1 + TOLERANCE):
            return inf
        total += apart
    return total
