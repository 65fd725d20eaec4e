"""DeepSeek V4: compressed attention over a sliding window, hyper-connections, hashed routing.

Each layer attends to the last `sliding_window` tokens in full and, where `compress_ratios` says
so, to entries that fold 4 or 128 older tokens; with 4, an indexer picks which of them are read.
The counts agree with the published totals of both models to the parameter.
"""

from typing import Final

from caudal.facts.model import LatentAttention, Layer, MixtureFeedForward, SparseIndexer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.decoder import prediction_parameters
from caudal.facts.readers.families.feed_forward import MixtureConventions, read_mixture
from caudal.facts.readers.families.latent import INDEXER_KEY_SCALE_BYTES
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

INDEXED_RATIO: Final = 4  # the compression at which an indexer chooses; its windows overlap
MIXES_PER_LAYER: Final = 2  # hyper-connections around attention and around the experts
MIX_SCALES: Final = 3


def read_deepseek_v4(fields: ConfigFields) -> Shape:
    """Return the shape of DeepSeek V4."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    ratios = fields.integers("compress_ratios", within=bounds.CONTEXT_OR_NONE)
    if ratios is None or len(ratios) < layers:  # further entries are the prediction layers'
        raise fields.wrong("compress_ratios", ratios, allowed=f"a list of {layers} or more")
    mixers = {ratio: _attention(fields, ratio, hidden) for ratio in set(ratios)}
    hashed = fields.integer("num_hash_layers", within=bounds.PERIOD, default=0)
    routed = read_mixture(fields, MixtureConventions(router_bias=True))
    by_hash = read_mixture(fields, MixtureConventions())
    streams = fields.integer("hc_mult", within=bounds.GROUPS, default=1)
    mixes = (2 + streams) * streams
    connections = MIXES_PER_LAYER * (mixes * streams * hidden + mixes + MIX_SCALES)
    stack = shared(
        _layer(mixers[ratios[index]], by_hash if index < hashed else routed, hidden, connections)
        for index in range(layers)
    )
    joining = streams * streams * hidden + streams + 1  # joins the streams at the end
    last = _layer(mixers[ratios[-1]], routed, hidden, connections)
    predicted = fields.integer("num_nextn_predict_layers", within=bounds.PERIOD, default=0)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=stack,
        mtp_parameters=predicted * (prediction_parameters(last, hidden, 0) + joining),
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
        extra_parameters=joining,
    )


def _layer(
    attention: LatentAttention, mixture: MixtureFeedForward, hidden: int, connections: int
) -> Layer:
    return Layer(
        mixers=(attention,),
        feed_forward=mixture,
        norm_elements=2 * hidden,
        extra_parameters=connections,
    )


def _attention(fields: ConfigFields, ratio: int, hidden: int) -> LatentAttention:
    heads = fields.integer("num_attention_heads", within=bounds.HEADS)
    dim = fields.integer("head_dim", within=bounds.HEAD_DIM)
    rope = fields.integer("qk_rope_head_dim", within=bounds.HEAD_DIM)
    if rope >= dim:
        raise fields.wrong("qk_rope_head_dim", rope, allowed=f"less than head_dim {dim}")
    rank = fields.integer("q_lora_rank", within=bounds.RANK)
    groups = fields.integer("o_groups", within=bounds.GROUPS)
    output_rank = fields.integer("o_lora_rank", within=bounds.RANK)
    overlap = 2 if ratio == INDEXED_RATIO else 1
    down = hidden * rank + rank + hidden * dim + dim
    if ratio:
        down += _compressor(hidden, dim, ratio, overlap)
    # Queries up; output down by groups of heads, then up; a learned sink for each head.
    up = rank * heads * dim + output_rank * heads * dim + groups * output_rank * hidden + heads
    indexer = _indexer(fields, hidden, rank, ratio, overlap) if overlap > 1 else None
    return LatentAttention(
        heads=heads,
        q_lora_rank=rank,
        kv_lora_rank=dim - rope,
        nope_head_dim=dim - rope,
        rope_head_dim=rope,
        value_head_dim=dim,
        indexer=indexer,
        compression=max(ratio, 1),
        window_tokens=Tokens(fields.integer("sliding_window", within=bounds.CONTEXT)),
        attends_beyond_window=ratio > 0,
        parameters=down + up,
        replicated_parameters=down,
    )


def _compressor(hidden: int, dim: int, ratio: int, overlap: int) -> int:
    """Return what folds `ratio` tokens: values, gates, positions within the fold, a norm."""
    width = overlap * dim
    return 2 * hidden * width + ratio * width + dim


def _indexer(
    fields: ConfigFields, hidden: int, rank: int, ratio: int, overlap: int
) -> SparseIndexer:
    heads = fields.integer("index_n_heads", within=bounds.HEADS)
    dim = fields.integer("index_head_dim", within=bounds.HEAD_DIM)
    parameters = rank * heads * dim + hidden * heads + _compressor(hidden, dim, ratio, overlap)
    return SparseIndexer(
        heads=heads,
        head_dim=dim,
        top_tokens=Tokens(fields.integer("index_topk", within=bounds.CONTEXT)),
        parameters=parameters,
        cache_bytes_per_token=dim + INDEXER_KEY_SCALE_BYTES,
    )
