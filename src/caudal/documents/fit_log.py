"""An engine's start-up log beside the prediction: from its text to the document."""

import re
from dataclasses import dataclass
from typing import Final

from caudal.calibrate.start_logs.comparison import ComparedTerm, LogComparison, compare_log
from caudal.calibrate.start_logs.reader import read_start_log
from caudal.calibrate.start_logs.start_log import StartLog
from caudal.documents.models import ModelSummary
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.facts.models import model_catalogue, resolve_model
from caudal.facts.readers.hub_cache import is_hub_id
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import ContradictoryOptionsError

# What a GGUF file's name adds to the model's: "-Q4_K_M", "-UD-IQ2_XXS", "-00001-of-00003".
_FILE_SUFFIX: Final = re.compile(
    r"[-.](?:UD-)?(?:I?Q\d\w{0,8}|BF16|F16|F32|MXFP4\w{0,6})(?:-\d{5}-of-\d{5})?$",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTerm:
    """One term of a start: measured by the engine, and predicted."""

    name: str
    unit: str  # "bytes", "tokens" or "requests"
    measured: float
    predicted: float | None
    low: float | None
    high: float | None
    error: float | None  # predicted over measured, less 1

    @classmethod
    def of(cls, term: ComparedTerm) -> "MeasuredTerm":
        """Return the term as documents hold it."""
        predicted = term.predicted
        return cls(
            name=term.name,
            unit=term.unit,
            measured=term.measured,
            predicted=None if predicted is None else predicted.value,
            low=None if predicted is None else predicted.low,
            high=None if predicted is None else predicted.high,
            error=term.error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitLogDocument:
    """What an engine measured at its start, beside what is predicted for the same settings."""

    model: ModelSummary
    engine: str
    engine_version: str  # "" where the log states none
    gpu_id: str | None
    tensor: int | None
    pipeline: int | None
    memory_fraction: float | None  # in the engine's own meaning
    max_model_tokens: int | None
    outcome: str  # "ok", "oom" or "kv_too_small"
    verdict: Verdict | None  # predicted, for one request of the longest length
    terms: tuple[MeasuredTerm, ...]
    assumptions: tuple[str, ...]


def answer_fit_log(
    text: str,
    *,
    file: str,
    model: ModelSpec | None = None,
    gpu: str | None = None,
    precision: str | None = None,
) -> FitLogDocument:
    """Return the measured terms of a log beside the predicted ones.

    Model, card and weight format are those that the log names, unless they are given.

    Raises:
        InvalidLogError: the text is no start-up log with a term of memory.
        ContradictoryOptionsError: the log names no model that is known, and none is given.
        UnknownGpuError, UnknownEngineError, UnknownPrecisionError: with the nearest names.
    """
    log = read_start_log(text, file=file)
    card = None
    if gpu is not None:
        choices = gpu_catalogue().resolve(gpu).specs
        card = min(choices, key=lambda spec: spec.usable_bytes)
    compared = compare_log(
        log, model or _model_of(log, file), gpu=card, weight_format=precision or ""
    )
    return _document(compared)


def _document(compared: LogComparison) -> FitLogDocument:
    log = compared.log
    return FitLogDocument(
        model=ModelSummary.of(compared.model),
        engine=log.engine,
        engine_version=log.version,
        gpu_id=None if compared.gpu is None else compared.gpu.id,
        tensor=log.tensor,
        pipeline=log.pipeline,
        memory_fraction=log.memory_fraction,
        max_model_tokens=log.max_model_tokens,
        outcome=log.outcome,
        verdict=compared.verdict,
        terms=tuple(map(MeasuredTerm.of, compared.terms)),
        assumptions=compared.assumptions,
    )


def _model_of(log: StartLog, file: str) -> ModelSpec:
    """Return the model that a log names: of the catalogue, or of the hub's cache.

    A path in a log is only read for the name at its end: what lies there is not opened.
    """
    catalogue = model_catalogue()
    last = re.split(r"[/\\]", log.model)[-1].removesuffix(".gguf")
    for name in (log.model, last, _FILE_SUFFIX.sub("", last)):
        entry = catalogue.find(name) if name else None
        if entry is not None:
            return catalogue.load(entry.id)
    if is_hub_id(log.model):
        return resolve_model(log.model)
    named = f"names {log.model!r}, which is not in the catalogue" if log.model else "names no model"
    raise ContradictoryOptionsError(
        f"{file} {named}.", remedy=f"Give it as MODEL: caudal fit MODEL --log {file}."
    )
