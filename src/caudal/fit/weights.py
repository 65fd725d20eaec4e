"""What the weights occupy on the fullest GPU of a replica."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import KEPT_BITS, Role, WeightFormat
from caudal.facts.precisions import weight_format
from caudal.facts.weights import WeightGroup, layer_weight_groups, outer_weight_groups
from caudal.fit.kept_modules import kept_roles
from caudal.fit.serving import Serving
from caudal.fit.tensors import fused_name, fused_slack
from caudal.vocabulary.estimate import Basis, Estimate

# Vocabulary rows are padded to a multiple of this before they are handed out.
# Source: vLLM vllm/model_executor/layers/vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE.
VOCABULARY_PADDING: Final = 64

_INPUT_ROLES: Final = frozenset({Role.EMBEDDING, Role.PER_LAYER_EMBEDDING, Role.POSITION})
_FIRST_STAGE: Final = _INPUT_ROLES | {Role.VISION}
_VOCABULARY_ROLES: Final = frozenset({Role.EMBEDDING, Role.HEAD, Role.PER_LAYER_EMBEDDING})

# How far a recipe's usual skip list is from the one a given checkpoint has: what bits per weight
# of public checkpoints of one format differ by. Chosen from the dev rows' spread (AWQ, GPTQ,
# bitsandbytes within 3 %); whole-file GGUF mixes vary by model (llama-quant.cpp's special cases).
_RECIPE_SPREAD: Final = 1.02
_GGUF_SPREAD: Final = 1.04
# A published size further than this from the shape's is not of these weights (a repository may
# hold two formats): the shape is believed. Chosen.
_BELIEVED: Final = 0.03
# Engines that store MXFP4 experts in whole multiples of so many columns.
_EXPERT_COLUMNS: Final = 256
_PADS_EXPERTS: Final = frozenset({"vllm", "sglang"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightNeeds:
    """The weights of the fullest GPU, and what they are made of."""

    total: Estimate  # bytes
    by_role: tuple[tuple[Role, float], ...]  # bytes, largest first
    stage: int  # the pipeline stage that holds most
    allocation_slack: float  # bytes that PyTorch's allocator adds, see `caudal.fit.tensors`
    host: float = 0.0  # bytes that stay in main memory: llama.cpp's input tables


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
    Leaves out what the serving leaves out: layers for speculation, encoders, the head of a
    pooling model. Where the engine looks tokens up on the host their tables are `host`.
    """
    sizer = _Sizer.of(model, serving)
    stages = [sizer.part(part) for part in _stages(model, serving)]
    sizes = [stage.total for stage in stages]
    fullest = sizes.index(max(sizes))
    host = 0.0
    if serving.engine.input_on_host:
        host = sizer.part(_Part(range(0), _INPUT_ROLES)).total
    return WeightNeeds(
        total=_estimate(sizes[fullest], serving.weight_format, known=sizer.known),
        by_role=tuple(sorted(stages[fullest].by_role.items(), key=lambda each: -each[1])),
        stage=fullest,
        allocation_slack=stages[fullest].slack,
        host=host,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWeights:
    """The bytes of every layer and of what stands around them, each by role."""

    layers: tuple[Mapping[Role, float], ...]
    output: Mapping[Role, float]  # the head (or the embedding that is the head too) and its norm
    input: Mapping[Role, float]  # what turns tokens into vectors
    vision: Mapping[Role, float]
    spread: Estimate  # of one byte: how far all of them may be off

    @property
    def total(self) -> float:
        """Return the bytes of everything, a tied embedding counted at both ends."""
        parts = (*self.layers, self.output, self.input, self.vision)
        return sum(sum(part.values()) for part in parts)


def layer_weights(model: ModelSpec, serving: Serving) -> LayerWeights:
    """Return the bytes of single layers: what an engine that splits by layers hands out."""
    sizer = _Sizer.of(model, serving)
    tail = frozenset(Role) - _FIRST_STAGE
    output = tail | {Role.EMBEDDING} if model.tied_embeddings else tail
    return LayerWeights(
        layers=tuple(
            sizer.part(_Part(range(index, index + 1), frozenset())).by_role
            for index in range(len(model.layers))
        ),
        output=sizer.part(_Part(range(0), output)).by_role,
        input=sizer.part(_Part(range(0), _INPUT_ROLES)).by_role,
        vision=sizer.part(_Part(range(0), frozenset({Role.VISION}))).by_role,
        spread=_estimate(1.0, serving.weight_format, known=sizer.known),
    )


def is_native(model: ModelSpec, stored: WeightFormat) -> bool:
    """Return whether the published checkpoint is in this format."""
    return model.checkpoint.weight_format == stored.name


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


@dataclass(frozen=True, slots=True)
class _Part:
    """What one device holds: layers, and roles of the tensors around them."""

    layers: range
    outer: frozenset[Role]


@dataclass(frozen=True, slots=True)
class _Sizer:
    """The bytes of any part of a model in one serving."""

    model: ModelSpec
    serving: Serving
    native: bool
    factors: Mapping[Role, float] | None

    @classmethod
    def of(cls, model: ModelSpec, serving: Serving) -> "_Sizer":
        native = is_native(model, serving.weight_format)
        factors = _checkpoint_factors(model, serving) if native else None
        return cls(model, serving, native, factors)

    @property
    def known(self) -> bool:
        """Whether the sizes are those of the published files."""
        return self.factors is not None

    def part(self, part: _Part) -> "_StageBytes":
        entries = _table(SameModel(self.model), part)
        size = _stage_bytes(self.model, self.serving, entries, native=self.native)
        return size if self.factors is None else size.scaled(self.factors)


def _stages(model: ModelSpec, serving: Serving) -> tuple[_Part, ...]:
    """Return the pipeline stages: tables on the first, the head on the last.

    A tied embedding is needed at both ends, unless tokens are looked up on the host.
    """
    stages = serving.layout.pipeline
    inputs = frozenset({Role.VISION}) if serving.engine.input_on_host else _FIRST_STAGE
    tail = frozenset(Role) - _FIRST_STAGE
    output = tail | {Role.EMBEDDING} if model.tied_embeddings else tail
    return tuple(
        _Part(
            stage_layers(len(model.layers), stage=stage, stages=stages),
            (inputs if stage == 0 else frozenset())
            | (output if stage == stages - 1 else frozenset()),
        )
        for stage in range(stages)
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One group of a stage: in how many layers, and how the checkpoint stores it apart."""

    group: WeightGroup
    count: int
    kept: int  # in how many layers the checkpoint keeps it in 16 bit
    stored_as: str  # another format in which the checkpoint stores it, "" for none
    fused: tuple[int, str] | None  # the tensor it becomes part of, once a layer


@dataclass(frozen=True, slots=True)
class _StageBytes:
    by_role: dict[Role, float]
    slack: float  # what PyTorch's allocator adds

    @property
    def total(self) -> float:
        return sum(self.by_role.values())

    def scaled(self, factors: Mapping[Role, float]) -> "_StageBytes":
        scaled = {role: size * factors[role] for role, size in self.by_role.items()}
        return replace(self, by_role=scaled)


def _stage_bytes(
    model: ModelSpec,
    serving: Serving,
    entries: tuple[_Entry, ...],
    *,
    native: bool,
    padded: bool = True,
) -> _StageBytes:
    by_role: dict[Role, float] = {}
    tensors: dict[tuple[int, str], list[float]] = {}
    for entry in entries:
        role = entry.group.role
        if _is_left_out(role, serving):
            continue
        bits = _mean_bits(model, serving, entry, native=native)
        if padded and role is Role.ROUTED_EXPERT:
            bits += serving.weight_format.bits * (_padded_experts(model, serving) - 1)
        once = entry.group.parameters * tensor_share(entry.group, serving) * bits / 8
        by_role[role] = by_role.get(role, 0.0) + entry.count * once
        if entry.fused is not None:
            tally = tensors.setdefault(entry.fused, [0.0, entry.count])
            tally[0] += once
    slack = sum(count * fused_slack(name, size) for (_, name), (size, count) in tensors.items())
    return _StageBytes(by_role, slack)


def _is_left_out(role: Role, serving: Serving) -> bool:
    match role:
        case Role.MTP:
            return not serving.speculative
        case Role.VISION:
            return serving.text_only
        case Role.HEAD:
            return serving.pooling
        case _:
            return False


def _mean_bits(model: ModelSpec, serving: Serving, entry: _Entry, *, native: bool) -> float:
    """Return the bits of one weight of the group, over the layers that it stands in."""
    stored, role = serving.weight_format, entry.group.role
    bits = stored.bits_for(role, tied_embeddings=model.tied_embeddings)
    if stored.is_gguf or not stored.is_quantised:
        return bits
    if not entry.group.matrix:
        return float(KEPT_BITS)
    if native and entry.stored_as:
        other = weight_format(entry.stored_as)
        return other.bits + other.scale_bits
    if native and bits < KEPT_BITS:
        bits += (KEPT_BITS - bits) * entry.kept / entry.count
    return bits


def _padded_experts(model: ModelSpec, serving: Serving) -> float:
    """Return stored over real columns of MXFP4 experts: kernels want whole multiples of 256.

    The values of both matrices are padded along the dimension that is summed over, their scales
    are not. gpt-oss has 2,880 columns, stored as 3,072: 64.4 GiB instead of 60.8 for the 120B.

    Source: vLLM vllm/model_executor/layers/quantization/utils/mxfp4_utils.py (_swizzle_mxfp4);
    measured in vllm-project/vllm issue 33155.
    """
    if serving.weight_format.name != "mxfp4" or serving.engine.name not in _PADS_EXPERTS:
        return 1.0
    return -(-model.hidden // _EXPERT_COLUMNS) * _EXPERT_COLUMNS / model.hidden


@lru_cache(maxsize=4096)
def _table(same: SameModel, part: _Part) -> tuple[_Entry, ...]:
    """Return the groups of one part, equal ones together: what no format or split changes."""
    model = same.model
    kept, apart = _exceptions(same)
    counts: dict[tuple[int, int], list[int]] = {}
    groups: dict[tuple[int, int], WeightGroup] = {}
    for index in part.layers:
        layer = model.layers[index]
        for place, group in enumerate(layer_weight_groups(layer, hidden=model.hidden)):
            tally = counts.setdefault((id(layer), place), [0, 0])
            tally[0] += 1
            tally[1] += (None, group.role) in kept or (index, group.role) in kept
            groups[id(layer), place] = group
    entries = [_entry(groups[key], key[0], apart, *tally) for key, tally in counts.items()]
    entries += [
        _entry(group, 0, apart, 1, int((None, group.role) in kept))
        for group in outer_weight_groups(model)
        if group.role in part.outer
    ]
    return tuple(entries)


@lru_cache(maxsize=512)
def _exceptions(same: SameModel) -> tuple[frozenset[tuple[int | None, Role]], dict[Role, str]]:
    """Return what the checkpoint keeps in 16 bit, and what it stores in another format."""
    checkpoint = same.model.checkpoint
    apart = {
        role: named
        for pattern, named in checkpoint.module_formats
        for _, role in kept_roles((pattern,))
    }
    return frozenset(kept_roles(checkpoint.kept_modules)), apart


def _entry(group: WeightGroup, layer: int, apart: dict[Role, str], count: int, kept: int) -> _Entry:
    name = fused_name(group.role) if group.matrix else None
    return _Entry(
        group=group,
        count=count,
        kept=kept,
        stored_as=apart.get(group.role, "") if group.matrix else "",
        fused=None if name is None else (layer, name),
    )


def _checkpoint_factors(model: ModelSpec, serving: Serving) -> Mapping[Role, float] | None:
    """Return stored over computed bytes of each role, None where neither is known.

    From the headers of the files where they were read, else from the checkpoint's size, the same
    for all. The published files hold the multi-token-prediction layers in the format of the rest.
    Padding of vocabulary and experts is not in the files and stays on top. A role that the files
    name otherwise takes the factor that makes the sum right.
    """
    if model.checkpoint_bytes is None:
        return None
    whole = replace(serving, layout=Layout(), speculative=True, text_only=False, pooling=False)
    entries = _table(SameModel(model), _Part(range(len(model.layers)), frozenset(Role)))
    computed = _stage_bytes(model, whole, entries, native=True, padded=False).by_role
    if model.stored is None:
        scale = model.checkpoint_bytes / sum(computed.values())
        return dict.fromkeys(Role, scale) if abs(scale - 1) < _BELIEVED else None
    stored = dict(model.stored.by_role)
    known = {role: stored[role] / size for role, size in computed.items() if stored.get(role)}
    apart = {role for role in (Role.MTP, Role.VISION) if role not in known}  # on one side only
    named = sum(size * known.get(role, 1.0) for role, size in computed.items() if role not in apart)
    rest = sum(size for role, size in stored.items() if role not in apart) / named
    return {role: known.get(role, 1.0) * (1.0 if role in apart else rest) for role in Role}


def _estimate(size: float, stored: WeightFormat, *, known: bool) -> Estimate:
    if known or not stored.is_quantised:
        return Estimate.exact(size)
    spread = _GGUF_SPREAD if stored.is_gguf else _RECIPE_SPREAD
    return Estimate.within(size, spread, Basis.CALIBRATED)
