"""Whether a model fits on a GPU, and where its memory goes: from what was asked to the document."""

from dataclasses import dataclass

from caudal.documents.failure import ErrorBody
from caudal.documents.models import ModelSummary
from caudal.facts.engines import engine as engine_of
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.answer import FitQuestion, FitReport, FitRow, answer_fit
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import ContradictoryOptionsError, DoesNotFitError
from caudal.vocabulary.units import Bytes, Tokens

# Chosen: the context at which most published sizing tables state a KV cache.
USUAL_CONTEXT = Tokens(8192)


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
    engine: str = "vllm"
    tp: int | None = None
    pp: int | None = None
    eager: bool = False
    free: Bytes | None = None  # of each card


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
    native = asked.precision == "native"
    layout = _layout(asked)
    specs, counts, notes = _gpus(asked.gpus, layout)
    report = answer_fit(
        FitQuestion(
            model=model,
            gpus=specs,
            counts=counts,
            layout=layout,
            weight_format=weight_format(
                model.checkpoint.weight_format if native else asked.precision
            ),
            kv_format=kv_format(asked.kv_precision or model.checkpoint.kv_format or "bf16"),
            engine=engine_of(asked.engine),
            context_tokens=asked.context or Tokens(min(USUAL_CONTEXT, model.max_context_tokens)),
            concurrency=asked.concurrency,
            free_bytes=asked.free,
            eager=asked.eager,
        )
    )
    error = None if report.smallest is not None else _nothing_fits(report)
    return FitAnswer(report=report, notes=notes, error=error)


def _layout(asked: FitAsked) -> Layout | None:
    if asked.tp is None and asked.pp is None:
        return None
    return Layout(tensor=asked.tp or 1, pipeline=asked.pp or 1)


def _gpus(
    names: tuple[str, ...], layout: Layout | None
) -> tuple[tuple[GpuSpec, ...], tuple[int, ...] | None, tuple[str, ...]]:
    """Return the GPUs meant, how many of them, and how ambiguous names were read.

    Raises:
        ContradictoryOptionsError: the counts differ, or do not match the layout.
    """
    if not names:
        return gpu_catalogue().all, None, ()
    choices = [gpu_catalogue().resolve(name) for name in names]
    counts = {choice.counts for choice in choices}
    if len(counts) > 1:
        raise ContradictoryOptionsError(
            f"{' and '.join(names)} ask for different numbers of GPUs.",
            remedy="Give the same number with each --gpu, or none.",
        )
    said = counts.pop()
    if said is not None and layout is not None and layout.gpus not in said:
        raise ContradictoryOptionsError(
            f"--tp {layout.tensor} and --pp {layout.pipeline} make {layout.gpus} GPUs, "
            f"which {' and '.join(names)} does not allow.",
            remedy="Leave out the number behind the GPU, or --tp and --pp.",
        )
    specs = {spec.id: spec for choice in choices for spec in choice.specs}
    notes = dict.fromkeys(choice.note for choice in choices if choice.note)
    return tuple(specs.values()), said, tuple(notes)


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
        remedy=f"For {last.gpus} x {last.gpu_id}: {advice}.",
    )


def _where(report: FitReport) -> str:
    if len(report.rows) == 1:
        return f"{report.rows[0].gpus} x {report.rows[0].gpu_id}"
    return f"any of the {len(report.rows)} choices of GPUs asked about"
