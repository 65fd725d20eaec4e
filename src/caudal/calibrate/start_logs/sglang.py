"""SGLang's start-up log, of which every rank prints its own.

Source: github:sgl-project/sglang python/sglang/srt/model_executor/model_runner.py,
python/sglang/srt/mem_cache/memory_pool.py.
"""

import re
from collections.abc import Sequence
from typing import Final

from caudal.calibrate.start_logs.cards import card_named
from caudal.calibrate.start_logs.lines import (
    count_of,
    largest,
    last,
    number_of,
    searches,
    setting,
    size_of,
    smallest,
)
from caudal.calibrate.start_logs.start_log import StartLog

MARKS: Final = re.compile(
    r"sglang|Load weight (?:begin|end)|KV Cache is allocated|Memory pool end|ServerArgs\(", re.ASCII
)
_VERSION: Final = searches(
    r"(?:sglang==|SGLang (?:version:? )?v?|sglang version:? v?)(\d[\w.+]{0,40})"
)
_BEGIN: Final = searches(r"Load weight begin\. avail mem=([\d.]{1,12}) (GB)")
_END: Final = searches(r"Load weight end\..{0,300}?avail mem=([\d.]{1,12}) (GB)")
_USED: Final = searches(r"Load weight end\..{0,300}?mem usage=([\d.]{1,12}) (GB)")
_KEYS: Final = searches(r"#tokens: (\d{1,12}), K size: ([\d.]{1,12}) GB, V size: ([\d.]{1,12}) GB")
_LATENT: Final = searches(r"#tokens:? (\d{1,12}), (?:KV size:?|K\+V size) ([\d.]{1,12}) GB")
_STATE: Final = searches(
    r"Mamba Cache is allocated.{0,200}?conv_state size: ([\d.]{1,12}) ?GB.{0,80}?"
    r"ssm_state size: ([\d.]{1,12}) ?GB"
)
_POOL_END: Final = searches(r"Memory pool end\. avail mem=([\d.]{1,12}) (GB)")
_GRAPHS: Final = searches(r"Capture cuda graph end\..{0,80}?mem usage=([\d.]{1,12}) (GB)")
_TOTAL: Final = searches(r"max_total_num_tokens=(\d{1,12})")
_OUT_OF_MEMORY: Final = re.compile(r"OutOfMemoryError|CUDA out of memory|Not enough memory")
_DTYPE: Final = searches(r"Load weight end\..{0,200}?dtype=torch\.(\w{1,20})")


def read(lines: Sequence[str]) -> StartLog:
    """Return what all ranks together say: the largest weights, the smallest pool."""
    pools = [(count_of(m[1]), size_of(m[2], "GB"), size_of(m[3], "GB")) for m in _KEYS(lines)]
    sizes = [keys + values for _, keys, values in pools if keys is not None and values is not None]
    sizes += [s for m in _LATENT(lines) if (s := size_of(m[2], "GB")) is not None]
    tokens = [each[0] for each in pools] + [count_of(m[1]) for m in _LATENT(lines)]
    states = [
        conv + ssm
        for m in _STATE(lines)
        if (conv := size_of(m[1], "GB")) is not None and (ssm := size_of(m[2], "GB")) is not None
    ]
    begin = largest(size_of(m[1], m[2]) for m in _BEGIN(lines))
    end = smallest(size_of(m[1], m[2]) for m in _END(lines))
    used = largest(size_of(m[1], m[2]) for m in _USED(lines))
    if used is None and begin is not None and end is not None:
        used = max(begin - end, 0.0)
    pool_tokens = last(float(t) for t in tokens if t is not None)
    total = last(number_of(m[1]) for m in _TOTAL(lines))
    failed = not sizes and any(_OUT_OF_MEMORY.search(line) for line in lines)
    return StartLog(
        engine="sglang",
        version=next((m[1].rstrip(".") for m in _VERSION(lines)), ""),
        model=setting(lines, "model_path", "model"),
        gpu=card_named(lines),
        memory_fraction=number_of(setting(lines, "mem_fraction_static")) or None,
        tensor=count_of(setting(lines, "tp_size", "tp")),
        pipeline=count_of(setting(lines, "pp_size")),
        quantization=setting(lines, "quantization"),
        dtype=next((m[1] for m in _DTYPE(lines)), ""),
        kv_dtype=setting(lines, "kv_cache_dtype"),
        max_model_tokens=count_of(setting(lines, "context_len", "context_length")),
        max_sequences=count_of(setting(lines, "max_running_requests")),
        max_batched_tokens=count_of(setting(lines, "chunked_prefill_size")),
        max_total_tokens=count_of(setting(lines, "max_total_tokens")),
        eager={"True": True, "False": False}.get(setting(lines, "disable_cuda_graph")),
        weights_bytes=used,
        graphs_bytes=largest(size_of(m[1], m[2]) for m in _GRAPHS(lines)),
        state_bytes=largest(states),
        kv_pool_bytes=smallest(sizes),
        free_after_load_bytes=end,
        kv_tokens=None if (held := pool_tokens or total) is None else int(held),
        outcome="oom" if failed else "ok",
    )
