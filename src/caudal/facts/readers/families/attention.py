"""Attention as files describe it: heads, biases, norms and which tokens each layer reads."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from caudal.facts.model import GroupedQueryAttention
from caudal.facts.readers import bounds
from caudal.facts.readers.families.shape import context_length, hidden_size
from caudal.facts.readers.fields import ConfigFields
from caudal.vocabulary.units import Tokens

HEAD_NAMES: Final = ("num_attention_heads", "n_head", "n_heads")
KV_HEAD_NAMES: Final = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "num_attention_groups",
)
HEAD_DIM_NAMES: Final = ("head_dim", "kv_channels", "attention_head_dim")


class QueryKeyNorm(StrEnum):
    """What the norms on queries and keys share their weights over."""

    NONE = "none"
    HEAD = "head"  # one vector of head_dim for all heads (Qwen3, Gemma 3)
    PROJECTION = "projection"  # a weight for each head and element (OLMo 2, Command R+)


@dataclass(frozen=True, slots=True)
class Heads:
    """How attention is divided."""

    heads: int
    kv_heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class Reach:
    """Which tokens one layer reads: all (both None), a sliding window, or its own chunk."""

    window_tokens: Tokens | None = None
    chunk_tokens: Tokens | None = None


FULL: Final = Reach()


def read_heads(
    fields: ConfigFields,
    *,
    head_dim: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
) -> Heads:
    """Return the heads, with what the file leaves out: head_dim is hidden ÷ heads, KV heads heads.

    Raises:
        InvalidModelFileError: the heads do not divide the hidden size, or the KV heads the heads.
    """
    query_heads = fields.integer(*HEAD_NAMES, within=bounds.HEADS, default=heads)
    name = present(fields, KV_HEAD_NAMES)
    shared_heads = fields.integer(
        *KV_HEAD_NAMES, within=bounds.HEADS, default=query_heads if kv_heads is None else kv_heads
    )
    check_groups(fields, name, heads=query_heads, kv_heads=shared_heads)
    dim = fields.optional_integer(*HEAD_DIM_NAMES, within=bounds.HEAD_DIM) or head_dim
    if dim is None:
        hidden = hidden_size(fields)
        if hidden % query_heads:
            raise fields.wrong(
                present(fields, HEAD_NAMES),
                query_heads,
                allowed=f"a divisor of the hidden size {hidden:,} where no head_dim is given",
            )
        dim = hidden // query_heads
    return Heads(query_heads, shared_heads, dim)


def check_groups(fields: ConfigFields, name: str, *, heads: int, kv_heads: int) -> None:
    """Refuse KV heads that do not divide the heads: each serves a group of equal size."""
    if kv_heads > heads or heads % kv_heads:
        raise fields.wrong(name, kv_heads, allowed=f"a divisor of the {heads} attention heads")


def present(fields: ConfigFields, names: tuple[str, ...]) -> str:
    """Return which of a field's names the file uses."""
    return next((name for name in names if fields.has(name)), names[0])


def grouped_query(
    heads: Heads,
    *,
    reach: Reach = FULL,
    norm: QueryKeyNorm = QueryKeyNorm.NONE,
    query_key_value_bias: bool = False,
    output_bias: bool = False,
    output_gate: int = 0,
    sinks: int = 0,
) -> GroupedQueryAttention:
    """Return the attention of one layer."""
    match norm:
        case QueryKeyNorm.NONE:
            norm_elements = 0
        case QueryKeyNorm.HEAD:
            norm_elements = 2 * heads.head_dim
        case QueryKeyNorm.PROJECTION:
            norm_elements = (heads.heads + heads.kv_heads) * heads.head_dim
    return GroupedQueryAttention(
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        window_tokens=reach.window_tokens,
        chunk_tokens=reach.chunk_tokens,
        query_key_value_bias=query_key_value_bias,
        output_bias=output_bias,
        query_key_norm_elements=norm_elements,
        output_gate_elements_per_head=output_gate,
        sink_elements=sinks,
    )


def read_reaches(
    fields: ConfigFields, layers: int, *, pattern: int | None = None
) -> tuple[Reach, ...]:
    """Return what each layer reads.

    `layer_types` says it; else every `sliding_window_pattern`th layer is full (`pattern` where
    the family's code fixes it); else a sliding window is used on all layers, or on those from
    `max_window_layers` on (Qwen2), unless `use_sliding_window` is false. A window that is not
    shorter than the context has no effect and is left out.
    """
    window = fields.optional_integer("sliding_window", within=bounds.CONTEXT)
    if not fields.flag("use_sliding_window", default=True) or (
        window is not None and window >= context_length(fields, default=bounds.CONTEXT.most)
    ):
        window = None
    sliding = FULL if window is None else Reach(window_tokens=Tokens(window))
    types = fields.texts("layer_types", length=layers)
    if types is not None:
        return tuple(_typed_reach(fields, kind, sliding) for kind in types)
    if window is None:
        return (FULL,) * layers
    period = _period(fields) or pattern
    if period:
        return tuple(FULL if (index + 1) % period == 0 else sliding for index in range(layers))
    first = 0
    if fields.has("use_sliding_window"):
        first = fields.integer("max_window_layers", within=bounds.PERIOD, default=0)
    return tuple(sliding if index >= first else FULL for index in range(layers))


def _period(fields: ConfigFields) -> int | None:
    if fields.is_text("sliding_window_pattern"):  # EXAONE 4 writes "LLLG"
        return len(fields.text("sliding_window_pattern", default=""))
    return fields.optional_integer("sliding_window_pattern", within=bounds.PERIOD)


def _typed_reach(fields: ConfigFields, kind: str, sliding: Reach) -> Reach:
    match kind:
        case "full_attention" | "attention" | "linear_attention" | "mamba":
            return FULL
        case "sliding_attention":
            return sliding
        case "chunked_attention":
            chunk = fields.integer("attention_chunk_size", within=bounds.CONTEXT)
            return Reach(chunk_tokens=Tokens(chunk))
        case _:
            raise fields.wrong(
                "layer_types",
                kind,
                allowed="full_attention, sliding_attention, chunked_attention, linear_attention, "
                "attention or mamba",
            )
