"""Start-up figures of real servers, read from JSON lines, and what each row pins down."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GIB

_NUMBERS: Final = (
    "kv_bytes_per_token",
    "weights_gib",
    "kv_cache_gib",
    "max_concurrency",
    "gpu_mem_gib",
    "gpu_memory_utilization",
    "mem_fraction_static",
    "kv_free_fraction",
    "free_before_kv_gib",
    "avail_after_load_gib",
    "recurrent_state_gib",
    "needed_kv_gib",
)
# Printed once a device; read where there is one device only.
_OF_ONE_DEVICE: Final = ("gpu_weight_buffers_gib", "compute_buffer_gib")
_COUNTS: Final = (
    "tp",
    "n_gpus",
    "kv_tokens",
    "gpu_blocks",
    "block_size",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_total_tokens",
    "n_ubatch",
    "mla_attn",
)
_TEXTS: Final = (
    "engine_version",
    "gpu",
    "gpu_guess",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "kv_scope",
    "offloaded_layers",
    "quote",
    "notes",
    "source",
)
_FLAGS: Final = ("enforce_eager", "flash_attn", "model_inferred", "tp_inferred")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One server's start-up figures, in the file's own units; what it doesn't say is missing."""

    id: str
    engine: str
    model: str
    outcome: str  # "ok", "oom", "kv_too_small"
    numbers: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a text, "" where the row has none."""
        return self.texts.get(name, "")

    def flag(self, name: str) -> bool:
        """Return a flag, False where the row has none."""
        return self.flags.get(name, False)

    def gib(self, name: str) -> float | None:
        """Return a figure in GiB as bytes."""
        value = self.numbers.get(name)
        return None if value is None else value * GIB


def read_memory_rows(lines: Iterable[str], *, file: str) -> tuple[MemoryRow, ...]:
    """Return the rows of a JSON-lines file, in order.

    Raises:
        InvalidFactError: a line is no row; the message says which line and field.
    """
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _wrong(file, number, f"is no JSON: {error}") from error
        if not isinstance(entry, dict):
            raise _wrong(file, number, "is no JSON object")
        rows.append(_row(entry, file=file, line=number))
    return tuple(rows)


def _row(entry: Mapping[str, object], *, file: str, line: int) -> MemoryRow:
    def text(name: str) -> str:
        value = entry.get(name)
        if not isinstance(value, str):
            raise _wrong(file, line, f"has no text under {name!r}")
        return value

    numbers = {name: _number(entry, name, file, line) for name in _NUMBERS if _has(entry, name)}
    for name in _OF_ONE_DEVICE:
        listed = entry.get(name)
        if isinstance(listed, list) and len(listed) == 1:
            numbers[name] = _number({name: listed[0]}, name, file, line)
    counts = {
        name: round(_number(entry, name, file, line)) for name in _COUNTS if _has(entry, name)
    }
    return MemoryRow(
        id=text("id"),
        engine=text("engine"),
        model=text("model"),
        outcome=text("outcome"),
        numbers=numbers,
        counts=counts,
        texts={name: str(entry[name]) for name in _TEXTS if _has(entry, name)},
        flags={name: entry[name] is True for name in _FLAGS if _has(entry, name)},
    )


def _has(entry: Mapping[str, object], name: str) -> bool:
    return entry.get(name) is not None


def _number(entry: Mapping[str, object], name: str, file: str, line: int) -> float:
    value = entry[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(file, line, f"has no number under {name!r}: {value!r}")
    return float(value)


def _wrong(file: str, line: int, what: str) -> InvalidFactError:
    return InvalidFactError(
        f"{file}: line {line} {what}.", remedy="Give one JSON object a line, as the README says."
    )
