"""How fast a model runs on a GPU, batch by batch: from what was asked to the document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.documents.failure import ErrorBody
from caudal.documents.fit import FitAnswer, FitAsked, answer_fit_question, split_machine
from caudal.documents.models import ModelSummary
from caudal.documents.written import check_batches
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.fit.answer import FitQuestion
from caudal.fit.budget import Verdict
from caudal.fit.fit_rows import FitRow
from caudal.fit.serving import Serving
from caudal.speed.ceiling import decode_ceiling
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import CapacityCurve, capacity_on, largest_fed_batch
from caudal.speed.steps import DecodeParts, Pace, pace_for, spread
from caudal.speed.work import StepWork, step_work
from caudal.vocabulary.errors import (
    ContradictoryOptionsError,
    DoesNotFitError,
    InvalidQuantityError,
)
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import Bytes, Tokens

Floats = NDArray[np.float64]

USUAL_INPUT: Final = Tokens(2048)  # chosen: a chat's length, as in the overview of GPUs
USUAL_OUTPUT: Final = Tokens(300)  # chosen: the answer of the headline question
USUAL_BATCHES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class TpotParts:
    """What the time between two tokens is spent on, in seconds; together they are its value."""

    matrices_s: float  # reading and multiplying the weights
    attention_s: float  # reading keys, values and states
    exchanges_s: float  # between the GPUs of the layout
    overhead_s: float  # scheduling, launching, sampling
    prompts_s: float  # while prompts of new requests are computed


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedBatch:
    """One number of sequences that decode at once on all GPUs of a row."""

    batch: int
    verdict: Verdict  # whether so many sequences of the full length fit in memory
    sustained_batch: float  # the largest up to `batch` that prompts come in fast enough for
    tpot_s: Estimate | None  # between two tokens of one request, None: a rate is not published
    output_tok_s: Estimate | None  # of all sequences together
    request_rate: Estimate | None  # requests a second that keep the batch at this size
    parts: TpotParts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One number of one GPU: its bound, its prompt and its batches."""

    gpu_id: str
    gpu_name: str
    gpus: int
    layout: Layout | None  # None: no layout over so many GPUs is legal
    verdict: Verdict  # of one sequence
    reason: str  # in a sentence, where it is not the memory that decides; "" otherwise
    holds: Estimate | None  # sequences of the full length
    read_bytes: float | None  # weights that one GPU reads for one token of one sequence
    ceiling_tok_s: float | None  # bandwidth over that: what no single stream can pass
    prefill_s: Estimate | None  # of one prompt on idle GPUs, None: a rate is not published
    batches: tuple[SpeedBatch, ...]

    @property
    def label(self) -> str:
        """Return the cards as people write them: "2 x h100-sxm"."""
        return f"{self.gpus} x {self.gpu_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedDocument:
    """The speed of every card and number of cards, batch by batch."""

    model: ModelSummary
    engine: str
    engine_versions: str
    weight_format: str
    kv_format: str
    input_tokens: Tokens
    output_tokens: Tokens
    rows: tuple[SpeedRow, ...]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # how ambiguous names were read
    error: ErrorBody | None  # why nothing fits


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAsked:
    """A question as it is put at a door: names as written, quantities in base units."""

    model: ModelSpec
    gpus: tuple[str, ...] = ()  # such as "H100:2"; none: of every GPU the fewest that hold it
    precision: str = "native"
    kv_precision: str | None = None  # None: as the checkpoint asks
    engine: str | None = None  # None: what reads the model's own files
    tp: int | None = None
    pp: int | None = None
    input_tokens: Tokens = USUAL_INPUT
    output_tokens: Tokens = USUAL_OUTPUT
    batches: tuple[int, ...] | None = None  # None: the usual ones that memory may hold


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAnswer:
    """The document, and the error if nothing surely fits."""

    document: SpeedDocument
    error: DoesNotFitError | None


def answer_speed_question(asked: SpeedAsked) -> SpeedAnswer:
    """Return the speed of every card and number of cards asked about.

    Raises:
        ContradictoryOptionsError: cards of several kinds are joined, or as for a fit.
        InvalidQuantityError: a batch of none or too many, or a length beyond the model's.
        InvalidLayoutError: the very layout asked for is not legal.
        UnknownGpuError, UnknownPrecisionError, UnknownEngineError: with the nearest names.
    """
    _check(asked)
    fit = answer_fit_question(
        FitAsked(
            model=asked.model,
            gpus=asked.gpus,
            precision=asked.precision,
            kv_precision=asked.kv_precision,
            context=Tokens(asked.input_tokens + asked.output_tokens),
            engine=asked.engine,
            tp=asked.tp,
            pp=asked.pp,
        )
    )
    question = fit.report.question
    chosen = fit.report.rows if asked.gpus else tuple(_smallest_of_each(fit.report.rows))
    error = None if fit.error is None else _nothing_fits(fit)
    document = SpeedDocument(
        model=ModelSummary.of(asked.model),
        engine=question.engine.name,
        engine_versions=question.engine.versions,
        weight_format=question.weight_format.name,
        kv_format=question.kv_format.name,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
        rows=_rows(asked, question, chosen),
        assumptions=_assumptions(asked, question),
        notes=fit.notes,
        error=None if error is None else ErrorBody.of(error),
    )
    return SpeedAnswer(document=document, error=error)


