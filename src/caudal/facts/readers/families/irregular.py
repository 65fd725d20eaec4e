"""Stacks whose attention differs from layer to layer in ways of their own."""

from caudal.facts.model import (
    CrossAttention,
    DenseFeedForward,
    GroupedQueryAttention,
    Layer,
    Mixer,
    SparseIndexer,
)
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import (
    Heads,
    QueryKeyNorm,
    Reach,
    check_groups,
    grouped_query,
    read_heads,
)
from caudal.facts.readers.families.feed_forward import (
    MixtureConventions,
    read_dense,
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

MLLAMA_SPECIAL_ROWS = 8  # rows that Llama 3.2 Vision's embedding has and its head has not
MLLAMA_SOURCE_TOKENS = 4 * ((560 // 14) ** 2 + 1)  # four tiles of 1,600 patches and a class token
FFN_MULTIPLE = 256  # Nemotron NAS rounds its intermediate sizes up to this

_LARGEST_MULTIPLE = 1_000.0  # chosen; published ones end at 5.25


def _shape(fields: ConfigFields, layers: tuple[Layer, ...], *, extra_parameters: int = 0) -> Shape:
    hidden = hidden_size(fields)
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary_size(fields),
        layers=shared(layers),
        tied_embeddings=fields.flag("tie_word_embeddings", default=False),
        max_context_tokens=context_length(fields),
        final_norm_elements=hidden,
        extra_parameters=extra_parameters,
    )


def read_deci(fields: ConfigFields) -> Shape:
    """Return the shape of DeciLM: KV heads of each layer in a list."""
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    heads = read_heads(fields)
    counts = fields.integers("num_key_value_heads_per_layer", within=bounds.HEADS, length=layers)
    if counts is None:
        raise fields.missing(("num_key_value_heads_per_layer",), allowed="a list of KV heads")
    for count in counts:
        check_groups(fields, "num_key_value_heads_per_layer", heads=heads.heads, kv_heads=count)
    dense = read_dense(fields, gated=True)
    return _shape(
        fields,
        tuple(
            Layer(
                mixers=(grouped_query(Heads(heads.heads, count, heads.head_dim)),),
                feed_forward=dense,
                norm_elements=2 * hidden,
            )
            for count in counts
        ),
    )


def read_nemotron_nas(fields: ConfigFields) -> Shape:
    """Return the shape of Nemotron NAS: per layer a group size or no attention, a width or none.

    The intermediate size is `2 / 3 · ffn_mult · hidden`, cut to a whole number and rounded up to a
    multiple of 256.

    Raises:
        InvalidModelFileError: a block is replaced by a linear layer, which is not described.
    """
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    heads = fields.integer("num_attention_heads", within=bounds.HEADS)
    if hidden % heads and not fields.has("head_dim"):
        raise fields.wrong("num_attention_heads", heads, allowed=f"a divisor of {hidden:,}")
    dim = fields.integer("head_dim", within=bounds.HEAD_DIM, default=hidden // heads)
    blocks = fields.sections("block_configs", length=layers)
    if not blocks:
        raise fields.missing(("block_configs",), allowed=f"a list of {layers} blocks")
    return _shape(fields, tuple(_nas_layer(block, heads, dim, hidden) for block in blocks))


def _nas_layer(block: ConfigFields, heads: int, dim: int, hidden: int) -> Layer:
    attention = block.section("attention")
    ffn = block.section("ffn")
    mixers: tuple[Mixer, ...] = ()
    dense = None
    for part in (attention, ffn):
        if part is not None and part.flag("replace_with_linear", default=False):
            raise part.wrong("replace_with_linear", True, allowed="false")
    if attention is not None and not attention.flag("no_op", default=False):
        group = attention.integer("n_heads_in_group", within=bounds.HEADS)
        if heads % group:
            raise attention.wrong("n_heads_in_group", group, allowed=f"a divisor of {heads}")
        mixers = (grouped_query(Heads(heads, heads // group, dim)),)
    if ffn is not None and not ffn.flag("no_op", default=False):
        dense = DenseFeedForward(intermediate=_nas_width(ffn, hidden))
    norms = (1 if mixers else 0) + (1 if dense else 0)
    return Layer(mixers=mixers, feed_forward=dense, norm_elements=norms * hidden)


def _nas_width(ffn: ConfigFields, hidden: int) -> int:
    width = ffn.optional_integer("intermediate_size", within=bounds.INTERMEDIATE)
    if width is not None:
        return width
    raw = int(2 * ffn.number("ffn_mult", most=_LARGEST_MULTIPLE, default=0.0) * hidden / 3)
    width = -(-raw // FFN_MULTIPLE) * FFN_MULTIPLE
    if width not in bounds.INTERMEDIATE:
        raise ffn.wrong("ffn_mult", width, allowed="a multiple of the hidden size, such as 2.625")
    return width


def read_mllama(fields: ConfigFields) -> Shape:
    """Return the shape of Llama 3.2 Vision: some layers attend to the image instead of the text."""
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    heads = read_heads(fields)
    crossing = fields.layer_indices("cross_attention_layers", layers)
    text = grouped_query(heads)
    image = CrossAttention(
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        source_tokens=Tokens(MLLAMA_SOURCE_TOKENS),
        query_key_norm_elements=2 * heads.head_dim,
        gate_elements=2,
    )
    dense = read_dense(fields, gated=True)
    return _shape(
        fields,
        tuple(
            Layer(
                mixers=(image if index in crossing else text,),
                feed_forward=dense,
                norm_elements=2 * hidden,
            )
            for index in range(layers)
        ),
        extra_parameters=MLLAMA_SPECIAL_ROWS * hidden,
    )


def read_llama4(fields: ConfigFields) -> Shape:
    """Return the shape of Llama 4: three of four layers attend within chunks only."""
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    heads = read_heads(fields)
    size = fields.optional_integer("attention_chunk_size", within=bounds.CONTEXT)
    chunk = Reach() if size is None else Reach(chunk_tokens=Tokens(size))
    rotary = fields.integers("no_rope_layers", within=bounds.Bound(0, 1))  # 1: with positions
    if not rotary:
        rotary = tuple(int((index + 1) % 4 != 0) for index in range(layers))
    if len(rotary) != layers:
        raise fields.wrong("no_rope_layers", rotary, allowed=f"a list of {layers}, or empty")
    bias = fields.flag("attention_bias", default=False)
    by_kind = tuple(
        grouped_query(heads, reach=reach, query_key_value_bias=bias, output_bias=bias)
        for reach in (Reach(), chunk)
    )
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(one_shared=True))
    return _shape(
        fields,
        tuple(
            Layer(mixers=(by_kind[kind],), feed_forward=feed_forward, norm_elements=2 * hidden)
            for kind, feed_forward in zip(rotary, feed_forwards, strict=True)
        ),
    )


def read_mimo_v2(fields: ConfigFields) -> Shape:
    """Return the shape of MiMo-V2: full and sliding layers with different KV heads and sinks."""
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    pattern = fields.integers("hybrid_layer_pattern", within=bounds.Bound(0, 1), length=layers)
    if pattern is None:
        raise fields.missing(("hybrid_layer_pattern",), allowed="a 0 or 1 for each layer")
    full = _mimo_attention(fields, sliding=False)
    kinds = (full, _mimo_attention(fields, sliding=True) if any(pattern) else full)
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(router_bias=True))
    return _shape(
        fields,
        tuple(
            Layer(mixers=(kinds[kind],), feed_forward=feed_forward, norm_elements=2 * hidden)
            for kind, feed_forward in zip(pattern, feed_forwards, strict=True)
        ),
    )


def _mimo_attention(fields: ConfigFields, *, sliding: bool) -> GroupedQueryAttention:
    prefix = "swa_" if sliding else ""
    heads = fields.integer(f"{prefix}num_attention_heads", within=bounds.HEADS)
    kv_heads = fields.integer(f"{prefix}num_key_value_heads", within=bounds.HEADS)
    check_groups(fields, f"{prefix}num_key_value_heads", heads=heads, kv_heads=kv_heads)
    window = fields.integer("sliding_window", within=bounds.CONTEXT) if sliding else None
    kind = "swa" if sliding else "full"
    sinks = fields.flag(f"add_{kind}_attention_sink_bias", default=False)
    return GroupedQueryAttention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=fields.integer(f"{prefix}head_dim", within=bounds.HEAD_DIM),
        value_head_dim=fields.integer(f"{prefix}v_head_dim", within=bounds.HEAD_DIM),
        window_tokens=None if window is None else Tokens(window),
        sink_elements=heads if sinks else 0,
    )


def read_minimax_m3(fields: ConfigFields) -> Shape:
    """Return the shape of MiniMax-M3: grouped queries, and an indexer that picks blocks to read."""
    hidden = hidden_size(fields)
    layers = layer_count(fields)
    heads = read_heads(fields)
    sparse = fields.section("sparse_attention_config")
    marks: tuple[int, ...] = (0,) * layers
    indexer = None
    if sparse is not None and sparse.flag("use_sparse_attention", default=True):
        listed = sparse.integers("sparse_attention_freq", within=bounds.Bound(0, 1), length=layers)
        marks = listed or (1,) * layers
        indexer = _block_indexer(sparse, hidden)
    plain = grouped_query(heads, norm=QueryKeyNorm.HEAD)
    picking = GroupedQueryAttention(
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        query_key_norm_elements=2 * heads.head_dim,
        indexer=indexer,
    )
    feed_forwards = read_feed_forwards(fields, layers, mixture=MixtureConventions(router_bias=True))
    return _shape(
        fields,
        tuple(
            Layer(
                mixers=(picking if mark else plain,),
                feed_forward=feed_forward,
                norm_elements=2 * hidden,
            )
            for mark, feed_forward in zip(marks, feed_forwards, strict=True)
        ),
    )


def _block_indexer(sparse: ConfigFields, hidden: int) -> SparseIndexer:
    heads = sparse.integer("sparse_num_index_heads", within=bounds.HEADS)
    dim = sparse.integer("sparse_index_dim", within=bounds.HEAD_DIM)
    blocks = sparse.integer("sparse_topk_blocks", within=bounds.CONTEXT)
    size = sparse.integer("sparse_block_size", within=bounds.CONTEXT)
    return SparseIndexer(
        heads=heads,
        head_dim=dim,
        top_tokens=Tokens(blocks * size),
        parameters=hidden * heads * dim + hidden * dim,  # queries, and one key
        cache_bytes_per_token=2 * dim,  # one key in the model's 16 bit
    )
