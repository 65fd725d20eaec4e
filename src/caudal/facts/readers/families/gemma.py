"""Gemma 4: full layers with larger heads and few KV heads, caches shared by the last layers.

Source: transformers 5 `modeling_gemma4.py`.
"""

from typing import Final

from caudal.facts.model import (
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    Layer,
    MixtureFeedForward,
)
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import Reach, check_groups, read_heads, read_reaches
from caudal.facts.readers.families.feed_forward import (
    CHOSEN_NAMES,
    EXPERT_NAMES,
    read_dense,
)
from caudal.facts.readers.families.shape import (
    Shape,
    context_length,
    hidden_size,
    layer_count,
    shared,
    vocabulary_size,
)
from caudal.facts.readers.fields import ConfigFields

NORMS: Final = 4  # before and after attention and feed-forward
EXPERT_NORMS: Final = 3  # more of them around the experts, which stand beside the dense path


def read_gemma4(fields: ConfigFields) -> Shape:
    """Return the shape of Gemma 4."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    reaches = read_reaches(fields, layers, pattern=6)
    name = "num_kv_shared_layers"
    shared_layers = fields.integer(name, within=bounds.PERIOD, default=0)
    if shared_layers >= layers:
        raise fields.wrong(name, shared_layers, allowed=f"less than the {layers} layers")
    shared_from = layers - shared_layers
    wide = fields.flag("use_double_wide_mlp", default=False)
    dense = read_dense(fields, gated=True)
    double = DenseFeedForward(intermediate=2 * dense.intermediate)
    per_layer = fields.integer(
        "hidden_size_per_layer_input", within=bounds.WIDTH_OR_NONE, default=0
    )
    mixture = _experts(fields, dense)
    extra = 2 * hidden * per_layer + (hidden if per_layer else 0) + 1  # and the layer's own scale
    norms = NORMS * hidden
    if mixture is not None:  # scales of the router's input and of each expert
        norms += EXPERT_NORMS * hidden
        extra += hidden + mixture.experts
    attentions: dict[tuple[Reach, bool], GroupedQueryAttention] = {}
    stack = []
    for index, reach in enumerate(reaches):
        owns = index < shared_from
        attention = attentions.get((reach, owns))
        if attention is None:
            attention = attentions[reach, owns] = _attention(fields, reach, owns_kv=owns)
        feed_forward: FeedForward = mixture or (double if wide and not owns else dense)
        stack.append(
            Layer(
                mixers=(attention,),
                feed_forward=feed_forward,
                norm_elements=norms,
                extra_parameters=extra,
            )
        )
    table = fields.integer("vocab_size_per_layer_input", within=bounds.VOCABULARY, default=262_144)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields, default=262_144),
        layers=shared(stack),
        tied_embeddings=fields.flag("tie_word_embeddings", default=True),
        max_context_tokens=context_length(fields, default=131_072),
        final_norm_elements=hidden,
        per_layer_embedding_parameters=table * layers * per_layer,
        extra_parameters=hidden * layers * per_layer + per_layer,  # projects the embedding
    )


def _attention(fields: ConfigFields, reach: Reach, *, owns_kv: bool) -> GroupedQueryAttention:
    heads = read_heads(fields)
    dim, kv_heads, key_is_value = heads.head_dim, heads.kv_heads, False
    if reach.window_tokens is None:
        dim = fields.integer("global_head_dim", within=bounds.HEAD_DIM, default=dim)
        name = "num_global_key_value_heads"
        kv_heads = fields.integer(name, within=bounds.HEADS, default=kv_heads)
        check_groups(fields, name, heads=heads.heads, kv_heads=kv_heads)
        key_is_value = fields.flag("attention_k_eq_v", default=False)
    return GroupedQueryAttention(
        heads=heads.heads,
        kv_heads=kv_heads,
        head_dim=dim,
        window_tokens=reach.window_tokens,
        owns_kv=owns_kv,
        key_is_value=key_is_value,
        query_key_norm_elements=2 * dim if owns_kv else dim,
    )


def _experts(fields: ConfigFields, dense: DenseFeedForward) -> MixtureFeedForward | None:
    if not fields.flag("enable_moe_block", default=False):
        return None
    experts = fields.integer(*EXPERT_NAMES, within=bounds.EXPERTS)
    chosen = fields.integer(*CHOSEN_NAMES, within=bounds.EXPERTS)
    if not 1 <= chosen <= experts:
        raise fields.wrong("top_k_experts", chosen, allowed=f"from 1 to the {experts} experts")
    width = fields.integer(
        "moe_intermediate_size", "expert_intermediate_size", within=bounds.INTERMEDIATE
    )
    return MixtureFeedForward(
        experts=experts,
        experts_per_token=chosen,
        expert_intermediate=width,
        parallel_dense_intermediate=dense.intermediate,
    )