def _check(asked: SpeedAsked) -> None:
    if asked.batches is not None:
        check_batches(asked.batches)
    for name, tokens in (("input", asked.input_tokens), ("output", asked.output_tokens)):
        if tokens < 1:
            raise InvalidQuantityError(
                f"The {name} has {tokens:,} tokens.", remedy="Give a length of 1 token or more."
            )
    for name in asked.gpus:
        if len(split_machine(name)) > 1:
            raise ContradictoryOptionsError(
                f"{name} joins cards, and speed is predicted for equal ones only.",
                remedy='Name one GPU and how many: --gpu "RTX 3090:2".',
            )


def _smallest_of_each(rows: Sequence[FitRow]) -> Iterator[FitRow]:
    """Yield, of each GPU, the row with the fewest that surely fits."""
    seen: set[str] = set()
    for row in rows:
        if row.fits and row.gpu_id not in seen:
            seen.add(row.gpu_id)
            yield row


def _rows(asked: SpeedAsked, question: FitQuestion, rows: Sequence[FitRow]) -> tuple[SpeedRow, ...]:
    """Return the rows in their order; those of one serving are computed together."""
    found = {at: _without_speed(row) for at, row in enumerate(rows)}
    for serving, places in _by_serving(question, rows).items():
        some = {at: rows[at] for at in places}
        found |= _with_speed(asked, step_work(question.model, serving), some)
    return tuple(found[at] for at in range(len(rows)))


def _by_serving(question: FitQuestion, rows: Sequence[FitRow]) -> Mapping[Serving, list[int]]:
    """Return the places of the rows that may hold the model, by how they serve it."""
    found: dict[Serving, list[int]] = {}
    for at, row in enumerate(rows):
        if row.layout is None or row.memory is None or row.verdict is Verdict.DOES_NOT_FIT:
            continue
        serving = Serving(
            engine=question.engine,
            weight_format=question.weight_format,
            kv_format=question.kv_format,
            layout=row.layout,
            max_model_tokens=question.context_tokens,
        )
        found.setdefault(serving.on(gpu_catalogue().get(row.gpu_id)), []).append(at)
    return found


