"""The engines that Caudal knows, by range of versions, read from `data/engines/*.toml`.

An engine's file has what all its versions share, then one `[[versions]]` table a range, oldest
first; each range starts from the one before it and names what changed.
"""

import pkgutil
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Final

from caudal.facts.engine import BatchTier, EngineSpec, StaticReserve
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_formats, weight_format, weight_formats
from caudal.facts.source import Source
from caudal.vocabulary.errors import UnknownEngineError
from caudal.vocabulary.units import GIB, MIB, Bytes, Tokens

# The order in which engines are listed and tried.
_FILES: Final = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "ollama")
_ALIASES: Final = {
    "trtllm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm",
    "tensorrtllm": "tensorrt-llm",
    "tensorrt": "tensorrt-llm",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "llama-server": "llama.cpp",
    "ollama/llama.cpp": "ollama",
}


def engines() -> tuple[EngineSpec, ...]:
    """Return the newest range of every engine."""
    return tuple(_ranges(name)[-1] for name in _FILES)


def engine_ranges(name: str) -> tuple[EngineSpec, ...]:
    """Return every range of versions of one engine, oldest first.

    Raises:
        UnknownEngineError: no engine has this name.
    """
    return _ranges(_canonical(name))


def usual_engine(model: ModelSpec) -> EngineSpec:
    """Return the engine to assume where none is named: what reads the model's own files.

    vLLM, which most of the measured servers run; llama.cpp for a GGUF file.
    """
    gguf = weight_format(model.checkpoint.weight_format).is_gguf
    return engine("llama.cpp" if gguf else "vllm")


def engine(name: str, version: str | None = None) -> EngineSpec:
    """Return the engine's defaults at `version`, the newest where none is given.

    `name` may carry the version ("vllm 0.8.5", "vllm==0.10", "llama.cpp b6800").

    Raises:
        UnknownEngineError: no engine has this name, or no range holds this version.
    """
    name = re.sub(r"\(.*\)", "", name)  # "llama.cpp (CUDA)": the backend is the GPU's affair
    parts = re.split(r"[\s=@:]+", name.strip(), maxsplit=1)
    if version is None and len(parts) == 2 and _is_known(parts[0]):
        name, version = parts
    ranges = engine_ranges(name)
    if version is None or version.strip().casefold() in {"", "latest", "newest"}:
        return ranges[-1]
    numbers = version_numbers(version)
    for spec in reversed(ranges):
        if numbers and _holds(spec, numbers):
            return spec
    known = ", ".join(spec.versions for spec in ranges)
    raise UnknownEngineError(
        f"{ranges[-1].name} {version}",
        known=(),
        hint=f"Known versions of {ranges[-1].title}: {known}.",
    )


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version's release part: "v0.8.5.post1" and "b6800" are understood."""
    release = re.match(r"[vb]?(\d+(?:\.\d+)*)", version.strip().casefold())
    return tuple(map(int, release[1].split("."))) if release else ()


def version_within(version: str, *, first: str, last: str) -> bool:
    """Return whether `version` lies in a range; "" as an end leaves that end open.

    The end "0.7" holds every 0.7.x.
    """
    numbers = version_numbers(version)
    lowest, highest = version_numbers(first), version_numbers(last)
    return _padded(numbers, lowest) >= lowest and (
        not highest or _padded(numbers, highest)[: len(highest)] <= highest
    )


def _holds(spec: EngineSpec, numbers: tuple[int, ...]) -> bool:
    text = ".".join(map(str, numbers))
    return version_within(text, first=spec.first_version, last=spec.last_version)


def _padded(numbers: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return numbers + (0,) * (len(other) - len(numbers))


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "-")


def _is_known(name: str) -> bool:
    return _folded(name) in _ALIASES or _folded(name) in _FILES


def _canonical(name: str) -> str:
    folded = _ALIASES.get(_folded(name), _folded(name))
    if folded not in _FILES:
        raise UnknownEngineError(
            name, known=(*_FILES, *_ALIASES), hint=f"Engines are {', '.join(_FILES)}."
        )
    return folded


@cache
def _ranges(name: str) -> tuple[EngineSpec, ...]:
    raw = pkgutil.get_data("caudal.facts", f"data/engines/{name}.toml")
    assert raw is not None, f"engines/{name}.toml is not part of the installation"
    tables = tomllib.loads(raw.decode("utf-8"))
    shared = {key: value for key, value in tables.items() if key != "versions"}
    ranges: list[EngineSpec] = []
    row: dict[str, object] = shared
    for changes in tables["versions"]:
        row = row | changes
        ranges.append(_spec(name, row))
    return tuple(ranges)


