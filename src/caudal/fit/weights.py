"""What the weights occupy on the fullest GPU of a replica."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from caudal.facts.layout import Layout
from caudal.facts.model import GroupedQueryAttention, LatentAttention, ModelSpec
from caudal.facts.precision import KEPT_BITS, Role, WeightFormat
from caudal.facts.weights import WeightGroup, layer_weight_groups, outer_weight_groups
from caudal.fit.kept_modules import kept_roles
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Basis, Estimate

# Vocabulary rows are padded to a multiple of this before they are handed out.
# Source: vLLM vllm/model_executor/layers/vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE.
VOCABULARY_PADDING: Final = 64

_FIRST_STAGE: Final = frozenset({Role.POSITION, Role.PER_LAYER_EMBEDDING, Role.VISION})
_VOCABULARY_ROLES: Final = frozenset({Role.EMBEDDING, Role.HEAD, Role.PER_LAYER_EMBEDDING})

# How far a recipe's usual skip list is from the one a given checkpoint has: what bits per weight
# of public checkpoints of one format differ by. Chosen from the dev rows' spread (AWQ, GPTQ,
# bitsandbytes within 3 %); whole-file GGUF mixes vary by model (llama-quant.cpp's special cases).
_RECIPE_SPREAD: Final = 1.02
_GGUF_SPREAD: Final = 1.04
# A published size further than this from the shape's is not of these weights (a repository may
# hold two formats): the shape is believed. Chosen.
_BELIEVED: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightNeeds:
    """The weights of the fullest GPU, and what they are made of."""

    total: Estimate  # bytes
    by_role: tuple[tuple[Role, float], ...]  # bytes, largest first
    stage: int  # the pipeline stage that holds most


@dataclass(frozen=True, slots=True, eq=False)
class SameModel:
    """A model as a cache key: compared by identity, since hashing a whole stack is slow."""

    model: ModelSpec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameModel) and other.model is self.model

    def __hash__(self) -> int:
        return id(self.model)


def weight_needs(model: ModelSpec, serving: Serving) -> WeightNeeds:
    """Return the bytes of weights on the fullest GPU of one replica.

    `Σ parameters · share(role, TP, EP) · bits(role) / 8` over the groups of one pipeline stage,
    the largest stage deciding. A share is `ceil(units / TP) / units`, with heads, KV heads,
    intermediate columns, experts or padded vocabulary rows as units; norms, routers, MLA's down
    projections and indexers are whole on every GPU. A checkpoint of known size scales the sum.
    Leaves out what is loaded for speculation unless `serving.speculative`.
    """
    native = is_native(model, serving.weight_format)
    stages = [
        _stage_bytes(model, serving, entries, native=native)
        for entries in _tables(SameModel(model), serving.layout.pipeline)
    ]
    sizes = [sum(by_role.values()) for by_role in stages]
    size = max(sizes)
    stage = sizes.index(size)
    scale = _checkpoint_scale(model, serving) if native else None
    total = size if scale is None else size * scale
    return WeightNeeds(
        total=_estimate(total, serving.weight_format, known=scale is not None),
        by_role=tuple(
            (role, part * total / size)
            for role, part in sorted(stages[stage].items(), key=lambda entry: -entry[1])
        ),
        stage=stage,
    )


def is_native(model: ModelSpec, weight_format: WeightFormat) -> bool:
    """Return whether the published checkpoint is stored in `weight_format`."""
    return model.checkpoint.weight_format == weight_format.name


def stage_layers(layers: int, *, stage: int, stages: int) -> range:
    """Return the layers of one pipeline stage.

    Every stage has `layers // stages`; what is left goes to the stages before the last, from the
    back, because the last one holds the head.

    Source: vLLM vllm/distributed/utils.py, get_pp_indices.
    """
    whole, left = divmod(layers, stages)
    sizes = [whole] * stages
    for extra in range(left):
        sizes[-(extra + 2) % stages] += 1
    first = sum(sizes[:stage])
    return range(first, first + sizes[stage])


def tensor_share(group: WeightGroup, serving: Serving) -> float:
    """Return which part of `group` the fullest GPU of a tensor-parallel group holds."""
    tensor = serving.layout.tensor
    if group.columns is None:
        # Encoders for images are sliced like the rest (vLLM mm_encoder_tp_mode "weights").
        return 1 / tensor if group.role is Role.VISION else 1.0
    if group.role in _VOCABULARY_ROLES and serving.engine.supports_tensor_parallel:
        padded = -(-group.columns // VOCABULARY_PADDING) * VOCABULARY_PADDING
        return -(-padded // tensor) / group.columns
    if tensor == 1:
        return 1.0
    if group.role is Role.ROUTED_EXPERT and serving.layout.expert:
        return -(-group.experts // tensor) / group.experts
    return -(-group.columns // tensor) / group.columns


def rotary_bytes(model: ModelSpec, serving: Serving) -> int:
    """Return the table of rotary angles that an engine keeps on every GPU.

    `positions · rotary elements · 2 bytes`, one table for each kind of head. It is why an 8B of
    14.958 GiB loads as 14.989 GiB in vLLM.

    Source: vLLM vllm/model_executor/layers/rotary_embedding.py (cos_sin_cache); measured in
    vllm-project/vllm issue 10517.
    """
    widths: set[int] = set()
    for layer in set(model.layers):
        for mixer in layer.mixers:
            match mixer:
                case GroupedQueryAttention() if not model.position_parameters:
                    widths.add(mixer.head_dim)
                case LatentAttention():
                    widths.add(mixer.rope_head_dim)
                case _:
                    pass
    positions = max(model.max_context_tokens, serving.longest(model))
    return sum(2 * width * positions for width in widths)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One group of a stage: in how many layers, and in how many the checkpoint keeps 16 bit."""

    group: WeightGroup
    count: int
    kept: int


