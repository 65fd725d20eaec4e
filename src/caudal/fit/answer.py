"""The answer to "does it fit": every card and number of cards asked about, term by term."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import floor

from caudal.facts.engine import EngineSpec
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import KvFormat, Support, SupportAnswer, WeightFormat
from caudal.facts.support import kv_support, weight_support
from caudal.fit.advice import fewest_gpus, frontier, remedies
from caudal.fit.budget import MemoryBudget, Verdict, memory_budget, visible_bytes
from caudal.fit.fit_rows import FewestGpus, FitMemory, FitMend, FitRow, MemoryTerm, memory_of
from caudal.fit.flags import engine_flags
from caudal.fit.layouts import layout_problem, legal_layouts
from caudal.fit.placed_rows import Load, placed_frontier, placed_memory, placed_mends, placement_of
from caudal.fit.placement import EVERYTHING, Offload
from caudal.fit.serving import NO_KNOBS, Knobs, Serving
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.formats import format_bytes_gib
from caudal.vocabulary.units import Bytes, Tokens

__all__ = [
    "USUAL_COUNTS",
    "FewestGpus",
    "FitMemory",
    "FitMend",
    "FitQuestion",
    "FitReport",
    "FitRow",
    "MemoryTerm",
    "answer_fit",
]

# What is tried where nobody says how many GPUs: the sizes of one node.
USUAL_COUNTS = (1, 2, 4, 8)
# What would help is worked out for so many rows at most: no person reads more. Chosen.
_MOST_DETAILED = 32
# Engines whose memory grows with the slots they are started with, not with those in use.
_SLOTTED_ENGINES = frozenset({"llama.cpp", "ollama"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FitQuestion:
    """What is to fit where."""

    model: ModelSpec
    gpus: tuple[GpuSpec, ...]
    counts: tuple[int, ...] | None  # None: any usual number
    layout: Layout | None  # None: the widest legal tensor group
    weight_format: WeightFormat
    kv_format: KvFormat
    engine: EngineSpec
    context_tokens: Tokens
    concurrency: int
    free_bytes: Bytes | None = None  # of each card, where it is in use already
    eager: bool = False
    machines: tuple[tuple[GpuSpec, ...], ...] = ()  # sets of cards, unequal or not, to be joined
    offload: Offload = EVERYTHING  # of engines that split by layers
    frontier: bool = False
    knobs: Knobs = NO_KNOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """All rows, in the order of the cards asked about and of their number."""

    question: FitQuestion
    rows: tuple[FitRow, ...]
    assumptions: tuple[str, ...]
    fewest: tuple[FewestGpus, ...] = ()  # where no row fits: what more of each card would

    @property
    def smallest(self) -> FitRow | None:
        """Return the first row with the fewest GPUs that surely fits, None if none does."""
        return min((row for row in self.rows if row.fits), key=lambda row: row.gpus, default=None)


def answer_fit(question: FitQuestion) -> FitReport:
    """Return the verdict for every card and number of cards.

    Raises:
        InvalidQuantityError: the context is longer than the model was made for.
        InvalidLayoutError: the very layout asked for is not legal.
    """
    model = question.model
    if question.context_tokens > model.max_context_tokens:
        raise InvalidQuantityError(
            f"A context of {question.context_tokens:,} tokens is longer than the "
            f"{model.max_context_tokens:,} that {model.id} was made for.",
            remedy="Ask for a shorter context, or for another model.",
        )
    if question.layout is not None:
        mig = any(gpu.mig_profile for gpu in question.gpus)
        problem = layout_problem(
            model, question.layout, question.weight_format, engine=question.engine, mig=mig
        )
        if problem is not None:
            raise problem.error()
    sets = [*question.machines, *(cards for gpu in question.gpus for cards in _sets(question, gpu))]
    layouts: dict[int, tuple[Layout, ...]] = {}
    detailed = len(sets) <= _MOST_DETAILED
    rows = tuple(_row(question, cards, layouts, detailed=detailed) for cards in sets)
    report = FitReport(question=question, rows=rows, assumptions=_assumptions(question))
    if report.smallest is not None or not detailed:
        return report
    return replace(report, fewest=tuple(_fewest(question)))


def _fewest(question: FitQuestion) -> Iterator[FewestGpus]:
    """Yield how many of each card would surely hold the load, where so many do."""
    if question.engine.splits_by_layer or question.free_bytes is not None:
        return
    for gpu in question.gpus:
        if gpu.mig_profile or not _support(question, gpu).runs:
            continue
        layout = fewest_gpus(
            question.model,
            _serving(question, Layout()),
            gpu,
            context_tokens=question.context_tokens,
            concurrency=question.concurrency,
        )
        if layout is not None:
            yield FewestGpus(gpu_id=gpu.id, gpus=layout.gpus, layout=layout)


def _sets(question: FitQuestion, gpu: GpuSpec) -> Iterator[tuple[GpuSpec, ...]]:
    """Yield the numbers of one card that are to be tried."""
    counts = question.counts or (USUAL_COUNTS[:1] if gpu.mig_profile else USUAL_COUNTS)
    if question.layout is not None:
        counts = (question.layout.gpus,)
    for gpus in counts:
        yield (gpu,) * gpus


def _support(question: FitQuestion, gpu: GpuSpec) -> SupportAnswer:
    """Return the answer for the weights or, where it is worse, for the KV cache."""
    weights = weight_support(gpu, question.weight_format, question.engine)
    kept = kv_support(gpu, question.kv_format, question.engine)
    return weights if kept.runs or not weights.runs else kept


def _row(
    question: FitQuestion,
    cards: tuple[GpuSpec, ...],
    layouts: dict[int, tuple[Layout, ...]],
    *,
    detailed: bool,
) -> FitRow:
    answers = [_support(question, gpu) for gpu in dict.fromkeys(cards)]
    support = next((answer for answer in answers if not answer.runs), answers[0])
    layout, problem = _layout(question, cards, layouts)
    if layout is None:
        return _titled(cards, verdict=Verdict.DOES_NOT_FIT, reason=problem, support=support)
    serving = _serving(question, layout)
    part = _placed if question.engine.splits_by_layer else _sharded
    found = part(question, cards, serving, detailed=detailed)
    refused = support.support is Support.UNSUPPORTED
    verdict = Verdict.DOES_NOT_FIT if refused else found.verdict
    return replace(
        found,
        layout=layout,
        verdict=verdict,
        reason=found.reason if support.runs else support.reason,
        support=support,
        mends=() if refused else found.mends,
        notes=tuple(_notes(cards, layout)),
        flags=_flags(question, cards, serving) if verdict is Verdict.FITS else (),
    )


def _layout(
    question: FitQuestion, cards: tuple[GpuSpec, ...], layouts: dict[int, tuple[Layout, ...]]
) -> tuple[Layout | None, str]:
    """Return the layout asked for or the widest legal one, and why there is none."""
    gpus = len(cards)
    if question.layout is not None and question.layout.gpus == gpus:
        return question.layout, ""
    if gpus > 1 and any(gpu.mig_profile for gpu in cards):
        problem = layout_problem(
            question.model, Layout(tensor=gpus), question.weight_format, mig=True
        )
        assert problem is not None, "joined slices are never legal"
        return None, problem.problem
    if gpus not in layouts:
        layouts[gpus] = legal_layouts(
            question.model, question.weight_format, gpus=gpus, engine=question.engine
        )
    found = layouts[gpus]
    if found:
        return found[0], ""
    return None, f"no layout over {gpus} GPUs is legal in {question.weight_format.name}"


def _titled(
    cards: tuple[GpuSpec, ...], *, verdict: Verdict, reason: str, support: SupportAnswer
) -> FitRow:
    """Return a row that names its cards and says nothing of memory."""
    unequal = len(set(cards)) > 1
    return FitRow(
        gpu_id=" + ".join(gpu.id for gpu in cards) if unequal else cards[0].id,
        gpu_name=" + ".join(gpu.name for gpu in cards) if unequal else cards[0].name,
        gpus=len(cards),
        layout=None,
        verdict=verdict,
        reason=reason,
        support=support,
        memory=None,
        cards=tuple(gpu.id for gpu in cards) if unequal else (),
    )


def _sharded(
    question: FitQuestion, cards: tuple[GpuSpec, ...], serving: Serving, *, detailed: bool
) -> FitRow:
    """Return the row of an engine that takes the same of every card: the smallest decides."""
    gpu = min(cards, key=visible_bytes)
    serving, refusal = _within_free(question, gpu, serving)
    budget = _budget(question, gpu, serving)
    unbounded = replace(serving, max_model_tokens=question.model.max_context_tokens)
    whole = _budget(question, gpu, unbounded)
    verdict = Verdict.DOES_NOT_FIT if refusal else budget.verdict
    row = _titled(cards, verdict=verdict, reason=refusal, support=_support(question, gpu))
    wanted = detailed and verdict is not Verdict.FITS
    return replace(
        row,
        memory=memory_of(budget, longest=whole.longest_context),
        mends=_mends(question, gpu, serving) if wanted else (),
        frontier=frontier(whole.needs, whole.kv_pool_bytes.low) if question.frontier else (),
    )


def _within_free(question: FitQuestion, gpu: GpuSpec, serving: Serving) -> tuple[Serving, str]:
    """Return the serving with a share that the free memory covers, and why it won't start.

    Newer vLLM refuses to start where less is free than its share of the total. A share that the
    user gave is kept, the default lowered to what is free, in hundredths.
    """
    free, share = question.free_bytes, serving.on(gpu).fraction
    if free is None or share is None or not question.engine.wants_share_free:
        return serving, ""
    total = visible_bytes(gpu)
    if share * total <= free:
        return serving, ""
    covered = floor(100 * free / total) / 100
    if question.knobs.memory_fraction is None and covered > 0:
        return replace(serving, memory_fraction=covered), ""
    return serving, (
        f"{question.engine.title} does not start: {format_bytes_gib(free)} are free, and "
        f"{share:.0%} of {format_bytes_gib(total)} is more; use at most {covered:.0%}"
    )


def _placed(
    question: FitQuestion, cards: tuple[GpuSpec, ...], serving: Serving, *, detailed: bool
) -> FitRow:
    """Return the row of an engine that splits by layers: every card counts for itself."""
    load = Load(
        model=question.model,
        serving=serving.on(cards[0]),
        cards=cards,
        free_bytes=question.free_bytes,
        offload=question.offload,
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
    )
    verdict = load.verdict()
    row = _titled(cards, verdict=verdict, reason="", support=_support(question, cards[0]))
    placement = placement_of(load)
    wanted = detailed and verdict is not Verdict.FITS
    return replace(
        row,
        memory=placed_memory(load),
        placement=placement,
        mends=placed_mends(load, placement) if wanted else (),
        frontier=placed_frontier(load) if question.frontier else (),
    )


def _notes(cards: tuple[GpuSpec, ...], layout: Layout) -> Iterator[str]:
    """Yield what a person should know about these cards beside their memory."""
    if layout.tensor > 1:
        slow = [gpu.name for gpu in dict.fromkeys(cards) if not gpu.has_fast_link]
        if slow:
            yield (
                f"{' and '.join(slow)} have no fast link: a tensor group exchanges every layer "
                "over PCIe, which slows prompts most"
            )
    if layout.tensor > 1 and len(set(cards)) > 1:
        sizes = [visible_bytes(gpu) for gpu in cards]
        idle = sum(sizes) - len(sizes) * min(sizes)
        yield (
            f"a tensor group takes the same of every card, so {format_bytes_gib(idle)} of the "
            "larger ones stay unused"
        )


def _serving(question: FitQuestion, layout: Layout) -> Serving:
    engine, knobs = question.engine, question.knobs
    slots = engine.name in _SLOTTED_ENGINES or question.concurrency > engine.max_sequences
    return Serving(
        engine=engine,
        weight_format=question.weight_format,
        kv_format=question.kv_format,
        layout=layout,
        memory_fraction=knobs.memory_fraction,
        max_sequences=knobs.max_sequences or (question.concurrency if slots else None),
        max_batched_tokens=knobs.max_batched_tokens,
        micro_batch_tokens=knobs.micro_batch_tokens,
        max_model_tokens=question.context_tokens,
        eager=question.eager,
    )


def _budget(question: FitQuestion, gpu: GpuSpec, serving: Serving) -> MemoryBudget:
    return memory_budget(
        question.model,
        serving,
        gpu,
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
        free_bytes=question.free_bytes,
    )


def _mends(question: FitQuestion, gpu: GpuSpec, serving: Serving) -> tuple[FitMend, ...]:
    found = remedies(
        question.model,
        serving,
        gpu,
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
        free_bytes=question.free_bytes,
    )
    return tuple(
        FitMend(change=item.change, frees_bytes=item.frees_bytes, verdict=item.verdict)
        for item in found
    )


def _flags(question: FitQuestion, cards: tuple[GpuSpec, ...], serving: Serving) -> tuple[str, ...]:
    smallest = min(cards, key=visible_bytes)
    serving, _ = _within_free(question, smallest, serving)
    return engine_flags(
        question.model,
        serving.on(smallest),
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
        offload=question.offload,
    )


def _assumptions(question: FitQuestion) -> tuple[str, ...]:
    engine = question.engine
    return (
        f"{engine.title} {engine.versions} with its defaults",
        (
            f"the verdict is for {question.concurrency:,} "
            f"{'request' if question.concurrency == 1 else 'requests'} of "
            f"{question.context_tokens:,} tokens (prompt and answer) at once, at the careful end "
            "of every term"
        ),
    )
