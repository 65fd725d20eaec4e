"""The answer to "how fast" as text: a table of choices, then the batches of each."""

from collections.abc import Iterator, Sequence
from typing import Final

from caudal.cli.figures import UNKNOWN, figure, marks_used, ranged
from caudal.cli.table import Column, bullets, render_table, wrap_text
from caudal.documents.speed import SpeedBatch, SpeedDocument, SpeedRow
from caudal.vocabulary.estimate import Estimate

ROW_COLUMNS: Final = (
    Column(title="GPUs"),
    Column(title="layout"),
    Column(title="verdict", wraps=True, narrowest=9),
    Column(title="ceiling", unit="tok/s", numeric=True),
    Column(title="prompt", unit="ms", numeric=True),
    Column(title="TPOT at 1", unit="ms", numeric=True, priority=60),
    Column(title="batch", numeric=True, priority=50),
    Column(title="output", unit="tok/s", numeric=True, priority=50),
)
BATCH_COLUMNS: Final = (
    Column(title="batch", numeric=True),
    Column(title="memory", wraps=True, narrowest=9),
    Column(title="TPOT", unit="ms", numeric=True),
    Column(title="output", unit="tok/s", numeric=True),
    Column(title="carries", unit="req/s", numeric=True),
    Column(title="weights", unit="ms", numeric=True, priority=60),
    Column(title="KV", unit="ms", numeric=True, priority=60),
    Column(title="links", unit="ms", numeric=True, priority=50),
    Column(title="overhead", unit="ms", numeric=True, priority=50),
    Column(title="prompts", unit="ms", numeric=True, priority=60),
)
_MS: Final = 1e-3


def speed_sections(
    document: SpeedDocument, *, brief: bool, width: int
) -> Iterator[tuple[str, str]]:
    """Yield the sections of the answer, each with its heading ("" where it needs none).

    `brief` leaves out the table of each row.
    """
    yield "", "\n".join(wrap_text(_headline(document), width))
    rows = document.rows
    shown = [] if brief else [row for row in rows if row.batches]
    if rows and not (len(rows) == 1 and shown):
        yield "", render_table(ROW_COLUMNS, [_row_cells(row) for row in rows], width=width)
    for row in shown:
        cells = [_batch_cells(batch) for batch in row.batches]
        yield _row_heading(row), render_table(BATCH_COLUMNS, cells, width=width)
    legend = marks_used(_estimates(rows))
    if legend:
        yield "", "\n".join(wrap_text(_legend(legend, brief=brief), width))
    reasons = list(dict.fromkeys(f"{row.label}: {row.reason}" for row in rows if row.reason))
    if reasons:
        yield "Why not", bullets(reasons, width=width)
    starved = [
        batch for row in shown for batch in row.batches if batch.sustained_batch < batch.batch
    ]
    if starved:
        most = max(batch.sustained_batch for batch in starved)
        yield "To know", bullets([_starved_text(most)], width=width)
    yield "Assumed", bullets([*document.assumptions, *document.notes], width=width)


def _headline(document: SpeedDocument) -> str:
    return (
        f"{document.model.id}, weights in {document.weight_format}, KV cache in "
        f"{document.kv_format}, {document.input_tokens:,} tokens in and "
        f"{document.output_tokens:,} out."
    )


def _legend(marks: str, *, brief: bool) -> str:
    bound = (
        "The ceiling is bandwidth over the weights that one token reads: no single stream passes "
        "it."
    )
    if brief:
        return f"{bound} The output is that of the largest batch that surely fits. {marks}"
    return f"{bound} TPOT is weights, KV, links, overhead and others' prompts. {marks}"


def _starved_text(most: float) -> str:
    return (
        f"prompts come in fast enough for at most {figure(most)} sequences at once: larger "
        "batches stand where that one does"
    )


def _row_heading(row: SpeedRow) -> str:
    ceiling, prompt = figure(row.ceiling_tok_s), _milliseconds(row.prefill_s)
    return f"{row.label} ({row.layout}): ceiling {ceiling} tok/s, prompt {prompt} ms"


def _row_cells(row: SpeedRow) -> list[str]:
    first = next((batch for batch in row.batches if batch.batch == 1), None)
    full = _largest_sure(row)
    return [
        row.label,
        UNKNOWN if row.layout is None else str(row.layout),
        row.verdict.value,
        figure(row.ceiling_tok_s),
        _milliseconds(row.prefill_s),
        _milliseconds(None if first is None else first.tpot_s),
        UNKNOWN if full is None else f"{full.batch:,}",
        _ranged(None if full is None else full.output_tok_s),
    ]


def _batch_cells(batch: SpeedBatch) -> list[str]:
    parts = batch.parts
    spent = (
        [UNKNOWN] * 5
        if parts is None
        else [
            figure(seconds / _MS)
            for seconds in (
                parts.matrices_s,
                parts.attention_s,
                parts.exchanges_s,
                parts.overhead_s,
                parts.prompts_s,
            )
        ]
    )
    return [
        f"{batch.batch:,}",
        batch.verdict.value,
        _milliseconds(batch.tpot_s),
        _ranged(batch.output_tok_s),
        figure(None if batch.request_rate is None else batch.request_rate.value),
        *spent,
    ]


def _largest_sure(row: SpeedRow) -> SpeedBatch | None:
    sure = [batch for batch in row.batches if row.holds and batch.batch <= row.holds.low]
    return sure[-1] if sure else None


def _milliseconds(estimate: Estimate | None) -> str:
    return UNKNOWN if estimate is None else ranged(estimate, unit=_MS)


def _ranged(estimate: Estimate | None) -> str:
    return UNKNOWN if estimate is None else ranged(estimate)


def _estimates(rows: Sequence[SpeedRow]) -> list[Estimate]:
    found = [row.prefill_s for row in rows]
    found += [batch.tpot_s for row in rows for batch in row.batches]
    return [estimate for estimate in found if estimate is not None]
