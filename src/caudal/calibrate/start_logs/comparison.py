"""Measured terms of a start beside the predicted ones, by the rules of the accuracy report."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from caudal.calibrate.memory_judge import Judged, MemoryCase, judge_terms, memory_case
from caudal.calibrate.memory_rows import MemoryRow
from caudal.calibrate.start_logs.start_log import StartLog
from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.budget import Verdict, verdict_of
from caudal.fit.needs import PoolRule
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.formats import format_bytes_gib
from caudal.vocabulary.units import GIB

_JUDGED: Final = {
    "kv_bytes_per_token": ("KV bytes a token", "bytes"),
    "kv_tokens": ("KV tokens", "tokens"),
    "max_concurrency": ("requests at once", "requests"),
}
_AGREES: Final = 0.01  # chosen: what digits and allocators round away
# Beyond an embedding's size in main memory, layers or experts lie there too. Chosen.
_IN_HOST: Final = 2
_BY_CELLS: Final = frozenset({"llama.cpp", "ollama"})
_WORDS: Final = re.compile(r"[\s-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTerm:
    """One term of one start: what the log measured, and what was predicted for it."""

    name: str
    unit: str  # "bytes", "tokens" or "requests"
    measured: float
    predicted: Estimate | None  # None: the log does not pin down what it depends on

    @property
    def error(self) -> float | None:
        """Return predicted over measured, less 1; None where one of them is missing or zero."""
        if self.predicted is None or self.measured == 0:
            return None
        return self.predicted.value / self.measured - 1

    @property
    def within(self) -> bool | None:
        """Return whether the measured value lies in the predicted range, or within a percent."""
        error = self.error
        if self.predicted is None or error is None:
            return None
        inside = self.predicted.low <= self.measured <= self.predicted.high
        return inside or abs(error) <= _AGREES


@dataclass(frozen=True, slots=True, kw_only=True)
class LogComparison:
    """A start-up log against the prediction for the same model, engine, card and settings."""

    log: StartLog
    model: ModelSpec
    gpu: GpuSpec | None
    terms: tuple[ComparedTerm, ...]
    verdict: Verdict | None  # for one request of the longest length; None: the card is not known
    assumptions: tuple[str, ...]


def compare_log(
    log: StartLog, model: ModelSpec, *, gpu: GpuSpec | None = None, weight_format: str = ""
) -> LogComparison:
    """Return the terms of a start beside what is predicted for it.

    `gpu` overrides the card that the log names, `weight_format` the format that it states.

    Raises:
        UnknownEngineError, UnknownPrecisionError: the log's engine, version or format has no rule.
    """
    told = replace(log, quantization=weight_format or log.quantization)
    case = memory_case(row_of(told, model, gpu=gpu), lambda _: model)
    card = case.described.gpu
    return LogComparison(
        log=log,
        model=model,
        gpu=card,
        terms=tuple(_terms(told, case)),
        verdict=_verdict(told, case),
        assumptions=tuple(_assumptions(told, case)),
    )


def row_of(log: StartLog, model: ModelSpec, *, gpu: GpuSpec | None = None) -> MemoryRow:
    """Return a log as a row of start-up figures, which one set of rules turns into a serving."""
    gpus = (log.tensor or 1) * (log.pipeline or 1)
    numbers = {
        "gpu_memory_utilization": log.memory_fraction if log.engine == "vllm" else None,
        "mem_fraction_static": log.memory_fraction if log.engine == "sglang" else None,
        "kv_free_fraction": log.memory_fraction if log.engine == "tensorrt-llm" else None,
        "max_concurrency": log.max_concurrency,
        "gpu_mem_gib": _in_gib(log.gpu_total_bytes),
        "weights_gib": _in_gib(log.weights_bytes),
        "kv_cache_gib": _in_gib(log.kv_pool_bytes),
        "free_before_kv_gib": _in_gib(log.free_before_kv_bytes),
        "avail_after_load_gib": _in_gib(log.free_after_load_bytes),
        "recurrent_state_gib": _in_gib(log.state_bytes),
        "kv_bytes_per_token": _bytes_per_token(log),
    }
    counts = {
        "tp": log.tensor or 1,
        "n_gpus": gpus,
        "kv_tokens": log.kv_tokens,
        "gpu_blocks": log.kv_blocks,
        "block_size": _block_tokens(log),
        "max_model_len": log.max_model_tokens,
        "max_num_seqs": log.max_sequences,
        "max_num_batched_tokens": log.max_batched_tokens,
        "max_total_tokens": log.max_total_tokens,
        "n_ubatch": log.micro_batch_tokens,
    }
    texts = {
        "engine_version": log.version,
        "gpu": gpu.name if gpu is not None else log.gpu,
        "dtype": log.dtype,
        "quantization": _quantization(log, model),
        "kv_cache_dtype": log.kv_dtype,
    }
    flags = {"enforce_eager": log.eager, "flash_attn": log.flash_attention}
    return MemoryRow(
        id="log",
        engine=log.engine,
        model=model.id,
        outcome=log.outcome,
        numbers={name: value for name, value in numbers.items() if value is not None},
        counts={name: value for name, value in counts.items() if value is not None},
        texts={name: value for name, value in texts.items() if value},
        flags={name: value for name, value in flags.items() if value is not None},
    )


def _terms(log: StartLog, case: MemoryCase) -> Iterator[ComparedTerm]:
    needs = case.needs
    judged = {each.field: each for each in judge_terms(case)}
    predicted: dict[str, Estimate | None] = {
        "weights": _weights(case) if _weights_stated(log, case) else None,
        "activation": needs.activation,
        "cuda graphs": needs.graphs,
        "other": needs.other,
        "recurrent state": _states(log, case),
        "KV pool": _pool(case, judged.get("kv_cache_gib")),
        "KV of the longest request": Estimate.exact(needs.kv.request_bytes(case.longest)),
    }
    for name, measured in log.measured.items():
        yield ComparedTerm(name=name, unit="bytes", measured=measured, predicted=predicted[name])
    for field, (name, unit) in _JUDGED.items():
        each = judged.get(field)
        if each is not None and (field != "kv_bytes_per_token" or log.state_bytes is None):
            yield ComparedTerm(
                name=name,
                unit=unit,
                measured=each.measured,
                predicted=Estimate.exact(each.predicted),
            )


def _weights(case: MemoryCase) -> Estimate:
    """Return the weights of all buffers, llama.cpp's tables in main memory included."""
    return case.needs.weights + Estimate.exact(case.needs.weights_by_role.host)


