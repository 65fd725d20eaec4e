"""Architectures of before Llama, and others whose files use names of their own.

Source: the transformers 5 model classes; each is checked by its published parameter count.
"""

from caudal.facts.model import DenseFeedForward, FeedForward, Layer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import (
    FULL,
    Heads,
    check_groups,
    grouped_query,
    read_heads,
)
from caudal.facts.readers.families.feed_forward import MixtureConventions, read_mixture
from caudal.facts.readers.families.shape import (
    Shape,
    context_length,
    hidden_size,
    layer_count,
    vocabulary_size,
)
from caudal.facts.readers.fields import ConfigFields


def _stack(
    fields: ConfigFields,
    heads: Heads,
    feed_forward: FeedForward,
    *,
    norms: int,
    norm_width: int,
    attention_bias: bool = False,
    tied: bool,
    position_parameters: int = 0,
    extra_parameters: int = 0,
) -> Shape:
    layer = Layer(
        mixers=(
            grouped_query(
                heads,
                reach=FULL,
                query_key_value_bias=attention_bias,
                output_bias=attention_bias,
            ),
        ),
        feed_forward=feed_forward,
        norm_elements=norms * norm_width,
    )
    return Shape(
        hidden=hidden_size(fields),
        vocabulary=vocabulary_size(fields),
        layers=(layer,) * layer_count(fields),
        tied_embeddings=fields.flag("tie_word_embeddings", default=tied),
        max_context_tokens=context_length(fields),
        final_norm_elements=norm_width,
        position_parameters=position_parameters,
        extra_parameters=extra_parameters,
    )


def _four_times(fields: ConfigFields, *names: str, bias: bool) -> DenseFeedForward:
    width = fields.integer(*names, within=bounds.INTERMEDIATE, default=4 * hidden_size(fields))
    return DenseFeedForward(intermediate=width, gated=False, bias=bias)


def read_gpt2(fields: ConfigFields, *, multi_query: bool = False) -> Shape:
    """Return the shape of GPT-2, or of StarCoder with one KV head: biases, learned positions."""
    hidden = hidden_size(fields)
    heads = read_heads(fields)
    if multi_query and fields.flag("multi_query", default=True):
        heads = Heads(heads.heads, 1, heads.head_dim)
    positions = fields.integer("n_positions", "n_ctx", within=bounds.POSITIONS, default=1024)
    return _stack(
        fields,
        heads,
        _four_times(fields, "n_inner", bias=True),
        norms=2,
        norm_width=2 * hidden,
        attention_bias=True,
        tied=True,
        position_parameters=positions * hidden,
    )


def read_gptj(fields: ConfigFields) -> Shape:
    """Return the shape of GPT-J: one norm for attention and feed-forward, which run in parallel."""
    return _stack(
        fields,
        read_heads(fields),
        _four_times(fields, "n_inner", bias=True),
        norms=1,
        norm_width=2 * hidden_size(fields),
        tied=False,
        extra_parameters=vocabulary_size(fields),  # the head's bias
    )


def read_gpt_neox(fields: ConfigFields) -> Shape:
    """Return the shape of GPT-NeoX and Pythia."""
    return _stack(
        fields,
        read_heads(fields),
        _four_times(fields, "intermediate_size", bias=True),
        norms=2,
        norm_width=2 * hidden_size(fields),
        attention_bias=fields.flag("attention_bias", default=True),
        tied=False,
    )


def read_bloom(fields: ConfigFields) -> Shape:
    """Return the shape of BLOOM: a norm on the embedding, positions by ALiBi."""
    hidden = hidden_size(fields)
    return _stack(
        fields,
        read_heads(fields),
        _four_times(fields, "n_inner", bias=True),
        norms=2,
        norm_width=2 * hidden,
        attention_bias=True,
        tied=True,
        extra_parameters=2 * hidden,
    )


def read_opt(fields: ConfigFields) -> Shape:
    """Return the shape of OPT: learned positions with two more rows than the context."""
    hidden = hidden_size(fields)
    projected = fields.integer("word_embed_proj_dim", within=bounds.HIDDEN, default=hidden)
    if projected != hidden:
        raise fields.wrong("word_embed_proj_dim", projected, allowed=f"hidden_size, {hidden}")
    context = context_length(fields)
    return _stack(
        fields,
        read_heads(fields),
        _four_times(fields, "ffn_dim", bias=True),
        norms=2,
        norm_width=2 * hidden,
        attention_bias=fields.flag("enable_bias", default=True),
        tied=True,
        position_parameters=(context + 2) * hidden,
    )


def read_phi(fields: ConfigFields) -> Shape:
    """Return the shape of Phi-1.5 and Phi-2: one norm, biases everywhere, in the head too."""
    return _stack(
        fields,
        read_heads(fields),
        _four_times(fields, "intermediate_size", bias=True),
        norms=1,
        norm_width=2 * hidden_size(fields),
        attention_bias=True,
        tied=False,
        extra_parameters=vocabulary_size(fields),
    )


def read_falcon(fields: ConfigFields) -> Shape:
    """Return the shape of Falcon: multi-query, or grouped in the new decoder architecture."""
    hidden = hidden_size(fields)
    new = fields.flag("new_decoder_architecture", default=False)
    heads = fields.integer("num_attention_heads", "n_head", within=bounds.HEADS)
    kv_heads = heads
    if new:
        kv_heads = fields.integer("num_kv_heads", "n_head_kv", within=bounds.HEADS, default=heads)
    elif fields.flag("multi_query", default=True):
        kv_heads = 1
    check_groups(fields, "num_kv_heads", heads=heads, kv_heads=kv_heads)
    if hidden % heads:
        raise fields.wrong("num_attention_heads", heads, allowed=f"a divisor of {hidden:,}")
    bias = fields.flag("bias", default=False)
    parallel = fields.flag("parallel_attn", default=True)
    return _stack(
        fields,
        Heads(heads, kv_heads, hidden // heads),
        _four_times(fields, "ffn_hidden_size", bias=bias),
        norms=2 if new or not parallel else 1,
        norm_width=2 * hidden,
        attention_bias=bias,
        tied=True,
    )


def read_dbrx(fields: ConfigFields) -> Shape:
    """Return the shape of DBRX: attention and experts described in sections of their own."""
    hidden = hidden_size(fields)
    attention = fields.section("attn_config")
    experts = fields.section("ffn_config")
    if attention is None or experts is None:
        raise fields.missing(("attn_config", "ffn_config"), allowed="objects")
    heads = fields.integer("n_heads", within=bounds.HEADS)
    kv_heads = attention.integer("kv_n_heads", within=bounds.HEADS, default=heads)
    check_groups(attention, "kv_n_heads", heads=heads, kv_heads=kv_heads)
    if hidden % heads:
        raise fields.wrong("n_heads", heads, allowed=f"a divisor of {hidden:,}")
    return _stack(
        fields,
        Heads(heads, kv_heads, hidden // heads),
        read_mixture(experts, MixtureConventions()),
        norms=2,
        norm_width=hidden,
        tied=False,
    )
