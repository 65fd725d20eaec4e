"""The common decoder: grouped-query attention and a dense or mixture feed-forward per layer.

Most families differ in a few facts that their code fixes and their file does not say; a
`Conventions` value holds these, and `conventions` gives each family its own.
"""

from dataclasses import dataclass
from enum import StrEnum

from caudal.facts.model import (
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    Layer,
    MixtureFeedForward,
)
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import (
    QueryKeyNorm,
    Reach,
    grouped_query,
    read_heads,
    read_reaches,
)
from caudal.facts.readers.families.feed_forward import MixtureConventions, read_feed_forwards
from caudal.facts.readers.families.shape import (
    Shape,
    context_length,
    hidden_size,
    layer_count,
    shared,
    vocabulary_size,
)
from caudal.facts.readers.fields import ConfigFields
from caudal.facts.weights import layer_weight_groups


class Prediction(StrEnum):
    """Whose embedding and head a multi-token-prediction layer uses."""

    UNSAID = "unsaid"  # the file's count of such layers is not used
    SHARED = "shared"  # the model's
    OWN = "own"  # copies of them, kept in the checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """What a family's code fixes; None leaves it to the file's `attention_bias`."""

    tied: bool = False  # where the file is silent
    query_key_value_bias: bool | None = None
    output_bias: bool | None = None
    query_key_norm: QueryKeyNorm = QueryKeyNorm.NONE
    query_key_norm_if_asked: QueryKeyNorm = QueryKeyNorm.NONE  # with `use_qk_norm`
    norms: int = 2  # a layer
    norm_bias: bool = False  # LayerNorm with a bias; else RMSNorm
    inner_norms: bool = False  # before the output and down projections (BitNet)
    gated: bool = True
    feed_forward_bias: bool | None = None  # None: the file's `mlp_bias`
    full_every: int | None = None  # every how many layers one is full, where it is fixed
    head_bias: bool = False
    sinks: bool = False
    dense_factor: int | None = None  # intermediate over hidden, where the file is silent
    mixture: MixtureConventions | None = None
    prediction: Prediction = Prediction.UNSAID


def read_decoder(fields: ConfigFields, conventions: Conventions) -> Shape:
    """Return the shape of a plain decoder."""
    layers = layer_count(fields)
    hidden = hidden_size(fields)
    factor = conventions.dense_factor
    feed_forwards = read_feed_forwards(
        fields,
        layers,
        gated=conventions.gated,
        bias=_bias(fields, "mlp_bias", "use_bias", fixed=conventions.feed_forward_bias),
        dense_default=None if factor is None else factor * hidden,
        mixture=conventions.mixture,
    )
    attentions = read_attentions(fields, conventions, layers)
    norm_width = hidden * (2 if conventions.norm_bias else 1)
    stack = []
    for attention, feed_forward in zip(attentions, feed_forwards, strict=True):
        norms = conventions.norms * norm_width
        if conventions.inner_norms:
            norms += hidden + _inner_width(feed_forward)
        stack.append(Layer(mixers=(attention,), feed_forward=feed_forward, norm_elements=norms))
    vocabulary = vocabulary_size(fields)
    predicted = 0
    if conventions.prediction is not Prediction.UNSAID:
        predicted = fields.integer("num_nextn_predict_layers", within=bounds.PERIOD, default=0)
    tables = vocabulary if conventions.prediction is Prediction.OWN else 0
    return Shape(
        hidden=hidden,
        vocabulary=vocabulary,
        layers=shared(stack),
        mtp_parameters=predicted * prediction_parameters(stack[-1], hidden, tables),
        tied_embeddings=fields.flag("tie_word_embeddings", default=conventions.tied),
        max_context_tokens=context_length(fields),
        final_norm_elements=norm_width,
        extra_parameters=vocabulary if conventions.head_bias else 0,
    )


def prediction_parameters(layer: Layer, hidden: int, vocabulary: int) -> int:
    """Return one multi-token-prediction layer, with its copies of embedding and head if any.

    A layer like the last, a projection of two joined states, and norms on both and on the output.

    Source: arXiv:2412.19437 §2.2; the DeepSeek-V3 checkpoint keeps the copies.
    """
    block = sum(group.parameters for group in layer_weight_groups(layer, hidden=hidden))
    return block + 2 * hidden * hidden + 3 * hidden + 2 * vocabulary * hidden


def read_attentions(
    fields: ConfigFields, conventions: Conventions, layers: int
) -> tuple[GroupedQueryAttention, ...]:
    """Return the attention of each layer, equal ones sharing one value."""
    heads = read_heads(fields)
    bias = _bias(
        fields,
        "attention_bias",
        "add_qkv_bias",
        "qkv_bias",
        "use_qkv_bias",
        "use_bias",
        "bias",
        fixed=conventions.query_key_value_bias,
    )
    output_bias = conventions.output_bias
    if output_bias is None:
        output_bias = fields.flag("attention_out_bias", default=bias)
    norm = conventions.query_key_norm
    if fields.flag("use_qk_norm", default=False) and norm is QueryKeyNorm.NONE:
        norm = conventions.query_key_norm_if_asked
    by_reach: dict[Reach, GroupedQueryAttention] = {}
    for reach in (reaches := read_reaches(fields, layers, pattern=conventions.full_every)):
        if reach not in by_reach:
            by_reach[reach] = grouped_query(
                heads,
                reach=reach,
                norm=norm,
                query_key_value_bias=bias,
                output_bias=output_bias,
                sinks=heads.heads if conventions.sinks else 0,
            )
    return tuple(by_reach[reach] for reach in reaches)


def _bias(fields: ConfigFields, *names: str, fixed: bool | None) -> bool:
    return fields.flag(*names, default=False) if fixed is None else fixed


def _inner_width(feed_forward: FeedForward) -> int:
    match feed_forward:
        case DenseFeedForward():
            return feed_forward.intermediate
        case MixtureFeedForward():
            return feed_forward.expert_intermediate
