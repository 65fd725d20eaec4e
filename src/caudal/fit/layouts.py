"""Which splits of a model over GPUs its shape, its storage and the engine allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from caudal.facts.engine import EngineSpec
from caudal.facts.layout import Layout
from caudal.facts.model import MixtureFeedForward, ModelSpec
from caudal.facts.precision import WeightFormat
from caudal.fit.tensor_rules import LayoutRule, TensorRule, tensor_rules
from caudal.vocabulary.errors import InvalidLayoutError
from caudal.vocabulary.units import Bytes

LARGEST_TENSOR_GROUP: Final = 64  # chosen: how far legal sizes are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutProblem:
    """Why a layout is not legal: the rule, the numbers, and the nearest sizes that are."""

    rule: LayoutRule
    problem: str
    remedy: str
    rule_sizes: tuple[int, ...] = ()  # tensor sizes up to 64 that this one rule allows
    legal_sizes: tuple[int, ...] = ()  # tensor sizes up to 64 that all rules allow

    def error(self) -> InvalidLayoutError:
        """Return the problem as an error for a caller who asked for this very layout."""
        return InvalidLayoutError(self.problem, remedy=self.remedy)


def layout_problem(
    model: ModelSpec,
    layout: Layout,
    weight_format: WeightFormat,
    *,
    engine: EngineSpec | None = None,
    mig: bool = False,
) -> LayoutProblem | None:
    """Return the first rule that `layout` breaks, None where it is legal.

    Tensor parallelism: attention, recurrent and feed-forward sizes divide; KV heads divide or are
    replicated; slices of block-quantised matrices hold whole blocks. MLA's latent is replicated,
    the vocabulary padded: neither ever blocks. Experts are sliced, or under expert parallelism
    spread whole. Pipeline stages need a layer each. Engines that split by layer have no other rule.

    Source: github:vllm-project/vllm vllm/model_executor/layers (linear.py, quantization/fp8.py).
    """
    refused = _refused_outright(model, layout, engine=engine, mig=mig)
    if refused is not None:
        return refused
    if layout.tensor == 1 and weight_format.group is None:
        return None
    rules = tensor_rules(model, weight_format, expert=layout.expert)
    broken = next((rule for rule in rules if not rule.allows(layout.tensor)), None)
    if broken is None:
        return None
    legal = _sizes(rules)
    return LayoutProblem(
        rule=broken.rule,
        problem=f"{model.id} as {layout}: {broken.explain(layout.tensor)}.",
        remedy=_remedy(model, layout, legal, broken),
        rule_sizes=_sizes((broken,)),
        legal_sizes=legal,
    )


def legal_layouts(
    model: ModelSpec,
    weight_format: WeightFormat,
    *,
    gpus: int,
    engine: EngineSpec | None = None,
) -> tuple[Layout, ...]:
    """Return every legal layout of one replica on exactly `gpus` GPUs, widest tensor group first.

    Mixtures of experts are listed with sliced and with whole experts where the engine has both.
    """
    candidates = (
        Layout(tensor=tensor, pipeline=gpus // tensor, expert=expert)
        for tensor in range(gpus, 0, -1)
        if gpus % tensor == 0
        for expert in ((False, True) if tensor > 1 and _has_experts(model) else (False,))
    )
    return tuple(
        layout
        for layout in candidates
        if layout_problem(model, layout, weight_format, engine=engine) is None
    )


def group_bytes(usable_bytes: Sequence[Bytes], *, splits_by_layer: bool = False) -> Bytes:
    """Return what a group of possibly unequal cards offers to one model.

    A tensor group takes the same share of each, so the smallest card counts for all; a split by
    layer can fill each card.

    Source: vllm-project/vllm#50735 (32 + 20 + 20 GB serve as 3 x 20 GB).
    """
    if splits_by_layer:
        return Bytes(sum(usable_bytes))
    return Bytes(min(usable_bytes) * len(usable_bytes))


def _refused_outright(
    model: ModelSpec, layout: Layout, *, engine: EngineSpec | None, mig: bool
) -> LayoutProblem | None:
    """Return what forbids a layout whatever the sizes of the matrices."""
    if mig and layout.gpus > 1:
        return LayoutProblem(
            rule=LayoutRule.MIG,
            problem=f"{layout} would join MIG slices, which have no way to reach each other.",
            remedy="Use one slice a replica, a larger slice, or whole GPUs.",
        )
    if layout.pipeline > len(model.layers):
        return LayoutProblem(
            rule=LayoutRule.LAYERS,
            problem=f"{model.id} has {len(model.layers)} layers, too few for {layout.pipeline}"
            " pipeline stages.",
            remedy=f"Use at most {len(model.layers)} stages.",
        )
    if layout.expert and not _has_experts(model):
        return LayoutProblem(
            rule=LayoutRule.EXPERTS,
            problem=f"{model.id} has no experts to spread.",
            remedy="Use tensor parallelism without expert parallelism.",
        )
    return None if engine is None else _engine_problem(layout, engine)


def _engine_problem(layout: Layout, engine: EngineSpec) -> LayoutProblem | None:
    if layout.tensor > 1 and not engine.supports_tensor_parallel:
        lacking, remedy = "tensor parallelism", "Split by layers instead (pipeline)."
    elif layout.pipeline > 1 and not engine.supports_pipeline_parallel:
        lacking, remedy = "pipeline parallelism", "Use tensor parallelism or more replicas."
    elif layout.expert and layout.tensor > 1 and not engine.supports_expert_parallel:
        lacking, remedy = "expert parallelism", "Slice the experts instead."
    else:
        return None
    return LayoutProblem(
        rule=LayoutRule.ENGINE,
        problem=f"{engine.title} {engine.versions} has no {lacking}, which {layout} needs.",
        remedy=remedy,
    )


def _has_experts(model: ModelSpec) -> bool:
    return any(isinstance(layer.feed_forward, MixtureFeedForward) for layer in model.layers)


def _sizes(rules: Sequence[TensorRule]) -> tuple[int, ...]:
    return tuple(
        tensor
        for tensor in range(1, LARGEST_TENSOR_GROUP + 1)
        if all(rule.allows(tensor) for rule in rules)
    )


def _remedy(model: ModelSpec, layout: Layout, legal: tuple[int, ...], broken: TensorRule) -> str:
    if not legal:
        return "Use a checkpoint in another precision, or one padded to whole blocks."
    below = [size for size in legal if size < layout.tensor][-1:]
    above = [size for size in legal if size > layout.tensor][:1]
    advice = f"Nearest legal tensor sizes: {', '.join(map(str, below + above))}"
    if layout.gpus <= len(model.layers):
        advice += f"; or {layout.gpus} pipeline stages"
    if broken.block > 1:
        experts = _has_experts(model) and not layout.expert
        advice += "; or expert parallelism" if experts else "; or a checkpoint padded to blocks"
    return advice + "."
