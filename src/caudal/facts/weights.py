"""Every group of weights of a model, from its shape: what it does, how large it is, how it splits.

The sum over all groups without multi-token prediction is the model's parameter count.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from caudal.facts.model import (
    CrossAttention,
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
    RecurrentMixer,
)
from caudal.facts.precision import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightGroup:
    """Tensors of one layer that are stored and split alike.

    `columns` counts the units that tensor parallelism hands out (heads, KV heads, intermediate
    columns, vocabulary rows); None where every GPU holds the whole group. `experts` counts the
    experts in a routed group. `matrix` is False for norms, biases, convolutions and other small
    tensors, which no format quantises.
    """

    role: Role
    parameters: int
    layer: int | None = None  # index in the stack; None outside it
    columns: int | None = None
    experts: int = 0
    matrix: bool = True


def weight_groups(model: ModelSpec) -> tuple[WeightGroup, ...]:
    """Return all weight groups, the stack first, in order.

    A tied embedding is one group (`Role.EMBEDDING`): engines keep one copy and read it twice.
    """
    by_layer: dict[int, tuple[WeightGroup, ...]] = {}
    groups: list[WeightGroup] = []
    for index, layer in enumerate(model.layers):
        templates = by_layer.get(id(layer))
        if templates is None:
            templates = by_layer[id(layer)] = layer_weight_groups(layer, hidden=model.hidden)
        groups.extend(
            WeightGroup(
                role=group.role,
                parameters=group.parameters,
                layer=index,
                columns=group.columns,
                experts=group.experts,
                matrix=group.matrix,
            )
            for group in templates
        )
    groups.extend(outer_weight_groups(model))
    return tuple(groups)


def layer_weight_groups(layer: Layer, *, hidden: int) -> tuple[WeightGroup, ...]:
    """Return the groups of one layer, without its index: equal layers need asking once."""
    groups: list[WeightGroup] = []
    for mixer in layer.mixers:
        groups.extend(_mixer_groups(mixer, hidden))
    if layer.feed_forward is not None:
        groups.extend(_feed_forward_groups(layer.feed_forward, hidden))
    groups.append(_small(Role.NORM, layer.norm_elements))
    groups.append(WeightGroup(role=Role.OTHER, parameters=layer.extra_parameters))
    return tuple(group for group in groups if group.parameters)


def outer_weight_groups(model: ModelSpec) -> tuple[WeightGroup, ...]:
    """Return the groups outside the stack: embeddings, head, vision and the like."""
    table = model.vocabulary * model.hidden
    head = 0 if model.tied_embeddings else table
    groups = (
        WeightGroup(role=Role.EMBEDDING, parameters=table, columns=model.vocabulary),
        WeightGroup(role=Role.HEAD, parameters=head, columns=model.vocabulary),
        _small(Role.POSITION, model.position_parameters),
        _small(Role.NORM, model.final_norm_elements),
        WeightGroup(
            role=Role.PER_LAYER_EMBEDDING,
            parameters=model.per_layer_embedding_parameters,
            columns=model.vocabulary,
        ),
        WeightGroup(role=Role.OTHER, parameters=model.extra_parameters),
        WeightGroup(role=Role.VISION, parameters=model.vision_parameters),
        WeightGroup(role=Role.MTP, parameters=model.mtp_parameters),
    )
    return tuple(group for group in groups if group.parameters)


def total_parameters(model: ModelSpec) -> int:
    """Return the parameter count by the shape, without multi-token prediction."""
    layers = sum(
        count * sum(group.parameters for group in layer_weight_groups(layer, hidden=model.hidden))
        for layer, count in layer_counts(model)
    )
    outer = outer_weight_groups(model)
    return layers + sum(group.parameters for group in outer if group.role is not Role.MTP)


def active_parameters(model: ModelSpec) -> int:
    """Return the parameters one token passes: all, less the experts it is not sent to.

    Embeddings count (vendors' "A" figures often leave them out); per-layer embeddings, which are
    looked up and never multiplied, do not.
    """
    idle = 0
    for layer, count in layer_counts(model):
        match layer.feed_forward:
            case MixtureFeedForward() as mixture:
                resting = mixture.experts - mixture.experts_per_token
                idle += count * resting * expert_parameters(mixture, hidden=model.hidden)
            case _:
                pass
    return total_parameters(model) - idle - model.per_layer_embedding_parameters


def expert_parameters(mixture: MixtureFeedForward, *, hidden: int) -> int:
    """Return the parameters of one routed expert, its biases included."""
    width = hidden if mixture.latent_size is None else mixture.latent_size
    matrices = 3 if mixture.gated else 2
    bias = (matrices - 1) * mixture.expert_intermediate + width if mixture.bias else 0
    return matrices * width * mixture.expert_intermediate + bias


def layer_counts(model: ModelSpec) -> Iterator[tuple[Layer, int]]:
    """Yield each distinct layer with how often it stands in the stack.

    Readers share one value between equal layers, so identity finds them without hashing.
    """
    counts: dict[int, int] = {}
    for layer in model.layers:
        counts[id(layer)] = counts.get(id(layer), 0) + 1
    seen: set[int] = set()
    for layer in model.layers:
        if id(layer) not in seen:
            seen.add(id(layer))
            yield layer, counts[id(layer)]


def _small(role: Role, parameters: int) -> WeightGroup:
    return WeightGroup(role=role, parameters=parameters, matrix=False)


def _mixer_groups(mixer: Mixer, hidden: int) -> Iterator[WeightGroup]:
    match mixer:
        case GroupedQueryAttention() if mixer.owns_weights:
            yield from _grouped_query_groups(mixer, hidden)
        case LatentAttention():
            yield from _latent_groups(mixer, hidden)
        case RecurrentMixer():
            yield WeightGroup(
                role=Role.RECURRENT,
                parameters=mixer.parameters - mixer.small_parameters,
                columns=mixer.heads,
            )
            yield WeightGroup(
                role=Role.RECURRENT,
                parameters=mixer.small_parameters,
                columns=mixer.heads,
                matrix=False,
            )
        case CrossAttention():
            yield from _cross_groups(mixer, hidden)
        case _:  # attention whose weights lie outside the layer
            return


def _grouped_query_groups(mixer: GroupedQueryAttention, hidden: int) -> Iterator[WeightGroup]:
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    query = mixer.heads * (mixer.head_dim + mixer.output_gate_elements_per_head)
    key_value = 0
    if mixer.owns_kv:
        key_value = mixer.kv_heads * (mixer.head_dim + (0 if mixer.key_is_value else value_dim))
    yield WeightGroup(role=Role.QUERY, parameters=hidden * query, columns=mixer.heads)
    yield WeightGroup(role=Role.KEY_VALUE, parameters=hidden * key_value, columns=mixer.kv_heads)
    if mixer.query_key_value_bias:
        yield WeightGroup(role=Role.QUERY, parameters=query, columns=mixer.heads, matrix=False)
        yield WeightGroup(
            role=Role.KEY_VALUE, parameters=key_value, columns=mixer.kv_heads, matrix=False
        )
    yield WeightGroup(
        role=Role.ATTENTION_OUTPUT,
        parameters=mixer.heads * value_dim * hidden,
        columns=mixer.heads,
    )
    if mixer.output_bias:  # added after the sum over GPUs, so whole on each
        yield _small(Role.NORM, hidden)
    yield _small(Role.NORM, mixer.query_key_norm_elements + mixer.sink_elements)
    if mixer.indexer is not None:
        yield WeightGroup(role=Role.INDEXER, parameters=mixer.indexer.parameters)


def _latent_groups(mixer: LatentAttention, hidden: int) -> Iterator[WeightGroup]:
    heads = mixer.heads
    if mixer.parameters is not None:
        replicated = mixer.replicated_parameters
        yield WeightGroup(role=Role.LATENT_DOWN, parameters=replicated)
        yield WeightGroup(
            role=Role.LATENT_UP, parameters=mixer.parameters - replicated, columns=heads
        )
    else:
        query = heads * (mixer.nope_head_dim + mixer.rope_head_dim)
        down = hidden * (mixer.kv_lora_rank + mixer.rope_head_dim)
        up = mixer.kv_lora_rank * heads * (mixer.nope_head_dim + mixer.value_head_dim)
        norms = mixer.kv_lora_rank
        if mixer.q_lora_rank is None:
            yield WeightGroup(role=Role.QUERY, parameters=hidden * query, columns=heads)
        else:
            down += hidden * mixer.q_lora_rank
            up += mixer.q_lora_rank * query
            norms += mixer.q_lora_rank
        output = heads * mixer.value_head_dim * hidden
        if mixer.output_gate:
            up += output
        yield WeightGroup(role=Role.LATENT_DOWN, parameters=down)
        yield WeightGroup(role=Role.LATENT_UP, parameters=up, columns=heads)
        yield WeightGroup(role=Role.ATTENTION_OUTPUT, parameters=output, columns=heads)
        yield _small(Role.NORM, norms)
    if mixer.indexer is not None:
        yield WeightGroup(role=Role.INDEXER, parameters=mixer.indexer.parameters)


def _cross_groups(mixer: CrossAttention, hidden: int) -> Iterator[WeightGroup]:
    query = 2 * mixer.heads * mixer.head_dim * hidden  # query and output
    key_value = 2 * mixer.kv_heads * mixer.head_dim * hidden
    yield WeightGroup(role=Role.CROSS, parameters=query, columns=mixer.heads)
    yield WeightGroup(role=Role.CROSS, parameters=key_value, columns=mixer.kv_heads)
    yield _small(Role.NORM, mixer.query_key_norm_elements + mixer.gate_elements)


def _feed_forward_groups(feed_forward: FeedForward, hidden: int) -> Iterator[WeightGroup]:
    match feed_forward:
        case DenseFeedForward():
            yield from _dense_groups(
                Role.DENSE,
                feed_forward.intermediate,
                hidden,
                gated=feed_forward.gated,
                bias=feed_forward.bias,
            )
        case MixtureFeedForward():
            yield from _mixture_groups(feed_forward, hidden)


def _dense_groups(
    role: Role, intermediate: int, hidden: int, *, gated: bool, bias: bool = False
) -> Iterator[WeightGroup]:
    matrices = 3 if gated else 2
    yield WeightGroup(role=role, parameters=matrices * hidden * intermediate, columns=intermediate)
    if bias:
        inner = (matrices - 1) * intermediate
        yield WeightGroup(role=role, parameters=inner, columns=intermediate, matrix=False)
        yield _small(Role.NORM, hidden)


def _mixture_groups(mixture: MixtureFeedForward, hidden: int) -> Iterator[WeightGroup]:
    latent = mixture.latent_size
    width = hidden if latent is None else latent
    matrices = 3 if mixture.gated else 2
    inner = mixture.expert_intermediate
    yield WeightGroup(role=Role.ROUTER, parameters=hidden * mixture.experts)
    if mixture.router_bias:
        yield WeightGroup(role=Role.ROUTER, parameters=mixture.experts, matrix=False)
    weights = matrices * width * inner
    yield WeightGroup(
        role=Role.ROUTED_EXPERT,
        parameters=mixture.experts * weights,
        columns=inner,
        experts=mixture.experts,
    )
    biases = expert_parameters(mixture, hidden=hidden) - weights
    yield WeightGroup(
        role=Role.ROUTED_EXPERT,
        parameters=mixture.experts * biases,
        columns=inner,
        experts=mixture.experts,
        matrix=False,
    )
    if latent is not None:
        yield WeightGroup(role=Role.OTHER, parameters=2 * hidden * latent)
        yield _small(Role.NORM, latent if mixture.latent_norm else 0)
    if mixture.shared_intermediate:
        yield from _dense_groups(
            Role.SHARED_EXPERT, mixture.shared_intermediate, hidden, gated=mixture.gated
        )
    if mixture.shared_gate:
        yield WeightGroup(role=Role.ROUTER, parameters=hidden)
    if mixture.parallel_dense_intermediate:
        yield from _dense_groups(
            Role.DENSE, mixture.parallel_dense_intermediate, hidden, gated=mixture.gated
        )