def _spec(name: str, row: Mapping[str, object]) -> EngineSpec:
    tiers = tuple(_tier(tier) for tier in _tables(row, "tiers"))
    low, typical, high = _gib_range(row, "non_torch_gib")
    collective_low, collective, collective_high = _gib_range(row, "collective_gib")
    weights = frozenset(entry.name for entry in weight_formats() if name in entry.engines)
    kvs = frozenset(entry.name for entry in kv_formats() if name in entry.engines)
    fraction = row.get("memory_fraction")
    assert fraction is None or isinstance(fraction, float), fraction
    return EngineSpec(
        name=name,
        title=str(row["title"]),
        first_version=str(row["first"]),
        last_version=str(row.get("last", "")),
        memory_fraction=fraction,
        block_tokens=Tokens(_count(row, "block_tokens")),
        max_sequences=tiers[0].max_sequences,
        max_batched_tokens=tiers[0].max_batched_tokens,
        chunked_prefill=row["chunked_prefill"] is True,
        prefix_caching=row["prefix_caching"] is True,
        graph_bytes_profiled=row["graphs_profiled"] is True,
        non_torch_bytes=typical,
        collective_bytes=collective,
        weight_formats=weights - frozenset(_texts(row, "without_weight_formats")),
        kv_formats=kvs - frozenset(_texts(row, "without_kv_formats")),
        supports_tensor_parallel=row["tensor_parallel"] is True,
        supports_pipeline_parallel=row["pipeline_parallel"] is True,
        source=_source(row),
        non_torch_range_bytes=(low, high),
        collective_range_bytes=(collective_low, collective_high),
        tiers=tiers,
        reserve=_reserve(row.get("reserve")),
        chunked_above_context_tokens=_optional_tokens(row, "chunked_above_context_tokens"),
        latent_cached=row.get("latent_cached", True) is True,
        collective_profiled=row.get("collective_profiled", True) is True,
        micro_batch_tokens=_optional_tokens(row, "micro_batch_tokens"),
        context_shared=row.get("context_shared", False) is True,
        slots_share_context=row.get("slots_share_context", False) is True,
        supports_expert_parallel=row.get("expert_parallel", False) is True,
        wants_share_free=row.get("wants_share_free", False) is True,
        input_on_host=row.get("input_on_host", False) is True,
        flash_attention=row.get("flash_attention", True) is True,
        splits_by_layer=row.get("splits_by_layer", False) is True,
        notes=_texts(row, "notes"),
    )


def _tier(row: Mapping[str, object]) -> BatchTier:
    graphs = _count(row, "graph_sequences")
    return BatchTier(
        from_memory_bytes=Bytes(_count(row, "from_memory_gib") * GIB),
        excludes=_texts(row, "excludes"),
        max_sequences=_count(row, "max_sequences"),
        max_batched_tokens=Tokens(_count(row, "max_batched_tokens")),
        graph_sequences=graphs,
        graph_sequences_from_tp4=_count(row, "graph_sequences_from_tp4")
        if "graph_sequences_from_tp4" in row
        else graphs,
        context_tokens=_optional_tokens(row, "context_tokens"),
    )


def _reserve(row: object) -> StaticReserve | None:
    if row is None:
        return None
    assert isinstance(row, dict)

    def mib(key: str) -> Bytes:
        return Bytes(round(_number(row, key) * MIB))

    return StaticReserve(
        constant_bytes=mib("constant_mib"),
        bytes_per_batched_token=mib("mib_per_batched_token"),
        bytes_per_graph_sequence=mib("mib_per_graph_sequence"),
        bytes_per_gpu=mib("mib_per_gpu"),
        floor_bytes=mib("floor_mib"),
        floor_above_bytes=mib("floor_above_mib"),
    )


def _source(row: Mapping[str, object]) -> Source:
    where, read_on = row["source"], row["read_on"]
    assert isinstance(where, str)
    assert isinstance(read_on, date)
    return Source(where, read_on)


def _gib_range(row: Mapping[str, object], key: str) -> tuple[Bytes, Bytes, Bytes]:
    """Return low, typical and high of a table `{ low, typical, high }` in GiB."""
    table = row[key]
    assert isinstance(table, dict), key
    low, typical, high = (
        Bytes(round(_number(table, part) * GIB)) for part in ("low", "typical", "high")
    )
    assert low <= typical <= high, f"{key} is disordered: {table}"
    return low, typical, high


def _tables(row: Mapping[str, object], key: str) -> Sequence[Mapping[str, object]]:
    tables = row[key]
    assert isinstance(tables, list), key
    return tables


def _count(row: Mapping[str, object], key: str) -> int:
    value = row[key]
    assert isinstance(value, int), f"{key} is no whole number: {row}"
    return value


def _number(row: Mapping[str, object], key: str) -> float:
    value = row[key]
    assert isinstance(value, int | float), f"{key} is no number: {row}"
    return float(value)


def _optional_tokens(row: Mapping[str, object], key: str) -> Tokens | None:
    return Tokens(_count(row, key)) if key in row else None


def _texts(row: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    assert isinstance(value, list), f"{key} is no list: {row}"
    return tuple(str(item) for item in value)
