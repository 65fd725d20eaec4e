"""Layouts that people tried, and what their engine said."""

from datetime import date

import pytest

from caudal.facts.engines import engine
from caudal.facts.layout import Layout
from caudal.facts.model import (
    ArchitectureConfidence,
    CheckpointFormat,
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
)
from caudal.facts.precisions import weight_format
from caudal.facts.source import Source
from caudal.fit.layouts import group_bytes, layout_problem
from caudal.fit.tensor_rules import LayoutRule
from caudal.vocabulary.units import GB, Bytes, Tokens

BF16, FP8_BLOCK, AWQ = (weight_format(name) for name in ("bf16", "fp8-block", "awq"))


def model(name: str, mixer: Mixer, feed_forward: FeedForward, *, layers: int) -> ModelSpec:
    return ModelSpec(
        id=name,
        family="llama",
        hidden=4096,
        layers=(Layer(mixers=(mixer,), feed_forward=feed_forward),) * layers,
        vocabulary=32_000,
        tied_embeddings=False,
        max_context_tokens=Tokens(8192),
        checkpoint=CheckpointFormat(weight_format="bf16"),
        total_parameters=1,
        active_parameters=1,
        confidence=ArchitectureConfidence.COPY,
        source=Source("the model's config.json", date(2026, 11, 30)),
    )


def gqa(heads: int, kv_heads: int, head_dim: int = 128) -> GroupedQueryAttention:
    return GroupedQueryAttention(heads=heads, kv_heads=kv_heads, head_dim=head_dim)


WIZARD_33B = model(
    "WizardLM-33B-V1.0", gqa(52, 52), DenseFeedForward(intermediate=17_920), layers=60
)
LLAMA_70B = model("Llama-2-70b", gqa(64, 8), DenseFeedForward(intermediate=28_672), layers=80)
GEMMA_27B = model("gemma-3-27b-it", gqa(32, 16), DenseFeedForward(intermediate=21_504), layers=62)
INTERNVL_78B = model(
    "InternVL3-78B-AWQ", gqa(64, 8), DenseFeedForward(intermediate=29_568), layers=80
)
FLASH_NEXT = model(
    "Qwen3.8-Flash-Next-FP8",
    gqa(24, 2, head_dim=256),
    MixtureFeedForward(experts=512, experts_per_token=10, expert_intermediate=640),
    layers=48,
)
DEEPSEEK_V3 = model(
    "DeepSeek-V3",
    LatentAttention(
        heads=128,
        q_lora_rank=1536,
        kv_lora_rank=512,
        nope_head_dim=128,
        rope_head_dim=64,
        value_head_dim=128,
    ),
    MixtureFeedForward(
        experts=256, experts_per_token=8, expert_intermediate=2048, shared_intermediate=2048
    ),
    layers=61,
)


def test_52_heads_are_not_shared_by_8() -> None:
    # vllm-project/vllm#2652: attention heads (52) must be divisible by tensor parallel size (8).
    problem = layout_problem(WIZARD_33B, Layout(tensor=8), BF16, engine=engine("vllm"))

    assert problem is not None
    assert problem.rule is LayoutRule.ATTENTION_HEADS
    assert (1, 2, 4, 13) == tuple(size for size in problem.rule_sizes if size <= 16)
    # 13 passes the rule on heads, but 17,920 feed-forward columns do not divide by it
    assert (1, 2, 4) == tuple(size for size in problem.legal_sizes if size <= 16)
    assert layout_problem(WIZARD_33B, Layout(tensor=4, pipeline=2), BF16) is None


def test_64_heads_take_three_stages_but_no_third() -> None:
    # vllm-project/vllm#5003: three A100 for a 70B.
    assert layout_problem(LLAMA_70B, Layout(tensor=3), BF16, engine=engine("vllm")) is not None
    assert layout_problem(LLAMA_70B, Layout(pipeline=3), BF16, engine=engine("vllm")) is None
    assert layout_problem(LLAMA_70B, Layout(tensor=4), BF16, engine=engine("vllm")) is None


def test_a_scheduler_may_not_take_three_gpus_for_gemma() -> None:
    # gpustack/gpustack#2259.
    problem = layout_problem(GEMMA_27B, Layout(tensor=3), BF16, engine=engine("vllm", "0.8.5"))

    assert problem is not None
    assert problem.legal_sizes[:4] == (1, 2, 4, 8)


@pytest.mark.parametrize("tensor", [2, 4, 8])
def test_an_expert_of_640_cannot_be_sliced_in_blocks(tensor: int) -> None:
    # vllm-project/vllm#54178: gate+up output size (80) not divisible by block_n = 128. The thread
    # takes 640 for both halves; it is the width of one in the model's configuration.
    problem = layout_problem(FLASH_NEXT, Layout(tensor=tensor), FP8_BLOCK)

    assert problem is not None
    assert problem.rule is LayoutRule.FP8_BLOCK
    assert f"{640 // tensor} each" in problem.problem
    assert layout_problem(FLASH_NEXT, Layout(), FP8_BLOCK) is None
    assert layout_problem(FLASH_NEXT, Layout(tensor=tensor, expert=True), FP8_BLOCK) is None


def test_231_groups_are_not_halved() -> None:
    # vllm-project/vllm#21695: 29568 / 128 = 231, which means TP is limited to 1.
    problem = layout_problem(INTERNVL_78B, Layout(tensor=2), AWQ, engine=engine("vllm"))

    assert problem is not None
    assert problem.rule is LayoutRule.INT4_GROUP
    assert 29_568 / 128 == 231
    assert (1,) == tuple(size for size in problem.legal_sizes if size <= 16)
    assert "padded" in problem.remedy


def test_mig_slices_are_not_joined() -> None:
    # vllm-project/vllm#7211.
    problem = layout_problem(LLAMA_70B, Layout(tensor=2), BF16, mig=True)

    assert problem is not None
    assert problem.rule is LayoutRule.MIG


def test_a_latent_cache_does_not_limit_the_tensor_group() -> None:
    # inference-sim/inference-sim#1534: GQA's cache is sharded, MLA's latent is replicated.
    assert layout_problem(DEEPSEEK_V3, Layout(tensor=16), FP8_BLOCK) is None


def test_unequal_cards_count_as_the_smallest() -> None:
    # vllm-project/vllm#50735: about 12 GB of the 32 GB card stay unusable.
    cards = [Bytes(32 * GB), Bytes(20 * GB), Bytes(20 * GB)]

    assert group_bytes(cards) == 60 * GB
    assert sum(cards) - group_bytes(cards) == 12 * GB


def test_a_24_gb_and_an_8_gb_card_make_16() -> None:
    # vllm-project/vllm#2317: the split is equal, so 14.5 GB of FP16 weights leave nothing.
    assert group_bytes([Bytes(24 * GB), Bytes(8 * GB)]) == 16 * GB
