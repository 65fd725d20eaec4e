from datetime import date

import pytest

from caudal.facts.engines import engine
from caudal.facts.layout import Layout
from caudal.facts.model import (
    ArchitectureConfidence,
    CheckpointFormat,
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
from caudal.facts.precisions import weight_format
from caudal.facts.source import Source
from caudal.fit.layouts import group_bytes, layout_problem, legal_layouts
from caudal.fit.tensor_rules import LayoutRule
from caudal.vocabulary.errors import InvalidLayoutError
from caudal.vocabulary.units import GB, Bytes, Tokens

BF16, FP8_BLOCK, INT4 = (weight_format(name) for name in ("bf16", "fp8-block", "int4"))
DENSE = DenseFeedForward(intermediate=28_672)
LLAMA_70B = GroupedQueryAttention(heads=64, kv_heads=8, head_dim=128)


def model(
    *mixers: Mixer,
    feed_forward: FeedForward | None = DENSE,
    layers: int = 80,
    kept_modules: tuple[str, ...] = (),
) -> ModelSpec:
    layer = Layer(mixers=mixers or (LLAMA_70B,), feed_forward=feed_forward)
    return ModelSpec(
        id="example/model",
        family="llama",
        hidden=8192,
        layers=(layer,) * layers,
        vocabulary=128_256,
        tied_embeddings=False,
        max_context_tokens=Tokens(131_072),
        checkpoint=CheckpointFormat(weight_format="bf16", kept_modules=kept_modules),
        total_parameters=70_000_000_000,
        active_parameters=70_000_000_000,
        confidence=ArchitectureConfidence.FILE,
        source=Source("a test", date(2026, 11, 30)),
    )


@pytest.mark.parametrize("tensor", [1, 2, 4, 8, 16, 32, 64])
def test_kv_heads_divide_or_are_replicated(tensor: int) -> None:
    assert layout_problem(model(), Layout(tensor=tensor), BF16) is None


def test_attention_heads_must_divide() -> None:
    problem = layout_problem(model(), Layout(tensor=3), BF16)

    assert problem is not None
    assert problem.rule is LayoutRule.ATTENTION_HEADS
    assert "64 attention heads cannot be shared by 3 GPUs" in problem.problem
    assert problem.legal_sizes == (1, 2, 4, 8, 16, 32, 64)
    assert "2, 4" in problem.remedy
    assert "3 pipeline stages" in problem.remedy


def test_kv_heads_that_neither_divide_nor_repeat_are_refused() -> None:
    # Phi-3-medium: 40 heads, 10 KV heads.
    phi = model(
        GroupedQueryAttention(heads=40, kv_heads=10, head_dim=128),
        feed_forward=DenseFeedForward(intermediate=17_920),
        layers=40,
    )

    problem = layout_problem(phi, Layout(tensor=4), BF16)

    assert problem is not None
    assert problem.rule is LayoutRule.KV_HEADS
    assert layout_problem(phi, Layout(tensor=5), BF16) is None
    assert layout_problem(phi, Layout(tensor=20), BF16) is None


def test_the_latent_of_mla_is_replicated() -> None:
    deepseek = model(
        LatentAttention(
            heads=128,
            q_lora_rank=1536,
            kv_lora_rank=512,
            nope_head_dim=128,
            rope_head_dim=64,
            value_head_dim=128,
        ),
        feed_forward=MixtureFeedForward(
            experts=256, experts_per_token=8, expert_intermediate=2048, shared_intermediate=2048
        ),
        layers=61,
    )

    assert layout_problem(deepseek, Layout(tensor=16), FP8_BLOCK) is None
    problem = layout_problem(deepseek, Layout(tensor=32), FP8_BLOCK)
    assert problem is not None
    assert problem.rule is LayoutRule.FP8_BLOCK


def test_recurrent_heads_must_divide() -> None:
    hybrid = model(
        RecurrentMixer(kind="mamba2", heads=48, parameters=1, state_elements=1, conv_elements=1),
        LLAMA_70B,
    )

    assert layout_problem(hybrid, Layout(tensor=16), BF16) is None
    problem = layout_problem(hybrid, Layout(tensor=32), BF16)
    assert problem is not None
    assert problem.rule is LayoutRule.RECURRENT_HEADS


def test_slices_of_fp8_blocks_must_be_whole() -> None:
    # Qwen3-235B-A22B-FP8: 1536 / 8 = 192, no multiple of 128 (vllm#17569).
    qwen = model(
        GroupedQueryAttention(heads=64, kv_heads=4, head_dim=128),
        feed_forward=MixtureFeedForward(experts=128, experts_per_token=8, expert_intermediate=1536),
        layers=94,
    )

    problem = layout_problem(qwen, Layout(tensor=8), FP8_BLOCK)

    assert problem is not None
    assert problem.rule is LayoutRule.FP8_BLOCK
    assert "192" in problem.problem
    assert "expert parallelism" in problem.remedy
    assert layout_problem(qwen, Layout(tensor=4), FP8_BLOCK) is None
    assert layout_problem(qwen, Layout(tensor=8), BF16) is None
    assert layout_problem(qwen, Layout(tensor=8, expert=True), FP8_BLOCK) is None


def test_a_replicated_kv_head_still_holds_whole_blocks() -> None:
    narrow = model(
        GroupedQueryAttention(heads=64, kv_heads=8, head_dim=64),
        feed_forward=DenseFeedForward(intermediate=32_768),
    )

    assert layout_problem(narrow, Layout(tensor=4), FP8_BLOCK) is None
    problem = layout_problem(narrow, Layout(tensor=8), FP8_BLOCK)
    assert problem is not None
    assert "keys" in problem.problem


def test_attention_left_in_16_bit_has_no_blocks() -> None:
    kept = model(
        GroupedQueryAttention(heads=64, kv_heads=8, head_dim=64),
        feed_forward=DenseFeedForward(intermediate=32_768),
        kept_modules=("lm_head", "model.layers.*.self_attn.*"),
    )

    assert layout_problem(kept, Layout(tensor=8), FP8_BLOCK) is None


def test_fused_experts_take_smaller_int4_groups() -> None:
    # Qwen3-30B-A3B in INT4: 768 / 8 = 96 inputs, three groups of 32.
    qwen = model(
        GroupedQueryAttention(heads=32, kv_heads=4, head_dim=128),
        feed_forward=MixtureFeedForward(experts=128, experts_per_token=8, expert_intermediate=768),
        layers=48,
    )

    assert layout_problem(qwen, Layout(tensor=8), INT4) is None


def test_whole_experts_must_divide() -> None:
    odd = model(
        feed_forward=MixtureFeedForward(experts=60, experts_per_token=4, expert_intermediate=1408)
    )

    assert layout_problem(odd, Layout(tensor=4, expert=True), BF16) is None
    problem = layout_problem(odd, Layout(tensor=8, expert=True), BF16)
    assert problem is not None
    assert problem.rule is LayoutRule.EXPERTS


def test_mxfp4_experts_are_padded() -> None:
    # gpt-oss-120b runs with TP=8: 2880 / 8 = 360, no multiple of 32.
    gpt_oss = model(
        GroupedQueryAttention(heads=64, kv_heads=8, head_dim=64),
        feed_forward=MixtureFeedForward(experts=128, experts_per_token=4, expert_intermediate=2880),
        layers=36,
    )

    assert layout_problem(gpt_oss, Layout(tensor=8), weight_format("mxfp4")) is None


@pytest.mark.parametrize(("stages", "legal"), [(80, True), (81, False)])
def test_every_stage_holds_a_layer(stages: int, *, legal: bool) -> None:
    problem = layout_problem(model(), Layout(pipeline=stages), BF16)

    assert legal == (problem is None)


def test_a_dense_model_has_no_experts_to_spread() -> None:
    problem = layout_problem(model(), Layout(tensor=2, expert=True), BF16)

    assert problem is not None
    assert problem.rule is LayoutRule.EXPERTS


def test_a_split_by_layers_takes_any_number_of_cards() -> None:
    llama_cpp = engine("llama.cpp")
    q4 = weight_format("q4_k_m")

    assert layout_problem(model(), Layout(pipeline=3), q4, engine=llama_cpp) is None
    problem = layout_problem(model(), Layout(tensor=2), q4, engine=llama_cpp)
    assert problem is not None
    assert problem.rule is LayoutRule.ENGINE


@pytest.mark.parametrize(
    ("layout", "version"), [(Layout(pipeline=2), "0.2.7"), (Layout(tensor=2, expert=True), "0.2.7")]
)
def test_an_engine_without_the_means_refuses(layout: Layout, version: str) -> None:
    mixture = model(
        feed_forward=MixtureFeedForward(experts=8, experts_per_token=2, expert_intermediate=14_336)
    )

    problem = layout_problem(mixture, layout, BF16, engine=engine("vllm", version))

    assert problem is not None
    assert problem.rule is LayoutRule.ENGINE
    assert layout_problem(mixture, layout, BF16, engine=engine("vllm")) is None


def test_mig_slices_serve_alone() -> None:
    assert layout_problem(model(), Layout(), BF16, mig=True) is None
    problem = layout_problem(model(), Layout(tensor=2), BF16, mig=True)
    assert problem is not None
    assert problem.rule is LayoutRule.MIG


def test_legal_layouts_fill_all_gpus_widest_first() -> None:
    layouts = legal_layouts(model(), BF16, gpus=4)

    assert [str(layout) for layout in layouts] == ["TP4", "TP2·PP2", "TP1·PP4"]


def test_legal_layouts_leave_out_what_the_shape_forbids() -> None:
    layouts = legal_layouts(model(), BF16, gpus=6)

    assert [str(layout) for layout in layouts] == ["TP2·PP3", "TP1·PP6"]


def test_legal_layouts_of_a_mixture_come_sliced_and_whole() -> None:
    mixture = model(
        feed_forward=MixtureFeedForward(experts=8, experts_per_token=2, expert_intermediate=14_336)
    )

    layouts = legal_layouts(mixture, BF16, gpus=2, engine=engine("vllm"))

    assert [str(layout) for layout in layouts] == ["TP2", "TP2·EP", "TP1·PP2"]


def test_a_problem_can_be_raised() -> None:
    problem = layout_problem(model(), Layout(tensor=3), BF16)
    assert problem is not None

    error = problem.error()

    assert isinstance(error, InvalidLayoutError)
    assert error.remedy == problem.remedy


def test_unequal_cards_share_by_the_smallest_unless_split_by_layer() -> None:
    # Source: vllm-project/vllm#50735.
    cards = [Bytes(32 * GB), Bytes(20 * GB), Bytes(20 * GB)]

    assert group_bytes(cards) == 60 * GB
    assert group_bytes(cards, splits_by_layer=True) == 72 * GB


def test_a_dense_path_beside_the_experts_divides_too() -> None:
    gemma = model(
        feed_forward=MixtureFeedForward(
            experts=128, experts_per_token=8, expert_intermediate=704, parallel_dense_intermediate=2
        )
    )

    problem = layout_problem(gemma, Layout(tensor=4), BF16)

    assert problem is not None
    assert problem.rule is LayoutRule.WIDTH
    assert "2 feed-forward columns" in problem.problem


def test_layers_without_feed_forward_or_with_cross_attention_count_their_heads() -> None:
    mixed = model(
        CrossAttention(heads=32, kv_heads=8, head_dim=128, source_tokens=Tokens(1601)),
        RecurrentMixer(kind="mamba2", heads=64, parameters=1, state_elements=1, conv_elements=1),
        feed_forward=None,
    )

    assert layout_problem(mixed, Layout(tensor=8), FP8_BLOCK) is None
    problem = layout_problem(mixed, Layout(tensor=64), FP8_BLOCK)
    assert problem is not None
    assert problem.rule is LayoutRule.ATTENTION_HEADS


def test_a_width_that_no_number_of_gpus_can_hold_in_blocks_says_so() -> None:
    odd = model(
        feed_forward=MixtureFeedForward(experts=8, experts_per_token=2, expert_intermediate=1472)
    )

    problem = layout_problem(odd, Layout(), FP8_BLOCK)

    assert problem is not None
    assert problem.legal_sizes == ()
    assert "another precision" in problem.remedy
