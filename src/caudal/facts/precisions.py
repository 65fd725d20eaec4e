"""The weight and KV formats that Caudal knows, read from `data/precisions.toml`.

A GGUF mix names a block type for each tensor class; here it becomes bits per role. The file's
head explains its tables.
"""

import pkgutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, TypeVar

from caudal.facts.precision import Arithmetic, KvFormat, Role, WeightFormat
from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidFactError, UnknownPrecisionError

_FILE: Final = "precisions.toml"
_GGUF_ENGINES: Final = frozenset({"llama.cpp", "ollama"})
# llama.cpp writes one-dimensional tensors and routers in F32, projectors for images in F16.
_GGUF_FIXED_BITS: Final = {
    Role.NORM: 32.0,
    Role.ROUTER: 32.0,
    Role.POSITION: 32.0,
    Role.VISION: 16.0,
    Role.OTHER: 16.0,
}
_Format = TypeVar("_Format", bound=WeightFormat | KvFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufBlock:
    """One of llama.cpp's block types."""

    name: str
    id: int  # how a GGUF file names it
    weights: int
    bytes: int

    @property
    def bits(self) -> float:
        """Return the bits that one weight occupies, scales included."""
        return self.bytes * 8 / self.weights


def weight_formats() -> tuple[WeightFormat, ...]:
    """Return every weight format, in the order of the data file."""
    return _catalogue().weights


def kv_formats() -> tuple[KvFormat, ...]:
    """Return every KV format, in the order of the data file."""
    return _catalogue().kvs


def weight_format(name: str) -> WeightFormat:
    """Return the weight format called `name`, by its own name or an alias, in any case.

    Raises:
        UnknownPrecisionError: no weight format has this name; the remedy names the nearest.
    """
    found = _catalogue().weight_names.get(_folded(name))
    if found is None:
        raise UnknownPrecisionError(name, known=_written(weight_formats()))
    return found


def kv_format(name: str) -> KvFormat:
    """Return the KV format called `name`, by its own name or an alias, in any case.

    Raises:
        UnknownPrecisionError: no KV format has this name; the remedy names the nearest.
    """
    found = _catalogue().kv_names.get(_folded(name))
    if found is None:
        known = ", ".join(kv.name for kv in kv_formats())
        raise UnknownPrecisionError(
            name, known=_written(kv_formats()), hint=f"KV formats are {known}."
        )
    return found


def gguf_blocks() -> Mapping[str, GgufBlock]:
    """Return llama.cpp's block types by name ("q4_k", "iq3_xxs", "f16" ...)."""
    return _catalogue().blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    weights: tuple[WeightFormat, ...]
    kvs: tuple[KvFormat, ...]
    weight_names: Mapping[str, WeightFormat]
    kv_names: Mapping[str, KvFormat]
    blocks: Mapping[str, GgufBlock]


@cache
def _catalogue() -> _Catalogue:
    raw = pkgutil.get_data("caudal.facts", f"data/{_FILE}")
    assert raw is not None, f"{_FILE} is not part of the installation"
    tables = tomllib.loads(raw.decode("utf-8"))
    blocks = {name: GgufBlock(name=name, **row) for name, row in tables["blocks"].items()}
    sources = {name: _source(row) for name, row in tables["sources"].items()}
    kept = {name: frozenset(map(Role, roles)) for name, roles in tables["kept"].items()}
    weights = (
        *(_plain(row, kept, sources) for row in tables["weight"]),
        *(_mix(row, blocks, sources["gguf"]) for row in tables["gguf"]),
        *(_average(row, sources) for row in tables["average"]),
    )
    kvs = tuple(_kv(row, sources) for row in tables["kv"])
    return _Catalogue(
        weights=weights,
        kvs=kvs,
        weight_names=_by_name(weights),
        kv_names=_by_name(kvs),
        blocks=blocks,
    )


def _source(row: Mapping[str, object]) -> Source:
    where, read_on = row["where"], row["read_on"]
    assert isinstance(where, str)
    assert isinstance(read_on, date)
    return Source(where, read_on)


def _plain(
    row: Mapping[str, object], kept: Mapping[str, frozenset[Role]], sources: Mapping[str, Source]
) -> WeightFormat:
    group = row.get("group")
    assert group is None or isinstance(group, int)
    name = _text(row, "name")
    bits = _number(row, "bits")
    role_bits = {} if bits <= 16 else dict.fromkeys(Role, bits)
    return WeightFormat(
        name=name,
        title=_text(row, "title"),
        bits=bits,
        scale_bits=_number(row, "scale_bits"),
        group=group,
        arithmetic=Arithmetic(_text(row, "arithmetic")),
        activations_quantised=row["activations_quantised"] is True,
        kept_roles=kept[_text(row, "kept")],
        engines=frozenset(_texts(row, "engines")),
        aliases=_texts(row, "aliases"),
        source=sources[_text(row, "source")],
        role_bits=role_bits,
    )


def _mix(
    row: Mapping[str, object], blocks: Mapping[str, GgufBlock], source: Source
) -> WeightFormat:
    name = _text(row, "name")
    base = blocks[_text(row, "base")]

    def bits(tensor_class: str) -> float:
        recipe = row.get(tensor_class, base.name)
        if isinstance(recipe, str):
            return blocks[recipe].bits
        if not isinstance(recipe, dict) or abs(sum(recipe.values()) - 1) > 1e-9:
            raise InvalidFactError(
                f"{_FILE}: {name}: the shares of {tensor_class} do not add up to 1.",
                remedy="Give each block type its share of the layers.",
            )
        return float(sum(blocks[block].bits * share for block, share in recipe.items()))

    feed_forward = (bits("ffn_gate") + bits("ffn_up") + bits("ffn_down")) / 3
    experts = bits("experts") if "experts" in row else feed_forward
    role_bits = _GGUF_FIXED_BITS | {
        Role.EMBEDDING: bits("token_embd"),
        Role.PER_LAYER_EMBEDDING: bits("token_embd"),
        Role.HEAD: bits("output"),
        Role.QUERY: bits("attn_q"),
        Role.KEY_VALUE: (bits("attn_k") + bits("attn_v")) / 2,
        Role.ATTENTION_OUTPUT: bits("attn_output"),
        Role.DENSE: feed_forward,
        Role.SHARED_EXPERT: feed_forward,
        Role.ROUTED_EXPERT: experts,
    }
    whole_bits = float(int(base.bits))
    return WeightFormat(
        name=name,
        title=f"GGUF {name.upper()}",
        bits=whole_bits,
        scale_bits=base.bits - whole_bits,
        group=base.weights,
        arithmetic=Arithmetic.BF16,
        activations_quantised=False,
        kept_roles=frozenset(),
        engines=_GGUF_ENGINES,
        aliases=_texts(row, "aliases"),
        source=source,
        role_bits=role_bits,
        is_gguf=True,
    )


def _average(row: Mapping[str, object], sources: Mapping[str, Source]) -> WeightFormat:
    name = _text(row, "name")
    return WeightFormat(
        name=name,
        title=f"GGUF {name.upper()} (Unsloth dynamic; size differs by model)",
        bits=_number(row, "bits"),
        scale_bits=0.0,
        group=256,
        arithmetic=Arithmetic.BF16,
        activations_quantised=False,
        kept_roles=frozenset(),
        engines=_GGUF_ENGINES,
        aliases=_texts(row, "aliases"),
        source=sources[_text(row, "source")],
        role_bits={Role.VISION: 16.0},
        is_gguf=True,
    )


def _kv(row: Mapping[str, object], sources: Mapping[str, Source]) -> KvFormat:
    return KvFormat(
        name=_text(row, "name"),
        bytes_per_element=_number(row, "bytes_per_element"),
        aliases=_texts(row, "aliases"),
        engines=frozenset(_texts(row, "engines")),
        source=sources[_text(row, "source")],
    )


def _by_name(formats: Iterable[_Format]) -> Mapping[str, _Format]:
    names: dict[str, _Format] = {}
    for entry in formats:
        for name in (entry.name, *entry.aliases):
            if names.setdefault(_folded(name), entry) is not entry:
                raise InvalidFactError(
                    f"{_FILE}: {name!r} names both {names[_folded(name)].name} and {entry.name}.",
                    remedy="Let one of them have it.",
                )
    return names


def _written(formats: Iterable[WeightFormat | KvFormat]) -> list[str]:
    return [name for entry in formats for name in (entry.name, *entry.aliases)]


def _folded(name: str) -> str:
    """Return `name` without regard to case, and with `-`, `_` and spaces alike."""
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


def _text(row: Mapping[str, object], key: str) -> str:
    value = row[key]
    assert isinstance(value, str), f"{_FILE}: {key} is no text: {row}"
    return value


def _texts(row: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    assert isinstance(value, list), f"{_FILE}: {key} is no list: {row}"
    return tuple(str(item) for item in value)


def _number(row: Mapping[str, object], key: str) -> float:
    value = row[key]
    assert isinstance(value, int | float), f"{_FILE}: {key} is no number: {row}"
    return float(value)
