"""What tensor parallelism divides in a model, and what each slice must be a multiple of."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from caudal.facts.model import (
    CrossAttention,
    DenseFeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
    RecurrentMixer,
)
from caudal.facts.precision import WeightFormat

# The fused experts of vLLM halve an INT4 group that does not fit a slice, down to 32 inputs.
# Source: github:vllm-project/vllm vllm/model_executor/layers/quantization/moe_wna16.py.
SMALLEST_EXPERT_GROUP: Final = 32


class LayoutRule(StrEnum):
    """What a layout can break."""

    ATTENTION_HEADS = "attention heads"
    KV_HEADS = "KV heads"
    RECURRENT_HEADS = "recurrent heads"
    WIDTH = "feed-forward width"
    EXPERTS = "experts"
    FP8_BLOCK = "FP8 block"
    INT4_GROUP = "quantisation group"
    LAYERS = "layers"
    ENGINE = "engine"
    MIG = "MIG"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRule:
    """One size that tensor parallelism slices, and what a slice must be a multiple of."""

    rule: LayoutRule
    what: str
    size: int
    block: int = 1
    replicated: bool = False  # with more GPUs than `size`, each is held by several of them
    smallest: int = 0  # a slice is never smaller than this: one whole KV head
    unsliced_too: bool = False  # the rule holds on one GPU as well

    def allows(self, tensor: int) -> bool:
        """Return whether `tensor` GPUs can share this size."""
        if tensor == 1 and not self.unsliced_too:
            return True
        if self.replicated and tensor > self.size:
            return tensor % self.size == 0
        if self.smallest:
            return max(self.size // tensor, self.smallest) % self.block == 0
        return self.size % (tensor * self.block) == 0

    def explain(self, tensor: int) -> str:
        """Return the rule's numbers for a size that it does not allow."""
        if self.block == 1:
            return f"{self.size:,} {self.what} cannot be shared by {tensor} GPUs"
        shard = max(self.size / tensor, self.smallest)
        return (
            f"{self.what} of {self.size:,} over {tensor} GPUs is {shard:,.6g} each, "
            f"no multiple of {self.block}"
        )


def tensor_rules(
    model: ModelSpec, weight_format: WeightFormat, *, expert: bool = False
) -> tuple[TensorRule, ...]:
    """Return what tensor parallelism divides in `model`, the usual causes of refusal first."""
    distinct = {id(layer): layer for layer in model.layers}.values()
    rules: dict[TensorRule, None] = {}
    for layer in distinct:
        rules.update(dict.fromkeys(_head_rules(layer)))
    for layer in distinct:
        rules.update(dict.fromkeys(_width_rules(layer, expert=expert)))
    for layer in distinct:
        rules.update(dict.fromkeys(_storage_rules(model, layer, weight_format, expert=expert)))
    return tuple(rules)


def _head_rules(layer: Layer) -> Iterator[TensorRule]:
    for mixer in layer.mixers:
        match mixer:
            case GroupedQueryAttention() | CrossAttention():
                yield TensorRule(
                    rule=LayoutRule.ATTENTION_HEADS, what="attention heads", size=mixer.heads
                )
                yield TensorRule(
                    rule=LayoutRule.KV_HEADS, what="KV heads", size=mixer.kv_heads, replicated=True
                )
            case LatentAttention():
                yield TensorRule(
                    rule=LayoutRule.ATTENTION_HEADS, what="attention heads", size=mixer.heads
                )
            case RecurrentMixer():
                yield TensorRule(
                    rule=LayoutRule.RECURRENT_HEADS, what="recurrent heads", size=mixer.heads
                )
            case _:
                assert_never(mixer)


