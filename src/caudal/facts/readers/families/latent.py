"""Multi-head latent attention: DeepSeek V2 to V3.2, Kimi K2, GLM-4.7-Flash and GLM-5."""

from typing import Final

from caudal.facts.model import LatentAttention, Layer, SparseIndexer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import HEAD_NAMES
from caudal.facts.readers.families.decoder import prediction_parameters
from caudal.facts.readers.families.feed_forward import (
    MixtureConventions,
    read_feed_forwards,
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
from caudal.vocabulary.units import Tokens

INDEXER_KEY_SCALE_BYTES: Final = 4  # one FP32 scale beside an FP8 key of index_head_dim elements


def read_latent(fields: ConfigFields, *, corrected_scores: bool = True) -> Shape:
    """Return the shape of a DeepSeek V2/V3-like model."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    method = "noaux_tc" if corrected_scores else "greedy"
    corrected = fields.text("topk_method", default=method) == "noaux_tc"
    feed_forwards = read_feed_forwards(
        fields, layers, mixture=MixtureConventions(router_bias=corrected)
    )
    attention = read_latent_attention(fields)
    stack = shared(
        Layer(
            mixers=(_with_indexer(fields, attention, hidden=hidden, owns_cache=owns),),
            feed_forward=feed_forward,
            norm_elements=2 * hidden,
        )
        for owns, feed_forward in zip(_indexed(fields, layers), feed_forwards, strict=True)
    )
    vocabulary = vocabulary_size(fields)
    predicted = fields.integer("num_nextn_predict_layers", within=bounds.PERIOD, default=0)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary,
        layers=stack,
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
        mtp_parameters=predicted * prediction_parameters(stack[-1], hidden, vocabulary),
    )


def read_latent_attention(fields: ConfigFields) -> LatentAttention:
    """Return the attention of one layer, without an indexer."""
    return LatentAttention(
        heads=fields.integer(*HEAD_NAMES, within=bounds.HEADS),
        q_lora_rank=fields.optional_integer("q_lora_rank", within=bounds.RANK),
        kv_lora_rank=fields.integer("kv_lora_rank", within=bounds.RANK),
        nope_head_dim=fields.integer("qk_nope_head_dim", within=bounds.HEAD_DIM),
        rope_head_dim=fields.integer("qk_rope_head_dim", within=bounds.HEAD_DIM),
        value_head_dim=fields.integer("v_head_dim", within=bounds.HEAD_DIM),
        output_gate=fields.flag("mla_use_output_gate", default=False),
    )


def _indexed(fields: ConfigFields, layers: int) -> tuple[bool, ...]:
    """Return which layers compute an indexer of their own; GLM-5.2 shares it between layers."""
    if not fields.has("index_topk"):
        return (False,) * layers
    types = fields.texts("indexer_types", length=layers)
    return (True,) * layers if types is None else tuple(kind == "full" for kind in types)


def _with_indexer(
    fields: ConfigFields, attention: LatentAttention, *, hidden: int, owns_cache: bool
) -> LatentAttention:
    if not fields.has("index_topk"):
        return attention
    heads = fields.integer("index_n_heads", within=bounds.HEADS)
    dim = fields.integer("index_head_dim", within=bounds.HEAD_DIM)
    rank = fields.integer("q_lora_rank", within=bounds.RANK)
    # Queries from the query latent, one key from the residual, a LayerNorm on it, head weights.
    parameters = rank * heads * dim + hidden * dim + 2 * dim + hidden * heads
    return LatentAttention(
        heads=attention.heads,
        q_lora_rank=attention.q_lora_rank,
        kv_lora_rank=attention.kv_lora_rank,
        nope_head_dim=attention.nope_head_dim,
        rope_head_dim=attention.rope_head_dim,
        value_head_dim=attention.value_head_dim,
        indexer=SparseIndexer(
            heads=heads,
            head_dim=dim,
            top_tokens=Tokens(fields.integer("index_topk", within=bounds.CONTEXT)),
            parameters=parameters if owns_cache else 0,
            cache_bytes_per_token=dim + INDEXER_KEY_SCALE_BYTES,
            owns_cache=owns_cache,
        ),
    )
