"""A model's shape summed over its layers: what is multiplied, and what attention reads.

Equal parts of different layers are added up, so that a step costs the same arithmetic for a model
of 24 layers as for one of 126.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import inf
from typing import Final

from caudal.facts.model import (
    CrossAttention,
    FeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
    RecurrentMixer,
    SparseIndexer,
)
from caudal.facts.precision import Role
from caudal.facts.weights import layer_counts, layer_weight_groups, outer_weight_groups


class MatrixKind(StrEnum):
    """Matrices that run at similar efficiency."""

    PROJECTION = "projection"
    LATENT = "latent"  # of compressed attention, and its indexer
    DENSE = "dense"
    EXPERTS = "experts"
    HEAD = "head"
    SMALL = "small"


_KINDS: Final = {
    Role.HEAD: MatrixKind.HEAD,
    Role.QUERY: MatrixKind.PROJECTION,
    Role.KEY_VALUE: MatrixKind.PROJECTION,
    Role.ATTENTION_OUTPUT: MatrixKind.PROJECTION,
    Role.LATENT_DOWN: MatrixKind.LATENT,
    Role.LATENT_UP: MatrixKind.LATENT,
    Role.INDEXER: MatrixKind.LATENT,
    Role.RECURRENT: MatrixKind.PROJECTION,
    Role.CROSS: MatrixKind.PROJECTION,
    Role.DENSE: MatrixKind.DENSE,
    Role.SHARED_EXPERT: MatrixKind.DENSE,
    Role.ROUTED_EXPERT: MatrixKind.EXPERTS,
    Role.ROUTER: MatrixKind.SMALL,
    Role.NORM: MatrixKind.SMALL,
    Role.OTHER: MatrixKind.SMALL,
}
"""The roles whose weights every step reads; embeddings are looked up, vision and MTP left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixShape:
    """The matrices of one role that split alike, all layers together, before any split."""

    role: Role
    kind: MatrixKind
    parameters: int
    columns: int | None  # what tensor parallelism hands out; None: whole on every GPU
    matrix: bool  # False for norms and other small tensors, which no format quantises
    experts: int = 0
    chosen: int = 0

    @property
    def active_parameters(self) -> float:
        """Return the parameters that one token passes."""
        return self.parameters * self.chosen / self.experts if self.experts else self.parameters

    def ways(self, tensor: int) -> int:
        """Return into how many parts `tensor` GPUs split these matrices."""
        return 1 if self.columns is None else min(tensor, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionShape:
    """Attention layers with equal window and head counts, all together, before any split."""

    window_tokens: float
    heads: int
    kv_heads: int  # 1 for a latent, which every GPU keeps whole
    kv_elements: float  # of the cache, per token of context
    kv_bytes: float  # cache of a fixed format, per token of context, whole on every GPU
    decode_flop: float  # per token of context
    prefill_flop: float  # per pair of a query and an earlier token


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Everything about a model that the time of a step depends on."""

    matrices: tuple[MatrixShape, ...]
    attention: tuple[AttentionShape, ...]
    state_bytes: float  # read and written per sequence and step
    mixers: int
    feed_forwards: int
    mixture_layers: int


@lru_cache(maxsize=32)
def model_shape(model: ModelSpec) -> ModelShape:
    """Return `model` summed over its layers."""
    attention: Counter[AttentionShape] = Counter()
    state = 0.0
    mixers = feed_forwards = mixtures = 0
    for layer, count in layer_counts(model):
        for mixer in layer.mixers:
            for shape in _attention_shapes(mixer):
                attention[shape] += count
            state += count * _state_bytes(mixer)
        mixers += count * bool(layer.mixers)
        feed_forwards += count * (layer.feed_forward is not None)
        mixtures += count * isinstance(layer.feed_forward, MixtureFeedForward)
    return ModelShape(
        matrices=_matrix_shapes(model),
        attention=_merged(attention),
        state_bytes=state,
        mixers=mixers,
        feed_forwards=feed_forwards,
        mixture_layers=mixtures,
    )


def _matrix_shapes(model: ModelSpec) -> tuple[MatrixShape, ...]:
    sums: Counter[tuple[Role, int | None, bool, int, int]] = Counter()
    for layer, count in layer_counts(model):
        experts, chosen = _experts(layer.feed_forward)
        for group in layer_weight_groups(layer, hidden=model.hidden):
            routed = (experts, chosen) if group.role is Role.ROUTED_EXPERT else (0, 0)
            sums[group.role, group.columns, group.matrix, *routed] += count * group.parameters
    for group in outer_weight_groups(model):
        sums[group.role, group.columns, group.matrix, 0, 0] += group.parameters
    if model.tied_embeddings:  # the embedding is multiplied once more as the head
        sums[Role.HEAD, model.vocabulary, True, 0, 0] += model.vocabulary * model.hidden
    return tuple(
        MatrixShape(
            role=role,
            kind=_KINDS[role],
            parameters=parameters,
            columns=columns,
            matrix=matrix,
            experts=experts,
            chosen=chosen,
        )
        for (role, columns, matrix, experts, chosen), parameters in sums.items()
        if role in _KINDS
    )


def _experts(feed_forward: FeedForward | None) -> tuple[int, int]:
    if isinstance(feed_forward, MixtureFeedForward):
        return feed_forward.experts, feed_forward.experts_per_token
    return 0, 0


def _attention_shapes(mixer: Mixer) -> tuple[AttentionShape, ...]:
    """Return what one attention layer reads and multiplies for each token of context."""
    match mixer:
        case GroupedQueryAttention():
            return (_grouped(mixer), *_indexer(mixer.indexer))
        case LatentAttention():
            return (_latent(mixer), *_indexer(mixer.indexer))
        case _:
            return ()


def _grouped(mixer: GroupedQueryAttention) -> AttentionShape:
    value_dim = mixer.value_head_dim or mixer.head_dim
    flop = 2.0 * mixer.heads * (mixer.head_dim + value_dim)
    return AttentionShape(
        window_tokens=_reach(mixer.window_tokens or mixer.chunk_tokens, mixer.indexer),
        heads=mixer.heads,
        kv_heads=mixer.kv_heads,
        kv_elements=mixer.kv_heads * (mixer.head_dim + value_dim),
        kv_bytes=0.0,
        decode_flop=flop,
        prefill_flop=flop,
    )


def _latent(mixer: LatentAttention) -> AttentionShape:
    """Decode absorbs the up projection and works on the latent; prefill expands it to heads.

    Source: arXiv:2405.04434 §2.1.2 and appendix C.
    """
    width = mixer.kv_lora_rank + mixer.rope_head_dim
    expanded = mixer.nope_head_dim + mixer.rope_head_dim + mixer.value_head_dim
    return AttentionShape(
        window_tokens=_reach(mixer.window_tokens, mixer.indexer),
        heads=mixer.heads,
        kv_heads=1,
        kv_elements=width / mixer.compression,
        kv_bytes=float(mixer.extra_cache_bytes_per_token),
        decode_flop=2.0 * mixer.heads * (width + mixer.kv_lora_rank) / mixer.compression,
        prefill_flop=2.0 * mixer.heads * expanded / mixer.compression,
    )


def _reach(window: int | None, indexer: SparseIndexer | None) -> float:
    """Return how many earlier tokens are read at most."""
    return min(float(window or inf), float(indexer.top_tokens) if indexer else inf)


def _indexer(indexer: SparseIndexer | None) -> tuple[AttentionShape, ...]:
    """Return the small attention that scores every earlier token, repeated on every GPU."""
    if indexer is None:
        return ()
    scores = 2.0 * indexer.heads * indexer.head_dim
    return (
        AttentionShape(
            window_tokens=inf,
            heads=1,
            kv_heads=1,
            kv_elements=0.0,
            kv_bytes=float(indexer.cache_bytes_per_token),
            decode_flop=scores,
            prefill_flop=scores,
        ),
    )


def _state_bytes(mixer: Mixer) -> float:
    """Return what one sequence moves in one step besides a cache that grows.

    A recurrent state is read and written back; keys of cross attention are read.
    """
    match mixer:
        case RecurrentMixer():
            kept = mixer.state_elements * mixer.state_element_bytes + 2 * mixer.conv_elements
            return 2.0 * kept
        case CrossAttention():
            return 4.0 * mixer.kv_heads * mixer.head_dim * mixer.source_tokens
        case _:
            return 0.0


def _merged(counts: Counter[AttentionShape]) -> tuple[AttentionShape, ...]:
    return tuple(
        AttentionShape(
            window_tokens=shape.window_tokens,
            heads=shape.heads,
            kv_heads=shape.kv_heads,
            kv_elements=shape.kv_elements * layers,
            kv_bytes=shape.kv_bytes * layers,
            decode_flop=shape.decode_flop * layers,
            prefill_flop=shape.prefill_flop * layers,
        )
        for shape, layers in counts.items()
    )
