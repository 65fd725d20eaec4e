"""Stacks with Mamba layers: Jamba, Nemotron-H, Granite 4, Falcon-H1 and Zamba2."""

from collections.abc import Iterable
from typing import Final

from caudal.facts.model import DenseFeedForward, FeedForward, GroupedQueryAttention, Layer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import grouped_query, read_heads
from caudal.facts.readers.families.feed_forward import (
    MixtureConventions,
    expert_count,
    read_dense,
    read_feed_forwards,
    read_mixture,
)
from caudal.facts.readers.families.recurrent import mamba1, mamba2
from caudal.facts.readers.families.shape import (
    Shape,
    context_length,
    hidden_size,
    layer_count,
    shared,
    vocabulary_size,
)
from caudal.facts.readers.fields import ConfigFields

_NEMOTRON_LETTERS: Final = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def read_jamba(fields: ConfigFields) -> Shape:
    """Return the shape of Jamba: Mamba-1, and attention every `attn_layer_period` layers."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    period = fields.integer("attn_layer_period", within=bounds.LAYERS)
    offset = fields.integer("attn_layer_offset", within=bounds.PERIOD, default=0)
    attention = grouped_query(read_heads(fields))
    recurrent = mamba1(fields, hidden=hidden, inner_norms=True)
    feed_forwards = read_feed_forwards(fields, layers)
    return _shape(
        fields,
        hidden,
        (
            Layer(
                mixers=(attention if index % period == offset else recurrent,),
                feed_forward=feed_forward,
                norm_elements=2 * hidden,
            )
            for index, feed_forward in enumerate(feed_forwards)
        ),
    )


def read_nemotron_h(fields: ConfigFields) -> Shape:
    """Return the shape of Nemotron-H and Nemotron 3: each layer is one block and one norm.

    The blocks stand in `hybrid_override_pattern`, a letter each, or in `layers_block_type`.
    """
    hidden = hidden_size(fields)
    kinds = _nemotron_blocks(fields)
    blocks: dict[str, Layer] = {}
    if "mamba" in kinds:
        blocks["mamba"] = Layer(mixers=(mamba2(fields, hidden=hidden),), norm_elements=hidden)
    if "attention" in kinds:
        attention = grouped_query(read_heads(fields))
        blocks["attention"] = Layer(mixers=(attention,), norm_elements=hidden)
    if "mlp" in kinds:
        dense = read_dense(fields, gated=False)
        blocks["mlp"] = Layer(feed_forward=dense, norm_elements=hidden)
    if "moe" in kinds:
        mixture = read_mixture(fields, MixtureConventions(gated=False, router_bias=True))
        blocks["moe"] = Layer(feed_forward=mixture, norm_elements=hidden)
    return _shape(fields, hidden, (blocks[kind] for kind in kinds))


def _nemotron_blocks(fields: ConfigFields) -> tuple[str, ...]:
    layers = fields.optional_integer("num_hidden_layers", within=bounds.LAYERS)
    pattern = fields.text("hybrid_override_pattern", default="")
    kinds = fields.texts("layers_block_type", length=layers) or tuple(
        _NEMOTRON_LETTERS.get(letter, letter) for letter in pattern
    )
    if not kinds:
        raise fields.missing(
            ("hybrid_override_pattern", "layers_block_type"), allowed="a block for each layer"
        )
    if layers is not None and len(kinds) != layers:
        raise fields.wrong(
            "hybrid_override_pattern", list(pattern), allowed=f"{layers} letters, one a layer"
        )
    for kind in kinds:
        if kind not in _NEMOTRON_LETTERS.values():
            raise fields.wrong(
                "hybrid_override_pattern", kind, allowed="made of M, *, - and E alone"
            )
    return kinds


def read_granite_hybrid(fields: ConfigFields) -> Shape:
    """Return the shape of Granite 4: Mamba-2 or attention, then experts and a shared path.

    With `num_local_experts` 0 the shared path is the whole feed-forward.
    """
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    kinds = fields.texts("layer_types", length=layers)
    if kinds is None:
        kinds = ("mamba",) * layers
    attention = grouped_query(read_heads(fields))
    recurrent = mamba2(fields, hidden=hidden) if "mamba" in kinds else attention
    feed_forward = _granite_feed_forward(fields)
    return _shape(
        fields,
        hidden,
        (
            Layer(
                mixers=(recurrent if kind == "mamba" else attention,),
                feed_forward=feed_forward,
                norm_elements=2 * hidden,
            )
            for kind in kinds
        ),
        tied=True,
    )


def _granite_feed_forward(fields: ConfigFields) -> FeedForward:
    if expert_count(fields):
        return read_mixture(fields, MixtureConventions())
    width = fields.integer("shared_intermediate_size", within=bounds.INTERMEDIATE)
    return DenseFeedForward(intermediate=width)


def read_falcon_h1(fields: ConfigFields) -> Shape:
    """Return the shape of Falcon-H1: each layer runs attention and Mamba-2 side by side."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    mixers = (
        grouped_query(read_heads(fields)),
        mamba2(fields, hidden=hidden, gated_norm=fields.flag("mamba_rms_norm", default=False)),
    )
    layer = Layer(
        mixers=mixers, feed_forward=read_dense(fields, gated=True), norm_elements=2 * hidden
    )
    return _shape(fields, hidden, (layer,) * layers)


def read_zamba2(fields: ConfigFields) -> Shape:
    """Return the shape of Zamba2: Mamba-2 layers, some of which first pass a shared block.

    The block (attention on the state joined with the embedding, then a feed-forward) is stored
    `num_mem_blocks` times; each use has its own low-rank adapters, projection and KV cache.
    """
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    uses = fields.layer_indices("hybrid_layer_ids", layers)
    blocks = fields.integer("num_mem_blocks", within=bounds.GROUPS, default=1)
    heads = read_heads(fields, head_dim=None)
    attention = GroupedQueryAttention(
        heads=heads.heads, kv_heads=heads.kv_heads, head_dim=heads.head_dim, owns_weights=False
    )
    recurrent = mamba2(fields, hidden=hidden)
    width = fields.integer("ffn_hidden_size", "intermediate_size", within=bounds.INTERMEDIATE)
    joined = 2 * hidden
    projections = joined * (heads.heads + 2 * heads.kv_heads) * heads.head_dim
    block = projections + heads.heads * heads.head_dim * hidden + 3 * hidden * width
    rank = fields.integer("adapter_rank", within=bounds.RANK, default=128)
    adapter = hidden * rank + rank * 2 * width  # beside gate and up
    plain = Layer(mixers=(recurrent,), norm_elements=hidden)
    hybrid = Layer(
        mixers=(attention, recurrent),
        norm_elements=hidden,
        extra_parameters=hidden * hidden + adapter,
    )
    return _shape(
        fields,
        hidden,
        (hybrid if index in uses else plain for index in range(layers)),
        tied=True,
        extra_parameters=blocks * (block + joined + hidden),
    )


def _shape(
    fields: ConfigFields,
    hidden: int,
    layers: Iterable[Layer],
    *,
    tied: bool = False,
    extra_parameters: int = 0,
) -> Shape:
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=shared(layers),
        tied_embeddings=fields.flag("tie_word_embeddings", default=tied),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
        extra_parameters=extra_parameters,
    )
