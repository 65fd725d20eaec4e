"""The answer to "does it fit" as text: a table of choices, then the memory of one GPU."""

from collections.abc import Iterator, Sequence
from typing import Final

from caudal.cli.figures import UNKNOWN, figure, gibibytes, marks_used, ranged
from caudal.cli.table import Column, bullets, render_table, wrap_text
from caudal.fit.answer import FitReport
from caudal.fit.budget import Verdict
from caudal.fit.fit_rows import FitMemory, FitMend, FitPlacement, FitRow
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.formats import format_bytes_gib, format_count
from caudal.vocabulary.units import GIB

COLUMNS: Final = (
    Column(title="GPUs"),
    Column(title="layout"),
    Column(title="verdict", wraps=True, narrowest=9),
    Column(title="weights", unit="GiB", numeric=True),
    Column(title="KV need", unit="GiB", numeric=True),
    Column(title="KV pool", unit="GiB", numeric=True),
    Column(title="margin", unit="GiB", numeric=True),
    Column(title="holds", unit="req", numeric=True, priority=60),
    Column(title="longest", unit="tokens", numeric=True, priority=50),
)
CARD_COLUMNS: Final = (
    Column(title="card"),
    Column(title="layers", numeric=True),
    Column(title="weights", unit="GiB", numeric=True),
    Column(title="KV", unit="GiB", numeric=True),
    Column(title="compute", unit="GiB", numeric=True),
    Column(title="other", unit="GiB", numeric=True, priority=50),
    Column(title="free", unit="GiB", numeric=True),
    Column(title="margin", unit="GiB", numeric=True),
)
FRONTIER_COLUMNS: Final = (
    Column(title="context", unit="tokens", numeric=True),
    Column(title="holds", unit="req", numeric=True),
)
TERM_COLUMNS: Final = (
    Column(title="term"),
    Column(title="size", unit="GiB", numeric=True),
    Column(title="share", unit="%", numeric=True),
)


def fit_sections(
    report: FitReport, notes: Sequence[str], *, brief: bool, explain: bool, width: int
) -> Iterator[tuple[str, str]]:
    """Yield the sections of the answer, each with its heading ("" where it needs none).

    `brief` keeps, of each card, only the smallest number that fits.
    """
    yield "", "\n".join(wrap_text(_headline(report), width))
    rows = _smallest_of_each(report.rows) if brief else report.rows
    if rows:
        yield "", render_table(COLUMNS, [_cells(row) for row in rows], width=width)
    focus = report.smallest or _closest(report.rows)
    if focus is not None and focus.memory is not None:
        yield from _memory_sections(report, focus, focus.memory, explain=explain, width=width)
    reasons = list(dict.fromkeys(f"{row.label}: {row.reason}" for row in rows if row.reason))
    if reasons:
        yield "Why not", bullets(reasons, width=width)
    if report.smallest is None and focus is not None and focus.mends:
        yield f"What would help {focus.label}", bullets(_mend_texts(focus.mends), width=width)
    if report.fewest:
        enough = [f"{each.gpus} x {each.gpu_id} ({each.layout})" for each in report.fewest]
        yield "How many surely hold it", bullets(enough, width=width)
    if focus is not None and focus.flags:
        yield "To start the engine so", "\n".join(wrap_text(" ".join(focus.flags), width))
    known = list(dict.fromkeys(note for row in rows for note in row.notes))
    if known:
        yield "To know", bullets(known, width=width)
    yield "Assumed", bullets([*report.assumptions, *notes], width=width)


def _memory_sections(
    report: FitReport, row: FitRow, memory: FitMemory, *, explain: bool, width: int
) -> Iterator[tuple[str, str]]:
    placement = row.placement
    one = "Memory of one GPU of" if row.gpus > 1 and not row.cards else "Memory of"
    if placement is not None and (row.gpus > 1 or not placement.is_whole):
        yield f"Layers on {row.label}", _cards_table(placement, width=width)
        yield "", "\n".join(wrap_text(_host_text(placement), width))
        one = "Memory of the fullest card of"
    yield f"{one} {row.label} ({_layout_text(row)})", _terms_table(memory, width=width)
    if explain:
        yield "Term by term", "\n".join(_derivation(report, memory, width=width))
    yield "", "\n".join(wrap_text(_legend(memory), width))
    if row.frontier:
        points = [
            [format_count(point.context_tokens), format_count(point.sequences)]
            for point in row.frontier
        ]
        heading = f"What {row.label} surely holds at once"
        yield heading, render_table(FRONTIER_COLUMNS, points, width=width)


def _cards_table(placement: FitPlacement, *, width: int) -> str:
    cells = [
        [
            card.gpu_id,
            f"{card.layers} + output" if card.output_layer else str(card.layers),
            gibibytes(card.weights_bytes.value),
            gibibytes(card.kv_bytes),
            ranged(card.compute_bytes, unit=GIB),
            gibibytes(card.other_bytes.value),
            gibibytes(card.free_bytes),
            gibibytes(card.margin_bytes.value),
        ]
        for card in placement.cards
    ]
    return render_table(CARD_COLUMNS, cells, width=width)


def _host_text(placement: FitPlacement) -> str:
    """Return what main memory holds and how far the cards reach, in sentences."""
    held = ["the input tables"]
    if placement.host_layers:
        held.append(f"{placement.host_layers} layers with their KV cache")
    if placement.host_expert_layers:
        held.append(f"the experts of {placement.host_expert_layers} layers")
    text = (
        f"Main memory holds {' and '.join(held)}: {format_bytes_gib(placement.host_bytes.value)}. "
        f"At most {placement.most_gpu_layers} of {placement.all_layers} layers surely fit, the "
        "output layer counted"
    )
    experts = placement.fewest_host_experts
    if experts:
        text += f"; all of them with the experts of {experts} layers in main memory"
    return f"{text}."


