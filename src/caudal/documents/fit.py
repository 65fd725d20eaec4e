"""Whether a model fits on a GPU, and where its memory goes: from what was asked to the document."""

import re
from dataclasses import dataclass

from caudal.documents.failure import ErrorBody
from caudal.documents.models import ModelSummary
from caudal.facts.engine import EngineSpec
from caudal.facts.engines import engine as engine_of
from caudal.facts.engines import usual_engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.answer import FewestGpus, FitQuestion, FitReport, FitRow, answer_fit
from caudal.fit.budget import Verdict
from caudal.fit.placement import EVERYTHING, Offload
from caudal.fit.serving import NO_KNOBS, Knobs
from caudal.vocabulary.errors import ContradictoryOptionsError, DoesNotFitError
from caudal.vocabulary.units import Bytes, Tokens

# Chosen: the context at which most published sizing tables state a KV cache.
USUAL_CONTEXT = Tokens(8192)
# What a published checkpoint becomes as a GGUF without being quantised again.
_GGUF_OF = {"mxfp4": "mxfp4_moe"}
_JOINED = re.compile(r"\s*\+\s*(?!me\b)|\s*,\s*(?=\D|\d+\s*[x×*]|\d{4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitDocument:
    """The verdict for every card and number of cards, with each term of memory."""

    model: ModelSummary
    engine: str
    engine_versions: str
    weight_format: str
    kv_format: str
    context_tokens: Tokens
    concurrency: int
    free_bytes: Bytes | None  # of each card, where --free was given
    rows: tuple[FitRow, ...]
    fewest: tuple[FewestGpus, ...]  # where no row fits: how many of each card would
    smallest: FitRow | None  # the first row with the fewest GPUs that surely fits
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # how ambiguous names were read
    error: ErrorBody | None  # why nothing fits


@dataclass(frozen=True, slots=True, kw_only=True)
class FitAsked:
    """A question as it is put at a door: names as written, quantities in base units."""

    model: ModelSpec
    gpus: tuple[str, ...] = ()  # such as "H100:2"; none: every GPU of the catalogue
    precision: str = "native"
    kv_precision: str | None = None  # None: as the checkpoint asks
    context: Tokens | None = None  # None: 8k, or as long as the model was made for
    concurrency: int = 1
    engine: str | None = None  # None: what reads the model's own files
    tp: int | None = None
    pp: int | None = None
    eager: bool = False
    free: Bytes | None = None  # of each card
    offload: Offload = EVERYTHING  # llama.cpp and Ollama
    frontier: bool = False
    knobs: Knobs = NO_KNOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class FitAnswer:
    """The report, how ambiguous names were read, and the error if nothing surely fits."""

    report: FitReport
    notes: tuple[str, ...]
    error: DoesNotFitError | None

    @property
    def document(self) -> FitDocument:
        """Return what a door shows."""
        report, question = self.report, self.report.question
        return FitDocument(
            model=ModelSummary.of(question.model),
            engine=question.engine.name,
            engine_versions=question.engine.versions,
            weight_format=question.weight_format.name,
            kv_format=question.kv_format.name,
            context_tokens=question.context_tokens,
            concurrency=question.concurrency,
            free_bytes=question.free_bytes,
            rows=report.rows,
            fewest=report.fewest,
            smallest=report.smallest,
            assumptions=report.assumptions,
            notes=self.notes,
            error=None if self.error is None else ErrorBody.of(self.error),
        )


def answer_fit_question(asked: FitAsked) -> FitAnswer:
    """Return the verdict for every card and number of cards asked about.

    Raises:
        ContradictoryOptionsError: the counts differ, or do not match the layout.
        InvalidQuantityError, InvalidLayoutError: see `answer_fit`.
        UnknownGpuError, UnknownPrecisionError, UnknownEngineError: with the nearest names.
    """
    model = asked.model
    engine = usual_engine(model) if asked.engine is None else engine_of(asked.engine)
    _check_offload(asked, engine)
    stored, stored_note = _stored(asked, engine)
    layout = _layout(asked, engine)
    named = _gpus(asked.gpus, layout)
    report = answer_fit(
        FitQuestion(
            model=model,
            gpus=named.specs,
            machines=named.machines,
            counts=named.counts,
            layout=layout,
            weight_format=stored,
            kv_format=kv_format(asked.kv_precision or model.checkpoint.kv_format or "bf16"),
            engine=engine,
            context_tokens=asked.context or Tokens(min(USUAL_CONTEXT, model.max_context_tokens)),
            concurrency=asked.concurrency,
            free_bytes=asked.free,
            eager=asked.eager,
            offload=asked.offload,
            frontier=asked.frontier,
            knobs=asked.knobs,
        )
    )
    error = None if report.smallest is not None else _nothing_fits(report)
    return FitAnswer(report=report, notes=(*named.notes, *stored_note), error=error)


def _stored(asked: FitAsked, engine: EngineSpec) -> tuple[WeightFormat, tuple[str, ...]]:
    """Return the format of the weights, and how it was chosen where that is not plain.

    llama.cpp loads GGUF: experts of an MXFP4 checkpoint stay as they are, other quantised
    checkpoints are converted anew.
    """
    native = asked.model.checkpoint.weight_format
    if asked.precision != "native":
        return weight_format(asked.precision), ()
    chosen = weight_format(native)
    if not engine.splits_by_layer or chosen.is_gguf or not chosen.is_quantised:
        return chosen, ()
    gguf = _GGUF_OF.get(native, "q4_k_m")
    return weight_format(gguf), (
        f"{engine.title} loads GGUF files: {gguf} stands for the published {native}",
    )


def _layout(asked: FitAsked, engine: EngineSpec) -> Layout | None:
    if asked.tp is None and asked.pp is None:
        return None
    if engine.splits_by_layer and asked.tp == 1 and asked.pp is None:
        return Layout()
    return Layout(tensor=asked.tp or 1, pipeline=asked.pp or 1)


def _check_offload(asked: FitAsked, engine: EngineSpec) -> None:
    if asked.offload != EVERYTHING and not engine.splits_by_layer:
        raise ContradictoryOptionsError(
            f"{engine.title} keeps all layers on the GPUs: --gpu-layers, --cpu-moe, --n-cpu-moe "
            "and --tensor-split are llama.cpp's.",
            remedy="Add --engine llama.cpp, or leave them out.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """The GPUs that were named: each for itself, and sets that are joined."""

    specs: tuple[GpuSpec, ...]
    machines: tuple[tuple[GpuSpec, ...], ...]
    counts: tuple[int, ...] | None
    notes: tuple[str, ...]


def _gpus(names: tuple[str, ...], layout: Layout | None) -> _Named:
    """Return the GPUs meant, how many of them, and how ambiguous names were read.

    Raises:
        ContradictoryOptionsError: the counts differ, or do not match the layout.
    """
    if not names:
        return _Named(specs=gpu_catalogue().all, machines=(), counts=None, notes=())
    sets = {name: parts for name in names if len(parts := split_machine(name)) > 1}
    machines = [_machine(parts) for parts in sets.values()]
    choices = [gpu_catalogue().resolve(name) for name in names if name not in sets]
    counts = {choice.counts for choice in choices}
    if len(counts) > 1:
        raise ContradictoryOptionsError(
            f"{' and '.join(names)} ask for different numbers of GPUs.",
            remedy=(
                "Give the same number with each --gpu, or none. Cards of one machine are joined "
                'by a plus: --gpu "RTX 3090 + RTX 4080".'
            ),
        )
    said = counts.pop() if counts else None
    if layout is not None and said is not None and layout.gpus not in said:
        raise _layout_contradiction(names, layout)
    if layout is not None and any(len(cards) != layout.gpus for cards, _ in machines):
        raise _layout_contradiction(names, layout)
    specs = {spec.id: spec for choice in choices for spec in choice.specs}
    notes = dict.fromkeys(
        note for note in (*(each.note for each in choices), *(note for _, note in machines)) if note
    )
    return _Named(
        specs=tuple(specs.values()),
        machines=tuple(cards for cards, _ in machines),
        counts=said,
        notes=tuple(notes),
    )


def _layout_contradiction(names: tuple[str, ...], layout: Layout) -> ContradictoryOptionsError:
    return ContradictoryOptionsError(
        f"--tp {layout.tensor} and --pp {layout.pipeline} make {layout.gpus} GPUs, "
        f"which {' and '.join(names)} does not allow.",
        remedy="Leave out the number behind the GPU, or --tp and --pp.",
    )


def split_machine(name: str) -> tuple[str, ...]:
    """Return the cards of one machine: `RTX 3090 + 2x RTX 4080`, or with commas between names.

    Commas in a list of numbers (`H100:1,2,4`) and the plus of a slice (`1g.10gb+me`) join nothing.
    """
    return tuple(part.strip() for part in _JOINED.split(name) if part.strip())


def _machine(parts: tuple[str, ...]) -> tuple[tuple[GpuSpec, ...], str]:
    """Return the cards of a machine, of an ambiguous name the one with least memory, and a note."""
    cards: list[GpuSpec] = []
    notes = []
    for part in parts:
        choice = gpu_catalogue().resolve(part)
        if choice.counts is not None and len(choice.counts) > 1:
            raise ContradictoryOptionsError(
                f"{part} leaves open how many cards the machine has.",
                remedy='Give one number of each: --gpu "2x RTX 3090 + RTX 4080".',
            )
        smallest = min(choice.specs, key=lambda spec: spec.usable_bytes)
        if len(choice.specs) > 1:
            notes.append(f"{part} is read as {smallest.name}")
        cards += [smallest] * (choice.counts[0] if choice.counts else 1)
    return tuple(cards), "; ".join(notes)


def _nothing_fits(report: FitReport) -> DoesNotFitError:
    """Return the error for a report without a fitting row, with what helps the last one."""
    question = report.question
    wanted = f"{question.concurrency:,} x {question.context_tokens:,} tokens"
    last = report.rows[-1]
    helps = [mend.change for mend in last.mends if mend.verdict is Verdict.FITS]
    advice = "; or ".join(helps) or "take more or larger GPUs, a smaller --precision or --context"
    return DoesNotFitError(
        f"{question.model.id} in {question.weight_format.name} with {wanted} does not surely "
        f"fit on {_where(report)}"
        f"{f' ({last.reason})' if last.reason else ''}.",
        remedy=f"For {last.label}: {advice}.",
    )


def _where(report: FitReport) -> str:
    if len(report.rows) == 1:
        return report.rows[0].label
    return f"any of the {len(report.rows)} choices of GPUs asked about"
