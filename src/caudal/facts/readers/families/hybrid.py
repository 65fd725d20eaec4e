"""Stacks that mix attention with recurrent layers: Qwen3-Next, Kimi Linear, MiniMax-M1."""

from caudal.facts.model import Layer, Mixer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import (
    QueryKeyNorm,
    grouped_query,
    read_heads,
)
from caudal.facts.readers.families.decoder import prediction_parameters
from caudal.facts.readers.families.feed_forward import MixtureConventions, read_feed_forwards
from caudal.facts.readers.families.latent import read_latent_attention
from caudal.facts.readers.families.recurrent import gated_deltanet, kimi_delta, lightning
from caudal.facts.readers.families.shape import (
    Shape,
    context_length,
    hidden_size,
    layer_count,
    shared,
    vocabulary_size,
)
from caudal.facts.readers.fields import ConfigFields


def read_qwen3_next(fields: ConfigFields) -> Shape:
    """Return the shape of Qwen3-Next, 3.5, 3.6 and 3.8: gated DeltaNet and gated attention."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    heads = read_heads(fields)
    attention = grouped_query(heads, norm=QueryKeyNorm.HEAD, output_gate=heads.head_dim)
    recurrent = gated_deltanet(fields, hidden=hidden)
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(shared_gate=True))
    full = full_attention_layers(fields, layers)
    stack = shared(
        Layer(
            mixers=(attention if is_full else recurrent,),
            feed_forward=feed_forward,
            norm_elements=2 * hidden,
        )
        for is_full, feed_forward in zip(full, feed_forwards, strict=True)
    )
    predicted = fields.integer("mtp_num_hidden_layers", within=bounds.PERIOD, default=0)
    block = Layer(mixers=(attention,), feed_forward=feed_forwards[-1], norm_elements=2 * hidden)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=stack,
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
        mtp_parameters=predicted * prediction_parameters(block, hidden, 0),
    )


def full_attention_layers(fields: ConfigFields, layers: int) -> tuple[bool, ...]:
    """Return which layers attend to all tokens: by `layer_types`, else every fourth."""
    types = fields.texts("layer_types", length=layers)
    if types is not None:
        for kind in types:
            if kind not in {"full_attention", "linear_attention"}:
                raise fields.wrong(
                    "layer_types", kind, allowed="full_attention or linear_attention"
                )
        return tuple(kind == "full_attention" for kind in types)
    interval = fields.integer("full_attention_interval", within=bounds.LAYERS, default=4)
    return tuple((index + 1) % interval == 0 for index in range(layers))


def read_kimi_linear(fields: ConfigFields) -> Shape:
    """Return the shape of Kimi Linear and K3: Kimi delta attention, and MLA every fourth layer."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    section = fields.section("linear_attn_config")
    if section is None:
        raise fields.missing(("linear_attn_config",), allowed="an object with kda_layers")
    delta = section.layer_indices("kda_layers", layers, first=1)
    full = section.layer_indices("full_attn_layers", layers, first=1)
    if delta & full or len(delta | full) != layers:
        raise section.wrong(
            "full_attn_layers",
            sorted(full),
            allowed=f"the layers of 1 to {layers} that are not in kda_layers",
        )
    attention = read_latent_attention(fields)
    recurrent = kimi_delta(section, hidden=hidden)
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(router_bias=True))
    stack = shared(
        Layer(
            mixers=(recurrent if index in delta else attention,),
            feed_forward=feed_forward,
            norm_elements=2 * hidden,
        )
        for index, feed_forward in enumerate(feed_forwards, start=1)
    )
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=stack,
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
    )


def read_minimax_m1(fields: ConfigFields) -> Shape:
    """Return the shape of MiniMax-Text-01 and M1: lightning attention, softmax where marked 1."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    heads = read_heads(fields)
    kinds = fields.integers("attn_type_list", within=bounds.Bound(0, 1), length=layers)
    if kinds is None:
        raise fields.missing(("attn_type_list",), allowed="a 0 or 1 for each layer")
    linear = lightning(fields, hidden=hidden, heads=heads.heads, head_dim=heads.head_dim)
    mixers: tuple[Mixer, Mixer] = (linear, grouped_query(heads))
    feed_forwards = read_feed_forwards(fields, layers)
    stack = shared(
        Layer(mixers=(mixers[kind],), feed_forward=feed_forward, norm_elements=2 * hidden)
        for kind, feed_forward in zip(kinds, feed_forwards, strict=True)
    )
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=stack,
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
    )