def _states(log: StartLog, case: MemoryCase) -> Estimate | None:
    """Return the states of all slots of llama.cpp; other engines size them by free memory."""
    if log.engine not in _BY_CELLS:
        return None
    return Estimate.exact(case.needs.kv.state_bytes * case.slots)


def _weights_stated(log: StartLog, case: MemoryCase) -> bool:
    """Return whether the bits of a weight are known: a GGUF without its mix says nothing."""
    return case.described.weights_stated and (
        log.engine not in _BY_CELLS or bool(log.quantization) or case.model.stored is not None
    )


def _pool(case: MemoryCase, judged: Judged | None) -> Estimate | None:
    """Return the pool on the card, or what follows from the free memory that the log states.

    llama.cpp's cache is as large as it is asked to be: the context of all slots.
    """
    described, kv = case.described, case.needs.kv
    if case.needs.rule is PoolRule.WHOLE:
        asked = kv.bytes_for(sequences=case.slots, tokens=case.longest // case.slots)
        return Estimate.exact(max(asked - kv.state_bytes * case.slots * _has_states(case), 0.0))
    if judged is not None and case.needs.rule is not PoolRule.OF_TOTAL:
        return Estimate.within(judged.predicted, 1.0, Basis.CALIBRATED)
    if described.total_bytes is None or not described.fraction_stated:
        return None
    return case.needs.kv_pool_bytes(described.total_bytes, unified=described.unified)


def _has_states(case: MemoryCase) -> bool:
    """Return whether states stand apart from the cache, as llama.cpp prints them."""
    return "recurrent_state_gib" in case.row.numbers


def _verdict(log: StartLog, case: MemoryCase) -> Verdict | None:
    total = case.described.total_bytes
    if total is None or not _weights_stated(log, case) or log.host_weights_bytes > _IN_HOST * GIB:
        return None
    pool = case.needs.kv_pool_bytes(total, unified=case.described.unified)
    return verdict_of(pool, case.needs.kv, sequences=1, tokens=case.longest)


def _assumptions(log: StartLog, case: MemoryCase) -> Iterator[str]:
    served = case.described.serving
    spec = served.engine
    if not log.version:
        yield f"the log states no version: {spec.title} {spec.versions} is assumed"
    if not _weights_stated(log, case):
        yield "the log states no weight format: give it with --precision to have weights predicted"
    elif not log.quantization:
        yield f"weights in {served.weight_format.name}"
    if log.host_weights_bytes:
        yield f"{format_bytes_gib(log.host_weights_bytes)} of the weights lie in main memory"
    if log.memory_fraction is None and case.needs.fraction < 1:
        yield f"the log states no memory fraction: {case.needs.fraction:g} is the engine's default"
    if log.max_model_tokens is None:
        yield f"the log states no longest sequence: the model's {case.longest:,} tokens are assumed"
    whole = case.needs.rule is PoolRule.WHOLE
    if case.described.gpu is None and log.gpu_total_bytes is None and not whole:
        yield "the log names no card: give it with --gpu to have the KV pool predicted"


def _quantization(log: StartLog, model: ModelSpec) -> str:
    """Return the format as rows name it: llama.cpp writes "Q4_K - Medium" for q4_k_m."""
    if log.engine in _BY_CELLS:
        if model.checkpoint.weight_format and model.stored is not None:
            return f"gguf {model.checkpoint.weight_format}"
        name = _WORDS.sub(" ", log.quantization.partition("(")[0]).strip().lower()
        for word, letter in ((" medium", "_m"), (" small", "_s"), (" large", "_l")):
            name = name.replace(word, letter)
        return f"gguf {name}" if name else ""
    return log.quantization


def _bytes_per_token(log: StartLog) -> float | None:
    if log.kv_pool_bytes is None:
        return None
    tokens = log.kv_tokens or (log.kv_blocks or 0) * (log.block_tokens or 0)
    if log.engine in _BY_CELLS:
        tokens = log.max_model_tokens or 0
    return log.kv_pool_bytes / tokens if tokens else None


def _block_tokens(log: StartLog) -> int | None:
    """Return the tokens of a block; where a log counts blocks and says no more, the default."""
    if log.block_tokens is None and log.kv_blocks is not None:
        return engine(log.engine).block_tokens
    return log.block_tokens


def _in_gib(size: float | None) -> float | None:
    return None if size is None else size / GIB
