"""Qwen3.8-Flash-Next (`qwen4_exp`): gated residual streams, an indexer, hashed n-gram embeddings.

Source: transformers 5 `modular_qwen4_exp.py`.
"""

from typing import Final

from caudal.facts.model import GroupedQueryAttention, Layer, SparseIndexer
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import read_heads
from caudal.facts.readers.families.decoder import prediction_parameters
from caudal.facts.readers.families.feed_forward import MixtureConventions, read_feed_forwards
from caudal.facts.readers.families.hybrid import full_attention_layers
from caudal.facts.readers.families.recurrent import gated_deltanet
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

KEY_BYTES: Final = 2  # the indexer's keys are kept in the model's 16 bit


def read_qwen4(fields: ConfigFields) -> Shape:
    """Return the shape of Qwen3.8-Flash-Next.

    Leaves out that each hashed table is rounded up to a prime number of rows (under 10^-5).
    """
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    streams = fields.integer("hc_count", within=bounds.GROUPS)
    wide = streams * hidden
    # Norm, and the two halves of the low-rank mix; a layer's also write back into each stream.
    mix = wide + 2 * wide * fields.integer("hc_lowrank", within=bounds.RANK)
    residual = 2 * (mix + wide * streams)
    full = full_attention_layers(fields, layers)
    attention = _attention(fields, hidden)
    recurrent = gated_deltanet(fields, hidden=hidden)
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(shared_gate=True))
    table = _table(fields)
    injecting = fields.layer_indices("ple_layer_ids", layers, first=1)
    injection = _injection(fields, hidden, wide) if injecting else 0
    stack = shared(
        Layer(
            mixers=(attention if full[index] else recurrent,),
            feed_forward=feed_forward,
            extra_parameters=residual + (injection if index + 1 in injecting else 0),
        )
        for index, feed_forward in enumerate(feed_forwards)
    )
    predicting = Layer(
        mixers=(attention,), feed_forward=feed_forwards[-1], extra_parameters=residual
    )
    predicted = fields.integer("mtp_num_hidden_layers", within=bounds.PERIOD, default=0)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=stack,
        mtp_parameters=predicted * prediction_parameters(predicting, hidden, 0),
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=0,
        per_layer_embedding_parameters=len(injecting) * table,
        extra_parameters=mix,
    )


def _attention(fields: ConfigFields, hidden: int) -> GroupedQueryAttention:
    heads = read_heads(fields)
    index_heads = fields.integer("indexer_n_heads", within=bounds.HEADS)
    key_heads = fields.integer("indexer_kv_heads", within=bounds.HEADS, default=1)
    dim = fields.integer("indexer_head_dim", within=bounds.HEAD_DIM)
    indexer = SparseIndexer(
        heads=index_heads,
        head_dim=dim,
        top_tokens=Tokens(fields.integer("indexer_budget", within=bounds.CONTEXT)),
        parameters=hidden * (index_heads + key_heads) * dim + 2 * dim,
        cache_bytes_per_token=KEY_BYTES * key_heads * dim,
    )
    return GroupedQueryAttention(
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        query_key_norm_elements=2 * heads.head_dim,
        output_gate_elements_per_head=heads.head_dim,
        indexer=indexer,
    )


def _table(fields: ConfigFields) -> int:
    """Return the parameters of one hashed n-gram table: a row's parts have a table each."""
    tables = (fields.integer("ngram_size", within=bounds.GROUPS, default=3) - 1) * fields.integer(
        "heads_per_ngram", within=bounds.GROUPS, default=1
    )
    rows = fields.integer("ngram_vocab_size_base", within=bounds.LARGE_TABLE, default=0)
    width = fields.integer("ple_embed_dim", within=bounds.HIDDEN)
    return rows * width if tables else 0  # tables · rows · (width ÷ tables)


def _injection(fields: ConfigFields, hidden: int, wide: int) -> int:
    """Return keys for each stream, a value, three norms and a convolution."""
    width = fields.integer("ple_embed_dim", within=bounds.HIDDEN)
    kernel = fields.integer("ple_conv_kernel_size", within=bounds.STATE, default=4)
    return width * (wide + hidden) + 3 * wide + wide * kernel
