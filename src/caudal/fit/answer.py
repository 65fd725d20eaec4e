"""The answer to "does it fit": every card and number of cards asked about, term by term."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from caudal.facts.engine import EngineSpec
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import KvFormat, Support, SupportAnswer, WeightFormat
from caudal.facts.support import kv_support, weight_support
from caudal.fit.advice import remedies
from caudal.fit.budget import MemoryBudget, Verdict, memory_budget
from caudal.fit.flags import engine_flags
from caudal.fit.layouts import layout_problem, legal_layouts
from caudal.fit.serving import Serving
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.units import Bytes, Tokens

# What is tried where nobody says how many GPUs: the sizes of one node.
USUAL_COUNTS = (1, 2, 4, 8)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTerm:
    """One term of what a GPU holds."""

    name: str
    size_bytes: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMend:
    """One change that makes room where a load does not fit."""

    change: str  # as an imperative, such as "keep the KV cache in FP8"
    frees_bytes: float  # by how much the margin of one GPU grows
    verdict: Verdict  # of the load after it


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMemory:
    """The memory of the fullest GPU, in bytes, and what it carries."""

    usable_bytes: float
    terms: tuple[MemoryTerm, ...]  # together they are the need
    weights_by_role: dict[str, float]  # bytes of the fullest GPU, largest first
    kv_bytes_per_token: float  # that a long context adds, on one GPU
    kv_state_bytes: float  # a sequence, whatever its length: states and full windows
    kv_pool_bytes: Estimate
    kv_needed_bytes: float
    margin_bytes: Estimate  # pool less need
    kv_tokens: Estimate  # in requests of the length asked about
    max_concurrency: Estimate  # requests of the length asked about
    longest_context: Estimate  # tokens, at the concurrency asked about
    pool_rule: str  # of what the engine's memory fraction is a share
    memory_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """One number of one GPU: the verdict and why."""

    gpu_id: str
    gpu_name: str
    gpus: int
    layout: Layout | None  # None: no layout over so many GPUs is legal
    verdict: Verdict
    reason: str  # in a sentence, where it is not the memory that decides; "" otherwise
    support: SupportAnswer
    memory: FitMemory | None
    mends: tuple[FitMend, ...] = ()  # what would fit first
    flags: tuple[str, ...] = ()  # that start the engine at this point, where it fits

    @property
    def fits(self) -> bool:
        """Return whether the load surely fits."""
        return self.verdict is Verdict.FITS


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """All rows, in the order of the cards asked about and of their number."""

    question: FitQuestion
    rows: tuple[FitRow, ...]
    assumptions: tuple[str, ...]

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
        problem = layout_problem(
            model, question.layout, question.weight_format, engine=question.engine
        )
        if problem is not None:
            raise problem.error()
    rows = tuple(row for gpu in question.gpus for row in _rows_of(question, gpu))
    return FitReport(question=question, rows=rows, assumptions=_assumptions(question))


def _rows_of(question: FitQuestion, gpu: GpuSpec) -> Iterator[FitRow]:
    support = _support(question, gpu)
    counts = question.counts or USUAL_COUNTS
    if question.layout is not None:
        counts = (question.layout.gpus,)
    for gpus in counts:
        yield _row(question, gpu, gpus=gpus, support=support)


def _support(question: FitQuestion, gpu: GpuSpec) -> SupportAnswer:
    """Return the answer for the weights or, where it is worse, for the KV cache."""
    weights = weight_support(gpu, question.weight_format, question.engine)
    kept = kv_support(gpu, question.kv_format, question.engine)
    return weights if kept.runs or not weights.runs else kept


def _row(question: FitQuestion, gpu: GpuSpec, *, gpus: int, support: SupportAnswer) -> FitRow:
    layout = question.layout or next(
        iter(
            legal_layouts(question.model, question.weight_format, gpus=gpus, engine=question.engine)
        ),
        None,
    )
    if layout is None:
        return FitRow(
            gpu_id=gpu.id,
            gpu_name=gpu.name,
            gpus=gpus,
            layout=None,
            verdict=Verdict.DOES_NOT_FIT,
            reason=f"no layout over {gpus} GPUs is legal in {question.weight_format.name}",
            support=support,
            memory=None,
        )
    serving = _serving(question, layout)
    budget = _budget(question, gpu, serving)
    verdict = Verdict.DOES_NOT_FIT if _refused(support) else budget.verdict
    fits = verdict is Verdict.FITS
    return FitRow(
        gpu_id=gpu.id,
        gpu_name=gpu.name,
        gpus=gpus,
        layout=layout,
        verdict=verdict,
        reason=support.reason if not support.runs else "",
        support=support,
        memory=_memory(budget, longest=_longest_context(question, gpu, serving)),
        mends=() if fits or _refused(support) else _mends(question, gpu, serving),
        flags=_flags(question, gpu, serving) if fits else (),
    )


def _refused(support: SupportAnswer) -> bool:
    return support.support is Support.UNSUPPORTED


def _serving(question: FitQuestion, layout: Layout) -> Serving:
    engine = question.engine
    slots = engine.name in _SLOTTED_ENGINES or question.concurrency > engine.max_sequences
    return Serving(
        engine=engine,
        weight_format=question.weight_format,
        kv_format=question.kv_format,
        layout=layout,
        max_sequences=question.concurrency if slots else None,
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


def _longest_context(question: FitQuestion, gpu: GpuSpec, serving: Serving) -> Estimate:
    """Return the longest context at the concurrency asked about, up to the model's own limit."""
    unbounded = replace(serving, max_model_tokens=question.model.max_context_tokens)
    return _budget(question, gpu, unbounded).longest_context


def _memory(budget: MemoryBudget, *, longest: Estimate) -> FitMemory:
    needs = budget.needs
    return FitMemory(
        usable_bytes=budget.usable_bytes,
        terms=tuple(MemoryTerm(name=name, size_bytes=size) for name, size in budget.terms),
        weights_by_role={role.value: size for role, size in needs.weights_by_role.by_role},
        kv_bytes_per_token=needs.kv.bytes_per_token,
        kv_state_bytes=needs.kv.state_bytes,
        kv_pool_bytes=budget.kv_pool_bytes,
        kv_needed_bytes=budget.kv_needed_bytes,
        margin_bytes=budget.margin_bytes,
        kv_tokens=budget.kv_tokens,
        max_concurrency=budget.max_concurrency,
        longest_context=longest,
        pool_rule=needs.rule.value,
        memory_fraction=needs.fraction,
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


def _flags(question: FitQuestion, gpu: GpuSpec, serving: Serving) -> tuple[str, ...]:
    return engine_flags(
        question.model,
        serving.on(gpu),
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
    )


def _assumptions(question: FitQuestion) -> tuple[str, ...]:
    engine = question.engine
    return (
        f"{engine.title} {engine.versions} with its defaults",
        (
            f"the verdict is for {question.concurrency:,} requests of "
            f"{question.context_tokens:,} tokens (prompt and answer) at once, at the careful end "
            "of every term"
        ),
    )