def _without_speed(row: FitRow) -> SpeedRow:
    return SpeedRow(
        gpu_id=row.gpu_id,
        gpu_name=row.gpu_name,
        gpus=row.gpus,
        layout=row.layout,
        verdict=row.verdict,
        reason=row.reason,
        holds=None if row.memory is None else row.memory.max_concurrency,
        read_bytes=None,
        ceiling_tok_s=None,
        prefill_s=None,
        batches=(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curves:
    """What many GPUs do with one piece of work; arrays [gpus, batches], factors [gpus]."""

    batches: tuple[int, ...]
    fed: Floats
    curve: CapacityCurve
    parts: DecodeParts
    factors: Mapping[str, Floats]
    bases: Sequence[Basis]
    output_tokens: Tokens

    def at(self, gpu: int, place: int, verdict: Verdict, ceiling: float) -> SpeedBatch:
        """Return one batch on one GPU; ranges end where each stream reaches the ceiling."""
        tpot = float(self.curve.tpot_s[gpu, place])
        fed = float(self.fed[gpu, place])
        between = _estimate(self, "tpot", tpot, gpu)
        total = _estimate(self, "output_tok_s", float(self.curve.output_tok_s[gpu, place]), gpu)
        if between is not None and total is not None:
            low = min(max(between.low, 1 / ceiling), between.value)
            between = replace(between, low=low)
            total = replace(total, high=max(min(total.high, fed * ceiling), total.value))
        output = self.output_tokens
        return SpeedBatch(
            batch=self.batches[place],
            verdict=verdict,
            sustained_batch=fed,
            tpot_s=between,
            output_tok_s=total,
            request_rate=None if total is None else total.rising(lambda rate: rate / output),
            parts=_parts(self.parts, gpu, place, tpot) if isfinite(tpot) else None,
        )


def _with_speed(
    asked: SpeedAsked, work: StepWork, rows: Mapping[int, FitRow]
) -> dict[int, SpeedRow]:
    """Return the rows of one serving with their speed."""
    specs = [gpu_catalogue().get(row.gpu_id) for row in rows.values()]
    curves = _curves(asked, work, GpuColumns.of(specs))
    read = _read_bytes(work)
    found = {}
    for gpu, (place, row) in enumerate(rows.items()):
        assert row.memory is not None, "what fits has a memory"
        holds = row.memory.max_concurrency
        verdicts = [_verdict(batch, holds) for batch in curves.batches]
        prefill = float(curves.curve.prefill_s[gpu, 0])
        bandwidth = specs[gpu].memory_bytes_per_s
        ceiling = decode_ceiling(bandwidth, weight_bytes=Bytes(round(read)))
        found[place] = SpeedRow(
            gpu_id=row.gpu_id,
            gpu_name=row.gpu_name,
            gpus=row.gpus,
            layout=row.layout,
            verdict=row.verdict,
            reason=row.reason,
            holds=holds,
            read_bytes=read,
            ceiling_tok_s=ceiling,
            prefill_s=_estimate(curves, "prefill_tok_s", prefill, gpu),
            batches=tuple(
                curves.at(gpu, at, verdict, ceiling)
                for at, verdict in enumerate(verdicts)
                if asked.batches is not None or verdict is not Verdict.DOES_NOT_FIT
            ),
        )
    return found


def _curves(asked: SpeedAsked, work: StepWork, gpus: GpuColumns) -> _Curves:
    """Return times and rates of all batches; a batch stands where prompts can keep it up."""
    batches = asked.batches or USUAL_BATCHES
    prompt, output = float(asked.input_tokens), float(asked.output_tokens)
    pace = pace_for(work, gpus)
    fed = _fed(pace, batches, prompt, output)
    shape = (len(gpus), len(batches))
    parts = pace.decode_parts(fed, np.full_like(fed, prompt + output / 2))
    curve = capacity_on(pace, input_tokens=prompt, output_tokens=output, batches=batches)
    return _Curves(
        batches=batches,
        fed=np.broadcast_to(fed, shape),
        curve=CapacityCurve(
            tpot_s=np.broadcast_to(curve.tpot_s, shape),
            prefill_s=np.broadcast_to(curve.prefill_s, shape),
            request_rate=np.broadcast_to(curve.request_rate, shape),
            output_tok_s=np.broadcast_to(curve.output_tok_s, shape),
        ),
        parts=DecodeParts(
            matrices=np.broadcast_to(parts.matrices, shape),
            attention=np.broadcast_to(parts.attention, shape),
            exchanges=np.broadcast_to(parts.exchanges, shape),
            overhead=np.broadcast_to(parts.overhead, shape),
        ),
        factors={
            metric: spread(work, gpus, metric)[0]
            for metric in ("tpot", "output_tok_s", "prefill_tok_s")
        },
        bases=spread(work, gpus, "tpot")[1],
        output_tokens=asked.output_tokens,
    )


def _fed(pace: Pace, batches: Sequence[int], prompt: float, output: float) -> Floats:
    wanted = np.array(batches, dtype=np.float64)
    most = largest_fed_batch(pace, np.full_like(wanted, prompt), np.full_like(wanted, output))
    return np.asarray(np.minimum(wanted, most))


def _estimate(curves: _Curves, metric: str, value: float, gpu: int) -> Estimate | None:
    if not isfinite(value):
        return None
    return Estimate.within(value, float(curves.factors[metric][gpu]), curves.bases[gpu])


def _parts(parts: DecodeParts, gpu: int, place: int, tpot: float) -> TpotParts:
    step = [
        float(part[gpu, place])
        for part in (parts.matrices, parts.attention, parts.exchanges, parts.overhead)
    ]
    return TpotParts(
        matrices_s=step[0],
        attention_s=step[1],
        exchanges_s=step[2],
        overhead_s=step[3],
        prompts_s=max(tpot - sum(step), 0.0),
    )


def _read_bytes(work: StepWork) -> float:
    """Return the weights that one GPU, or each stage in turn, reads for one token of one sequence.

    Of experts only those that the token is sent to, spread evenly over the GPUs.
    """
    return sum(
        matrix.weight_bytes * (matrix.chosen / matrix.experts if matrix.experts else 1.0)
        for matrix in work.matrices
    )


def _verdict(batch: int, holds: Estimate) -> Verdict:
    if batch <= holds.low:
        return Verdict.FITS
    return Verdict.UNCERTAIN if batch <= holds.high else Verdict.DOES_NOT_FIT


def _assumptions(asked: SpeedAsked, question: FitQuestion) -> tuple[str, ...]:
    engine = question.engine
    return (
        f"{engine.title} {engine.versions}, told to run as many sequences as the batch has",
        (
            f"every request brings {asked.input_tokens:,} tokens, none of them cached, and "
            f"receives {asked.output_tokens:,}; as one ends the next begins"
        ),
        "waiting before the first token is left out: caudal plan and simulate know the load",
    )


def _nothing_fits(fit: FitAnswer) -> DoesNotFitError:
    """Return the error of the fit, with what this question can change."""
    assert fit.error is not None, "asked only where nothing fits"
    mends = [mend.change for mend in fit.report.rows[-1].mends if mend.verdict is Verdict.FITS]
    advice = "; or ".join(mends) or "take more or larger GPUs, a smaller --precision or --input"
    return DoesNotFitError(fit.error.problem, remedy=f"For {fit.report.rows[-1].label}: {advice}.")
