"""TensorRT-LLM's start-up log, of the C++ runtime and of the PyTorch backend.

Source: github:NVIDIA/TensorRT-LLM cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp,
tensorrt_llm/_torch/pyexecutor/_util.py.
"""

import re
from collections.abc import Sequence
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

MARKS: Final = re.compile(
    r"TensorRT-LLM|TRT-LLM|TRTGptModel|tensorrt_llm|trtllm|paged KV cache", re.ASCII
)
_SIZE: Final = r"([\d.]{1,12}) ?(GiB|MiB|GB|MB)"
_VERSION: Final = searches(r"TensorRT-LLM version:? v?(\d[\w.+]{0,40})")
_ENGINE: Final = searches(r"Loaded engine size: (\d{1,9}) (MiB)")
_INSIDE: Final = searches(
    rf"Memory used after loading model weights \(inside torch\).{{0,60}}?: {_SIZE}"
)
_CONTEXT: Final = searches(rf"Allocated {_SIZE} for execution context memory")
_RUNTIME: Final = searches(rf"Allocated {_SIZE} GPU memory for (?:runtime buffers|decoder)")
_DYNAMIC: Final = searches(
    rf"Memory dynamically allocated during inference \(inside torch\).{{0,60}}?: {_SIZE}"
)
_AVAILABLE: Final = searches(
    r"[Mm]emory usage when calculating max tokens in paged kv cache: total: ([\d.]{1,12}) GiB, "
    r"available: ([\d.]{1,12}) GiB"
)
_TOTAL: Final = searches(r"device total memory ([\d.]{1,12}) (GiB)")
_POOL: Final = searches(rf"Allocated {_SIZE} for max tokens in paged KV cache \((\d{{1,12}})\)")
_BLOCKS: Final = searches(r"Number of blocks in KV cache primary pool: (\d{1,9})")
_BLOCK: Final = searches(r"[Nn]umber of tokens per block: (\d{1,6})")
_FRACTION: Final = searches(r"fraction is set (0?\.\d+|1\.0+)")
_SEQUENCES: Final = searches(r"TRTGptModel maxNumSequences: (\d{1,9})")
_STEP: Final = searches(r"TRTGptModel maxNumTokens: (\d{1,9})")
_LONGEST: Final = searches(r"TRTGptModel maxSequenceLen: (\d{1,9})")
_RANKS: Final = searches(r"MPI size: (\d{1,5})")
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|OutOfMemory", re.ASCII)


def read(lines: Sequence[str]) -> StartLog:
    """Return the largest engine and the smallest pool over the ranks."""
    pools = [(size_of(m[1], m[2]), count_of(m[3])) for m in _POOL(lines)]
    weights = [size_of(m[1], m[2]) for m in (*_ENGINE(lines), *_INSIDE(lines))]
    buffers = [size_of(m[1], m[2]) for m in (*_CONTEXT(lines), *_DYNAMIC(lines))]
    available = list(_AVAILABLE(lines))
    fraction = last(number_of(m[1]) for m in _FRACTION(lines)) or number_of(
        setting(lines, "kv_cache_free_gpu_memory_fraction", "free_gpu_memory_fraction")
    )
    total = size_of(available[-1][1], "GiB") if available else None
    failed = not pools and any(_OUT_OF_MEMORY.search(line) for line in lines)
    return StartLog(
        engine="tensorrt-llm",
        version=next((m[1].rstrip(".") for m in _VERSION(lines)), ""),
        model=setting(lines, "model", "model_dir", "engine_dir"),
        gpu=card_named(lines),
        gpu_total_bytes=total or largest(size_of(m[1], m[2]) for m in _TOTAL(lines)),
        memory_fraction=fraction or None,
        tensor=count_of(setting(lines, "tensor_parallel_size", "tp_size"))
        or last_count(m[1] for m in _RANKS(lines)),
        quantization=setting(lines, "quant_algo"),
        kv_dtype=setting(lines, "kv_cache_quant_algo"),
        max_model_tokens=last_count(m[1] for m in _LONGEST(lines))
        or count_of(setting(lines, "max_seq_len")),
        max_sequences=last_count(m[1] for m in _SEQUENCES(lines))
        or count_of(setting(lines, "max_num_requests", "max_batch_size")),
        max_batched_tokens=last_count(m[1] for m in _STEP(lines))
        or count_of(setting(lines, "max_num_tokens")),
        block_tokens=last_count(m[1] for m in _BLOCK(lines)),
        weights_bytes=largest(weights),
        activation_bytes=largest(buffers),
        non_torch_bytes=sum(
            size for m in _RUNTIME(lines) if (size := size_of(m[1], m[2])) is not None
        )
        or None,
        kv_pool_bytes=smallest(size for size, _ in pools),
        kv_tokens=min((tokens for _, tokens in pools if tokens is not None), default=None),
        kv_blocks=last_count(m[1] for m in _BLOCKS(lines)),
        free_before_kv_bytes=size_of(available[-1][2], "GiB") if available else None,
        outcome="oom" if failed else "ok",
    )