def _stage_bytes(
    model: ModelSpec, serving: Serving, entries: tuple[_Entry, ...], *, native: bool
) -> dict[Role, float]:
    weight_format = serving.weight_format
    skips = weight_format.is_quantised and not weight_format.is_gguf
    by_role: dict[Role, float] = {}
    for entry in entries:
        group = entry.group
        role = group.role
        if (role is Role.MTP and not serving.speculative) or (
            role is Role.VISION and serving.text_only
        ):
            continue
        bits = weight_format.bits_for(role, tied_embeddings=model.tied_embeddings)
        weighted = entry.count * bits
        if skips and not group.matrix:
            weighted = float(entry.count * KEPT_BITS)
        elif skips and native:
            weighted += entry.kept * (max(bits, KEPT_BITS) - bits)
        size = group.parameters * tensor_share(group, serving) * weighted / 8
        by_role[role] = by_role.get(role, 0.0) + size
    return by_role


@lru_cache(maxsize=512)
def _tables(same: SameModel, stages: int) -> tuple[tuple[_Entry, ...], ...]:
    """Return the groups of every stage, equal ones together: what no format or split changes."""
    model = same.model
    kept = kept_roles(model.checkpoint.kept_modules)
    tables = []
    for stage in range(stages):
        counts: dict[tuple[int, int], list[int]] = {}
        groups: dict[tuple[int, int], WeightGroup] = {}
        for index in stage_layers(len(model.layers), stage=stage, stages=stages):
            layer = model.layers[index]
            for place, group in enumerate(layer_weight_groups(layer, hidden=model.hidden)):
                tally = counts.setdefault((id(layer), place), [0, 0])
                tally[0] += 1
                tally[1] += (None, group.role) in kept or (index, group.role) in kept
                groups[id(layer), place] = group
        entries = [_Entry(groups[key], *tally) for key, tally in counts.items()]
        entries += [
            _Entry(group, 1, int((None, group.role) in kept))
            for group in outer_weight_groups(model)
            if _stands_in(group, model, first=stage == 0, last=stage == stages - 1)
        ]
        tables.append(tuple(entries))
    return tuple(tables)


def _stands_in(group: WeightGroup, model: ModelSpec, *, first: bool, last: bool) -> bool:
    """Return whether a stage holds `group`: tables on the first, the head on the last.

    A tied embedding is needed at both ends.
    """
    if group.role is Role.EMBEDDING:
        return first or (last and model.tied_embeddings)
    return first if group.role in _FIRST_STAGE else last


def _checkpoint_scale(model: ModelSpec, serving: Serving) -> float | None:
    """Return published over computed bytes of the checkpoint, None where it is not known.

    The published files hold the multi-token-prediction layers in the format of the rest.
    """
    published = model.checkpoint_bytes
    if published is None:
        return None
    whole = replace(serving, layout=Layout(), speculative=True, text_only=False)
    entries = _tables(SameModel(model), 1)[0]
    padding = model.vocabulary % VOCABULARY_PADDING  # files are not padded
    computed = sum(_stage_bytes(model, whole, entries, native=True).values())
    assert padding >= 0
    scale = published / computed
    return scale if abs(scale - 1) < _BELIEVED else None


def _estimate(size: float, weight_format: WeightFormat, *, known: bool) -> Estimate:
    if known or not weight_format.is_quantised:
        return Estimate.exact(size)
    spread = _GGUF_SPREAD if weight_format.is_gguf else _RECIPE_SPREAD
    return Estimate.within(size, spread, Basis.CALIBRATED)
