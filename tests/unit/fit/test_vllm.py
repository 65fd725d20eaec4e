"""vLLM's cache groups and peaks, against start-up logs where they are published."""

import pytest

from caudal.facts.models import resolve_model
from caudal.fit.needs import memory_needs
from caudal.vocabulary.units import GIB
from memory_cases import eager, served
from model_files import LLAMA, read_model


def test_mixed_layers_are_cut_into_groups_of_the_rarest_kind() -> None:
    # 62 layers of Gemma 3 27B: 10 full, 52 sliding in six groups of ten, the last padded
    groups = memory_needs(resolve_model("gemma-3-27b"), served(longest=131_072)).kv.groups

    assert {(group.kind, group.count) for group in groups} == {("full", 1), ("sliding", 6)}
    assert len({group.block_bytes for group in groups}) == 1


def test_pages_are_as_large_as_the_largest_layer_needs() -> None:
    # alvarobartt/hf-mem#61: Gemma 4 31B prints 983,040 bytes a "token" over six groups of ten
    groups = memory_needs(resolve_model("gemma-4-31b"), served(longest=8192)).kv.groups

    blocks = {group.kind: group.block_tokens for group in groups}

    assert blocks == {"full": 32, "sliding": 16}
    assert sum(group.count * group.block_bytes for group in groups) / 16 == 983_040


def test_kinds_of_nearly_equal_number_are_padded_not_cut() -> None:
    # gpt-oss-20b: 12 sliding and 12 full layers make two groups
    groups = memory_needs(resolve_model("gpt-oss-20b"), served(weights="mxfp4")).kv.groups

    assert sum(group.count for group in groups) == 2


def test_a_window_holds_the_step_that_is_being_computed() -> None:
    model = resolve_model("gemma-3-27b")

    small = memory_needs(model, served(longest=131_072, step=2048)).kv.request_bytes(131_072)
    large = memory_needs(model, served(longest=131_072, step=8192)).kv.request_bytes(131_072)

    assert small < large


def test_attention_blocks_grow_until_they_hold_a_state() -> None:
    # Qwen3.5-2B: 129,472 printed tokens are 238 groups of blocks of 544
    groups = memory_needs(resolve_model("qwen3.5-2b"), served(longest=262_144)).kv.groups

    full = next(group for group in groups if group.kind == "full")

    assert full.block_tokens == 544
    assert 129_472 % full.block_tokens == 0


def test_a_hybrid_holds_what_its_log_says() -> None:
    # Qwen3.5-2B: 5.95 GiB, "Maximum concurrency for 262,144 tokens per request: 1.97x"
    needs = memory_needs(resolve_model("qwen3.5-2b"), served(longest=262_144))

    assert needs.kv.sequences(5.95 * GIB, tokens=262_144) == pytest.approx(1.97, rel=0.005)


def test_folded_latents_take_blocks_from_one_pool() -> None:
    # DeepSeek-V4-Flash over two GPUs: 32.08 GiB hold 8.30 requests of 262,144 tokens
    model = resolve_model("deepseek-v4-flash")
    needs = memory_needs(model, served(weights="mxfp4", tensor=2, longest=262_144, step=2048))

    assert needs.kv.sequences(32.08 * GIB, tokens=262_144) == pytest.approx(8.30, rel=0.01)
    assert needs.kv.doubt_bytes > 0


def test_first_engine_keeps_the_whole_context_of_sliding_layers() -> None:
    model = resolve_model("gemma-3-27b")

    needs = memory_needs(model, served(version="0.6"))

    assert [group.kind for group in needs.kv.groups] == ["full"]


def test_a_prompt_that_is_not_chunked_is_one_step() -> None:
    # vllm-project/vllm issue 10517: 2.07 GiB at 20,000 tokens, 2.99 GiB at 29,000, 0.06 at 35,000
    model = resolve_model("llama-3.1-8b")

    peaks = [
        memory_needs(model, served(version="0.6.3", longest=longest)).activation.value / GIB
        for longest in (20_000, 29_000)
    ]

    assert peaks == pytest.approx([2.07, 2.99], rel=0.02)
    chunked = memory_needs(model, served(version="0.6.3", longest=35_000)).activation.value
    assert chunked < 0.2 * GIB


def test_sampling_for_many_sequences_can_be_the_peak() -> None:
    # Llama-3.2-3B on a T4, 0.8: 0.90 GiB for 192 sequences, 0.75 for 160
    model = resolve_model("llama-3.2-3b")

    peaks = [
        memory_needs(
            model, served(version="0.7", longest=2048, step=2048, sequences=sequences)
        ).activation.value
        / GIB
        for sequences in (192, 160)
    ]

    assert peaks == pytest.approx([0.90, 0.75], rel=0.06)


def test_eager_serving_has_no_graphs() -> None:
    needs = memory_needs(read_model(LLAMA), eager(served()))

    assert needs.graphs.high == 0


def test_several_gpus_need_collectives() -> None:
    model = read_model(LLAMA)

    assert (
        memory_needs(model, served(tensor=2)).other.value
        > memory_needs(model, served()).other.value
    )


def test_encoders_widen_the_peak_upwards_only() -> None:
    model = resolve_model("qwen2.5-vl-7b")
    text = resolve_model("qwen2.5-7b")

    seeing = memory_needs(model, served()).activation

    assert seeing.high > 2 * memory_needs(text, served()).activation.high


def test_values_narrower_than_keys_are_padded_in_a_quantised_cache() -> None:
    model = resolve_model("mimo-v2-flash")

    sixteen = memory_needs(model, served(weights="fp8-block")).kv.bytes_per_token
    eight = memory_needs(model, served(weights="fp8-block", cache="fp8")).kv.bytes_per_token

    assert sixteen == 9 * 4 * (192 + 128) * 2
    assert eight == 9 * 4 * (192 + 192)


def test_kimis_delta_states_are_in_32_bit_and_latent_blocks_in_steps_of_64() -> None:
    groups = memory_needs(
        resolve_model("moonshotai/Kimi-Linear-48B-A3B-Instruct"), served(longest=32_768)
    ).kv.groups

    state = 32 * 128 * 128 * 4 + 3 * 3 * 32 * 128 * 2
    latent = next(group for group in groups if group.kind == "latent")
    assert latent.block_tokens == 64 * -(-state // (576 * 2 * 64))


def test_sparse_latents_in_8_bit_carry_scales_and_16_bit_angles() -> None:
    model = resolve_model("deepseek-v3.2")

    kv = memory_needs(model, served(weights="fp8-block", cache="fp8")).kv

    assert kv.bytes_per_token == 61 * (656 + 132)