def _mend_texts(mends: Sequence[FitMend]) -> list[str]:
    """Return a line for every change that suffices, and one for all that do not alone."""
    lines = [
        f"{mend.change}: frees {format_bytes_gib(mend.frees_bytes)} a GPU, fits"
        for mend in mends
        if mend.verdict is Verdict.FITS
    ]
    rest = [mend for mend in mends if mend.verdict is not Verdict.FITS]
    if rest:
        listed = "; ".join(f"{mend.change} ({format_bytes_gib(mend.frees_bytes)})" for mend in rest)
        lines.append(f"not enough alone, but frees: {listed}")
    return lines


def _headline(report: FitReport) -> str:
    question = report.question
    what = (
        f"{question.model.id}, weights in {question.weight_format.name}, KV cache in "
        f"{question.kv_format.name}, {question.concurrency:,} x {question.context_tokens:,} tokens"
    )
    best = report.smallest
    if best is None:
        return f"{what}: does not surely fit."
    cards = best.gpu_name if best.cards else f"{best.gpus} x {best.gpu_name}"
    return f"{what}: fits on {cards} ({_layout_text(best)})."


def _smallest_of_each(rows: Sequence[FitRow]) -> tuple[FitRow, ...]:
    """Return, of each card, the row with the fewest GPUs that fits, smallest first."""
    found: dict[str, FitRow] = {}
    for row in rows:
        if row.fits:
            found.setdefault(row.gpu_id, row)
    return tuple(sorted(found.values(), key=lambda row: row.gpus))


def _closest(rows: Sequence[FitRow]) -> FitRow | None:
    """Return the row that lacks least memory, None where no row has any."""
    known = [row for row in rows if row.memory is not None]
    return max(
        known, key=lambda row: row.memory.margin_bytes.low if row.memory else 0.0, default=None
    )


def _cells(row: FitRow) -> list[str]:
    memory = row.memory
    head = [row.label, _layout_text(row), row.verdict.value]
    if memory is None:
        return head + [UNKNOWN] * (len(COLUMNS) - len(head))
    weights = next(term.size_bytes for term in memory.terms if term.name == "weights")
    return [
        *head,
        gibibytes(weights.value),
        gibibytes(memory.kv_needed_bytes),
        gibibytes(memory.kv_pool_bytes.value),
        gibibytes(memory.margin_bytes.value),
        figure(_whole(memory.max_concurrency.value)),
        format_count(int(memory.longest_context.value)),
    ]


def _layout_text(row: FitRow) -> str:
    if row.layout is None:
        return UNKNOWN
    return "by layers" if row.placement is not None and row.gpus > 1 else str(row.layout)


def _whole(value: float) -> float:
    return value if value == float("inf") else float(int(max(value, 0.0)))


def _terms_table(memory: FitMemory, *, width: int) -> str:
    rows = [
        (term.name, ranged(term.size_bytes, unit=GIB), term.size_bytes.value)
        for term in memory.terms
    ]
    total = sum(size for _, _, size in rows)
    rows.append(("needed together", gibibytes(total), total))
    rows.append(("usable", gibibytes(memory.usable_bytes), memory.usable_bytes))
    cells = [[name, size, figure(100 * value / memory.usable_bytes)] for name, size, value in rows]
    return render_table(TERM_COLUMNS, cells, width=width)


def _derivation(report: FitReport, memory: FitMemory, *, width: int) -> Iterator[str]:
    """Yield the sums that a person can check with a pocket calculator."""
    question = report.question
    parts = " + ".join(
        f"{role} {format_bytes_gib(size)}" for role, size in memory.weights_by_role.items() if size
    )
    sums = {term.name: term.size_bytes.value for term in memory.terms}
    others = sum(sums[name] for name in ("activation", "cuda graphs", "other"))
    yield from _indented(f"weights = {parts} = {format_bytes_gib(sums['weights'])}", width)
    yield from _indented(
        f"KV need = {question.concurrency:,} requests x {question.context_tokens:,} tokens x "
        f"{memory.kv_bytes_per_token:,.0f} bytes a token"
        + (f" + {format_bytes_gib(memory.kv_state_bytes)} a request" * (memory.kv_state_bytes > 0))
        + f", in whole blocks = {format_bytes_gib(memory.kv_needed_bytes)}",
        width,
    )
    yield from _indented(
        f"KV pool: the engine claims {memory.memory_fraction:.0%} ({memory.pool_rule}) of "
        f"{format_bytes_gib(memory.usable_bytes)}; less weights "
        f"{format_bytes_gib(sums['weights'])} and activation, graphs and the rest "
        f"{format_bytes_gib(others)} leaves {gibibytes(memory.kv_pool_bytes.value)} GiB",
        width,
    )
    yield from _indented(
        f"margin = {gibibytes(memory.kv_pool_bytes.value)} - "
        f"{gibibytes(memory.kv_needed_bytes)} = {gibibytes(memory.margin_bytes.value)} GiB",
        width,
    )


def _indented(text: str, width: int) -> list[str]:
    first, *rest = wrap_text(text, width - 2)
    return [first, *(f"  {line}" for line in rest)]


def _legend(memory: FitMemory) -> str:
    estimates: list[Estimate] = [term.size_bytes for term in memory.terms]
    tokens = (
        format_count(int(max(memory.kv_tokens.value, 0)))
        if memory.max_concurrency.value < (float("inf"))
        else "any number of"
    )
    return (
        f"The pool holds {tokens} tokens in requests of this length. {marks_used(estimates)}"
    ).strip()