def _width_rules(layer: Layer, *, expert: bool) -> Iterator[TensorRule]:
    match layer.feed_forward:
        case DenseFeedForward(intermediate=width):
            yield _width("feed-forward columns", width)
        case MixtureFeedForward() as mixture:
            if expert:
                yield TensorRule(
                    rule=LayoutRule.EXPERTS, what="experts (whole)", size=mixture.experts
                )
            else:
                yield _width("columns of an expert", mixture.expert_intermediate)
            if mixture.shared_intermediate:
                yield _width("columns of the shared experts", mixture.shared_intermediate)
            if mixture.parallel_dense_intermediate:
                yield _width("feed-forward columns", mixture.parallel_dense_intermediate)
        case None:
            return
        case _:
            assert_never(layer.feed_forward)


def _width(what: str, size: int) -> TensorRule:
    return TensorRule(rule=LayoutRule.WIDTH, what=what, size=size)


def _storage_rules(
    model: ModelSpec, layer: Layer, weight_format: WeightFormat, *, expert: bool
) -> Iterator[TensorRule]:
    """Return the rules of formats whose scales cover several inputs or outputs.

    GGUF is not sliced by the engines that load it; MXFP4 experts are padded by theirs.
    """
    group = weight_format.group
    if group is None or weight_format.is_gguf or weight_format.name == "mxfp4":
        return
    blocks_outputs = weight_format.name == "fp8-block"
    rule = LayoutRule.FP8_BLOCK if blocks_outputs else LayoutRule.INT4_GROUP
    if not _keeps_attention(model):
        for mixer in layer.mixers:
            yield from _attention_storage_rules(mixer, rule, group, outputs=blocks_outputs)
    match layer.feed_forward:
        case DenseFeedForward(intermediate=width):
            yield TensorRule(rule=rule, what="feed-forward width", size=width, block=group)
        case MixtureFeedForward() as mixture:
            if not expert:
                yield from _expert_storage_rules(mixture, rule, group)
            if mixture.shared_intermediate:
                yield TensorRule(
                    rule=rule,
                    what="shared experts' width",
                    size=mixture.shared_intermediate,
                    block=group,
                )
        case None:
            return
        case _:
            assert_never(layer.feed_forward)


def _expert_storage_rules(
    mixture: MixtureFeedForward, rule: LayoutRule, group: int
) -> Iterator[TensorRule]:
    blocked = rule is LayoutRule.FP8_BLOCK
    yield TensorRule(
        rule=rule,
        what="width of an expert",
        size=mixture.expert_intermediate,
        block=group if blocked else min(group, SMALLEST_EXPERT_GROUP),
        unsliced_too=blocked,  # gate and up meet in one matrix, each of whole blocks
    )


def _attention_storage_rules(
    mixer: Mixer, rule: LayoutRule, group: int, *, outputs: bool
) -> Iterator[TensorRule]:
    """Return the rules on the output projection's inputs and, for blocks, on query, key, value."""
    match mixer:
        case GroupedQueryAttention() | CrossAttention():
            value_dim = mixer.head_dim
            if isinstance(mixer, GroupedQueryAttention):
                value_dim = mixer.value_head_dim or mixer.head_dim
            yield TensorRule(
                rule=rule, what="attention output", size=mixer.heads * value_dim, block=group
            )
            # heads wider than a block have loaders of their own (MiMo-V2-Flash: 192, runs at TP 8)
            if outputs and mixer.head_dim <= group:
                yield TensorRule(
                    rule=rule,
                    what="keys",
                    size=mixer.kv_heads * mixer.head_dim,
                    block=group,
                    smallest=mixer.head_dim,
                )
        case LatentAttention():
            yield TensorRule(
                rule=rule,
                what="attention output",
                size=mixer.heads * mixer.value_head_dim,
                block=group,
            )
        case RecurrentMixer():
            return  # its projections' widths are not part of the facts
        case _:
            assert_never(mixer)


def _keeps_attention(model: ModelSpec) -> bool:
    """Return whether the checkpoint names its attention projections among those left in 16 bit."""
    return any(
        module.rstrip(".*").endswith(("self_attn", "o_proj", "qkv_proj"))
        for module in model.checkpoint.kept_modules
    )
