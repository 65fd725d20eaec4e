"""The start-up log of llama.cpp, its fork ik_llama.cpp, and Ollama, which runs it.

Source: github:ggml-org/llama.cpp src/llama-model.cpp, src/llama-kv-cache.cpp,
src/llama-memory-recurrent.cpp, src/llama-context.cpp.
"""

import re
from collections.abc import Sequence
from typing import Final

from caudal.calibrate.start_logs.cards import card_named
from caudal.calibrate.start_logs.lines import last_count, searches, size_of
from caudal.calibrate.start_logs.start_log import StartLog

MARKS: Final = re.compile(
    r"llama_|llm_load_|load_tensors:|print_info:|ggml_cuda_init|KV self size|model buffer size",
    re.ASCII,
)
_HOST: Final = re.compile(r"CPU|Host|BLAS|host", re.ASCII)
_BUILD: Final = searches(r"(?:build:? (?:= )?|version: )b?(\d{3,6})(?: \(|\b)")
_FILE: Final = searches(r"key-value pairs and \d{1,7} tensors from (\S.{0,400}?)(?: \(version|$)")
_NAME: Final = searches(r"(?:general\.name\s*=|general\.name str\s+=) *(\S.{0,120}?)\s*$")
_FILE_TYPE: Final = searches(r"(?:file type|model ftype)\s+= (\S.{0,40}?)\s*$")
_MODEL_BUFFER: Final = searches(
    r"(\S{1,40}) (?:model )?buffer size\s*= *([\d.]{1,12}) (MiB)", holding="buffer size"
)
_NOT_WEIGHTS: Final = re.compile(r"KV buffer|RS buffer|compute buffer|output buffer", re.ASCII)
_COMPUTE: Final = searches(
    r"(\S{1,40}) compute buffer size\s*(?:=|of) *([\d.]{1,12}) (MiB)", holding="compute buffer"
)
_KV_BUFFER: Final = searches(
    r"(\S{1,40}) KV buffer size\s*= *([\d.]{1,12}) (MiB)", holding="KV buffer"
)
_KV_SIZE: Final = searches(
    r"(?:KV self size|llama_kv_cache\w*: size|KV size)\s*= *([\d.]{1,12}) (MiB)"
)
_KV_TYPES: Final = searches(r"K \((\w{2,8})\):.{0,40}V \((\w{2,8})\)")
_LATENT_TYPE: Final = searches(r"c\^KV \((\w{2,8})\)")
_STATE: Final = searches(r"llama_memory_recurrent: size = *([\d.]{1,12}) (MiB)")
_CONTEXT: Final = searches(r"n_ctx\s+= *(\d{1,9})")
_SLOTS: Final = searches(r"(?:n_seq_max|n_parallel|n_slots)\s*= *(\d{1,6})")
_BATCH: Final = searches(r"n_batch\s+= *(\d{1,9})")
_MICRO: Final = searches(r"n_ubatch\s+= *(\d{1,9})")
_FLASH: Final = searches(r"flash_attn\s+= *(\w{1,8})")
_FREE: Final = searches(r"using device (\w{1,12}) \([^)]{1,80}\).{0,30}? - (\d{1,9}) (MiB) free")
_OUT_OF_MEMORY: Final = re.compile(
    r"out of memory|failed to allocate .{0,40}buffer|unable to allocate .{0,40}buffer"
)


def read(lines: Sequence[str]) -> StartLog:
    """Return totals over all devices; compute buffers are those of the GPU with the largest."""
    weights = [
        (m[1], size_of(m[2], m[3]))
        for m in _MODEL_BUFFER([line for line in lines if not _NOT_WEIGHTS.search(line)])
    ]
    compute = [(m[1], size_of(m[2], m[3])) for m in _COMPUTE(lines)]
    kept = [(m[1], size_of(m[2], m[3])) for m in _KV_BUFFER(lines)]
    totals = [size for m in _KV_SIZE(lines) if (size := size_of(m[1], m[2])) is not None]
    on_gpus = [size for name, size in kept if size is not None and not _HOST.search(name)]
    free = {m[1]: size_of(m[2], m[3]) for m in _FREE(lines)}
    failed = any(_OUT_OF_MEMORY.search(line) for line in lines)
    slots = last_count(m[1] for m in _SLOTS(lines))
    return StartLog(
        engine=_engine(lines),
        version=next((m[1] for m in _BUILD(lines)), ""),
        model=_model(lines),
        gpu=card_named(lines),
        gpus=len(free) or None,
        quantization=next((m[1] for m in _FILE_TYPE(lines)), ""),
        kv_dtype=_kv_dtype(lines),
        max_model_tokens=last_count(m[1] for m in _CONTEXT(lines)),
        max_sequences=slots,
        max_batched_tokens=last_count(m[1] for m in _BATCH(lines)),
        micro_batch_tokens=last_count(m[1] for m in _MICRO(lines)),
        flash_attention=_flash(lines),
        weights_bytes=sum(sizes) if (sizes := [size for _, size in weights if size]) else None,
        host_weights_bytes=sum(size for name, size in weights if size and _HOST.search(name)),
        activation_bytes=max(
            (size for name, size in compute if size is not None and not _HOST.search(name)),
            default=None,
        ),
        state_bytes=next((size_of(m[1], m[2]) for m in _STATE(lines)), None),
        kv_pool_bytes=sum(totals) if totals else (sum(on_gpus) if on_gpus else None),
        outcome="oom" if failed and not compute else "ok",
    )


def _engine(lines: Sequence[str]) -> str:
    return (
        "ollama"
        if any("ollama" in line or "source=server.go" in line for line in lines)
        else ("llama.cpp")
    )


def _model(lines: Sequence[str]) -> str:
    file = next((m[1] for m in _FILE(lines)), "")
    stem = re.split(r"[/\\]", file)[-1]
    if stem.endswith(".gguf"):
        return file
    return next((m[1] for m in _NAME(lines)), file)


def _kv_dtype(lines: Sequence[str]) -> str:
    for found in _KV_TYPES(lines):
        keys, values = found[1].lower(), found[2].lower()
        return keys if keys == values else f"{keys}/{values}"
    return next((m[1].lower() for m in _LATENT_TYPE(lines)), "")


def _flash(lines: Sequence[str]) -> bool | None:
    found = next((m[1] for m in _FLASH(lines)), "")
    return {"1": True, "enabled": True, "true": True, "0": False, "disabled": False}.get(found)
