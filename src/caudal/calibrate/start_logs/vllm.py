"""vLLM's start-up log: versions 0.2 to now print the same terms in four dialects.

Sources, of github:vllm-project/vllm: vllm/worker/worker.py (to 0.8), vllm/v1/worker/gpu_worker.py,
vllm/v1/worker/gpu_model_runner.py, vllm/v1/core/kv_cache_utils.py, vllm/engine/llm_engine.py.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from caudal.calibrate.start_logs.cards import card_named
from caudal.calibrate.start_logs.lines import (
    count_of,
    largest,
    last,
    last_count,
    number_of,
    searches,
    setting,
    size_of,
    smallest,
)
from caudal.calibrate.start_logs.start_log import StartLog
from caudal.vocabulary.units import GIB

_SIZE: Final = r"([\d.]{1,12}) ?(GiB|GB)"
MARKS: Final = re.compile(
    r"vLLM API server|vllm|LLM engine \(v|GPU KV cache size|# GPU blocks|# (?:cuda|CUDA) blocks"
    r"|Available KV cache memory|Model loading took|Loading model weights took",
    re.ASCII,
)
_STARTS: Final = re.compile(r"Initializing (?:a|an) (?:V\d )?LLM engine", re.ASCII)
_VERSION: Final = searches(
    r"(?:LLM engine \(v|vLLM API server version |vLLM version:? v?|vllm==)(\d[\w.+]{0,40})"
)
_DTYPE: Final = searches(r"dtype=torch\.(\w{1,20})")
_LOADED: Final = searches(rf"(?:Loading model weights|[Mm]odel loading) took {_SIZE}")
_WEIGHTS: Final = searches(rf"model weights take {_SIZE}")
_NON_TORCH: Final = searches(rf"non_torch_memory (?:takes )?{_SIZE}")
_PEAK: Final = searches(rf"PyTorch activation peak memory (?:takes )?{_SIZE}")
_SHARE: Final = searches(
    r"total_gpu_memory \(([\d.]{1,12}) ?GiB\) x gpu_memory_utilization \((0?\.\d+|1\.0+)\)"
)
_REST: Final = searches(rf"(?:reserved for KV Cache is|KV Cache is|kv_cache_size=) ?{_SIZE}")
_PROFILE: Final = searches(
    r"total_gpu_memory=([\d.]{1,12})GiB.{0,80}?peak_torch_memory=([\d.]{1,12})GiB"
)
_PROFILED_NON_TORCH: Final = searches(rf"non_torch_memory=?{_SIZE}")
_FREE: Final = searches(
    r"Free memory on device (?:\S+ )?\(([\d.]{1,12})/([\d.]{1,12}) GiB\).{0,80}?"
    r"utilization is \((0?\.\d+|1\.0+), [\d.]{1,12} GiB\)"
)
_USAGE: Final = searches(
    r"Actual usage is ([\d.]{1,12}) GiB for (?:weight|consumed memory|model weights?), "
    r"([\d.]{1,12}) GiB for peak activation"
)
_USAGE_NON_TORCH: Final = searches(r"([\d.]{1,12}) GiB for non-torch memory")
_USAGE_GRAPHS: Final = searches(r"([\d.]{1,12}) GiB for CUDAGraph memory")
_POOL: Final = searches(rf"[Aa]vailable KV cache memory: {_SIZE}")
_TOKENS: Final = searches(r"GPU KV cache size(?::| =) ([\d,]{1,20}) tokens")
_BLOCKS: Final = searches(r"# (?:GPU|cuda|CUDA) blocks: ([\d,]{1,20})")
_CONCURRENCY: Final = searches(
    r"Maximum concurrency for ([\d,]{1,12}) tokens per request: ([\d.]{1,12})x"
)
_GRAPHS: Final = searches(rf"Graph capturing finished in [^,]{{1,30}}, took {_SIZE}")
_ATTENTION_BLOCK: Final = searches(r"Setting attention block size to (\d{1,6}) tokens")
_CHUNKED: Final = searches(r"Chunked prefill is enabled with max_num_batched_tokens=(\d{1,9})")
_NEEDED: Final = searches(
    rf"max seq len \((\d{{1,9}})\), \(?{_SIZE} KV cache is needed, which is larger than the "
    rf"available KV cache memory \({_SIZE}\)"
)
_TOO_LONG: Final = searches(
    r"max seq len \((\d{1,9})\) is larger than the maximum number of tokens that can be stored "
    r"in KV cache \((\d{1,9})\)"
)
_OUT_OF_MEMORY: Final = re.compile(r"OutOfMemoryError|CUDA out of memory|HIP out of memory")
_CAPACITY: Final = searches(r"has a total capacity of ([\d.]{1,12}) (GiB)")
_SPEAKS_OF: Final = ("model_tag", "model")


def read(lines: Sequence[str]) -> StartLog:
    """Return the last start in the log."""
    begins = [at for at, line in enumerate(lines) if _STARTS.search(line)]
    recent = lines[begins[-1] :] if begins else lines
    shares = [(number_of(m[1]), number_of(m[2])) for m in _SHARE(recent)]
    log = StartLog(
        engine="vllm",
        version=_version(lines),
        model=_model(lines),
        gpu=card_named(lines),
        gpu_total_bytes=_gib(shares[-1][0]) if shares else None,
        memory_fraction=shares[-1][1] if shares else None,
        tensor=count_of(setting(lines, "tensor_parallel_size", "tp_size")),
        pipeline=count_of(setting(lines, "pipeline_parallel_size")),
        quantization=setting(lines, "quantization"),
        dtype=next((m[1] for m in _DTYPE(recent)), ""),
        kv_dtype=setting(lines, "kv_cache_dtype"),
        max_model_tokens=count_of(setting(lines, "max_seq_len", "max_model_len")),
        max_sequences=count_of(setting(lines, "max_num_seqs")),
        max_batched_tokens=last_count(m[1] for m in _CHUNKED(recent))
        or count_of(setting(lines, "max_num_batched_tokens")),
        block_tokens=last_count(m[1] for m in _ATTENTION_BLOCK(recent))
        or count_of(setting(lines, "block_size")),
        eager={"True": True, "False": False}.get(setting(lines, "enforce_eager")),
        weights_bytes=largest(size_of(m[1], m[2]) for m in (*_WEIGHTS(recent), *_LOADED(recent))),
        activation_bytes=largest(size_of(m[1], m[2]) for m in _PEAK(recent)),
        non_torch_bytes=largest(size_of(m[1], m[2]) for m in _NON_TORCH(recent)),
        graphs_bytes=largest(size_of(m[1], m[2]) for m in _GRAPHS(recent)),
        kv_pool_bytes=smallest(size_of(m[1], m[2]) for m in (*_REST(recent), *_POOL(recent))),
        kv_tokens=last_count(m[1] for m in _TOKENS(recent)),
        kv_blocks=last_count(m[1] for m in _BLOCKS(recent)),
    )
    return _failed(_profiled(log, recent, fraction=_fraction(lines)), recent)


def _fraction(lines: Sequence[str]) -> float | None:
    return number_of(setting(lines, "gpu_memory_utilization")) or None


def _profiled(log: StartLog, lines: Sequence[str], *, fraction: float | None) -> StartLog:
    """Add what the profiles of 0.6 and of the second engine say, and the concurrency."""
    for found in _PROFILE(lines):
        peak, weights = _gib(number_of(found[2])), log.weights_bytes
        activation = None if peak is None or weights is None else max(peak - weights, 0.0)
        outside = largest(size_of(m[1], m[2]) for m in _PROFILED_NON_TORCH(lines))
        log = replace(
            log,
            gpu_total_bytes=_gib(number_of(found[1])),
            activation_bytes=activation,
            non_torch_bytes=outside,
        )
    for found in _FREE(lines):
        log = replace(
            log,
            gpu_total_bytes=_gib(number_of(found[2])),
            memory_fraction=number_of(found[3]),
        )
    for found in _USAGE(lines):
        log = replace(
            log,
            weights_bytes=log.weights_bytes or _gib(number_of(found[1])),
            activation_bytes=_gib(number_of(found[2])),
        )
    graphs = last(_gib(number_of(found[1])) for found in _USAGE_GRAPHS(lines))
    outside = last(_gib(number_of(found[1])) for found in _USAGE_NON_TORCH(lines))
    for found in _CONCURRENCY(lines):
        log = replace(log, max_model_tokens=count_of(found[1]), max_concurrency=number_of(found[2]))
    return replace(
        log,
        memory_fraction=log.memory_fraction or fraction,
        graphs_bytes=log.graphs_bytes if log.graphs_bytes is not None else graphs,
        non_torch_bytes=log.non_torch_bytes if log.non_torch_bytes is not None else outside,
    )


def _failed(log: StartLog, lines: Sequence[str]) -> StartLog:
    for found in _NEEDED(lines):
        log = replace(
            log,
            outcome="kv_too_small",
            max_model_tokens=count_of(found[1]),
            kv_needed_bytes=size_of(found[2], found[3]),
            kv_pool_bytes=size_of(found[4], found[5]),
        )
    for found in _TOO_LONG(lines):
        log = replace(
            log,
            outcome="kv_too_small",
            max_model_tokens=count_of(found[1]),
            kv_tokens=count_of(found[2]),
        )
    if log.kv_pool_bytes is None and any(_OUT_OF_MEMORY.search(line) for line in lines):
        capacity = largest(size_of(m[1], m[2]) for m in _CAPACITY(lines))
        log = replace(log, outcome="oom", gpu_total_bytes=log.gpu_total_bytes or capacity)
    return log


def _version(lines: Sequence[str]) -> str:
    found = ""
    for match in _VERSION(lines):
        found = match[1]
    return found.rstrip(".")


def _model(lines: Sequence[str]) -> str:
    for line in lines:
        found = re.search(r"vllm serve\s+(?!-)['\"]?([^\s'\"]{1,300})", line, re.ASCII)
        if found is not None:
            return found[1]
    return setting(lines, *_SPEAKS_OF)


def _gib(value: float | None) -> float | None:
    return None if value is None else value * GIB
