"""Questions that people asked about memory, with the answer that evidence gave them."""

from dataclasses import replace

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.fit.advice import fewest_gpus
from caudal.fit.budget import MemoryBudget, Verdict, memory_budget
from caudal.fit.flags import engine_flags
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.fit.weights import weight_needs
from caudal.vocabulary.units import GB, GIB
from memory_cases import served


def budget(
    model: str, serving: Serving, gpu: str, *, context: int, concurrency: int = 1
) -> MemoryBudget:
    return memory_budget(
        resolve_model(model),
        serving,
        gpu_catalogue().get(gpu),
        context_tokens=context,
        concurrency=concurrency,
    )


def test_deepseek_v3_in_fp8_needs_96_gigabyte_cards_by_eight() -> None:
    # vllm and lmdeploy users: out of memory on 8 x H800 80 GB, 83 to 84 GB each on 8 x H20 96 GB
    serving = served(weights="fp8-block", tensor=8)

    small = budget("deepseek-v3", serving, "h800-sxm", context=8192)
    large = budget("deepseek-v3", serving, "h20", context=8192)

    assert small.verdict is Verdict.DOES_NOT_FIT
    assert large.verdict is Verdict.FITS
    weights = large.needs.weights.value / GB
    assert weights == pytest.approx(83.5, rel=0.03)


def test_kimi_k3_needs_sixteen_gb200() -> None:
    # its card declares at least 1,680 GB; eight GB200 have 1,536
    layout = fewest_gpus(
        resolve_model("kimi-k3"),
        served(weights="mxfp4"),
        gpu_catalogue().get("gb200"),
        context_tokens=8192,
        concurrency=1,
    )

    assert layout is not None
    assert layout.gpus == 16


def test_13b_takes_26_gigabytes_of_the_36_that_vllm_reserves() -> None:
    # users saw 38 GB on one A100 40GB and 38 GB on each of two
    one = budget("llama-2-13b", served(version="0.3", weights="fp16"), "a100-40g-sxm", context=2048)

    assert one.needs.weights.value / GB == pytest.approx(26, rel=0.02)
    assert one.needs.fraction == 0.9
    assert one.verdict is Verdict.FITS


def test_a_9b_in_q4_k_m_is_a_file_of_5_68_gigabytes() -> None:
    # Qwen3.5-9B: 5,680,529,408 bytes, the projector for images apart
    needs = weight_needs(resolve_model("qwen3.5-9b"), served(by="llama.cpp", weights="q4_k_m"))

    sight = dict(needs.by_role)[Role.VISION]
    assert needs.total.value + needs.host - sight == pytest.approx(5_680_529_408, rel=0.04)


def test_a_full_context_is_what_does_not_fit_beside_it() -> None:
    # an estimator said 26.3 GB, at 262k of context nobody had asked for
    model = replace(served(by="llama.cpp", weights="q4_k_m"), text_only=True)

    short = budget("qwen3.5-9b", model, "rtx-3070", context=8192)
    full = budget("qwen3.5-9b", model, "rtx-3070", context=262_144)

    assert short.verdict is not Verdict.DOES_NOT_FIT
    assert full.verdict is Verdict.DOES_NOT_FIT


def test_qwen_38_27b_reaches_its_context_on_two_3090() -> None:
    # measured: 302,921 tokens in 4.99 GiB a card, 32 KiB a token over 16 of 64 layers
    serving = replace(
        served(weights="fp8-block", cache="fp8", tensor=2, step=8192, longest=262_144),
        memory_fraction=0.92,
    )

    answer = budget("qwen3.8-27b-fp8", serving, "rtx-3090", context=262_144)

    full = next(group for group in answer.needs.kv.groups if group.kind == "full")
    assert full.layers == 16
    assert 2 * answer.needs.kv.bytes_per_token == 32 * 1024
    assert full.blocks(262_144) == 168
    assert answer.kv_tokens.value == pytest.approx(302_921, rel=0.1)
    assert answer.max_concurrency.value >= 1


def test_a_hybrid_log_counts_blocks_over_all_groups() -> None:
    # vLLM 0.19: 290,864 tokens printed, 33.04 requests of 32,768 held. The poster names a 35B with
    # 32 heads; blocks of 784 tokens, of which the print is a multiple, are a 27B's over two GPUs
    kv = memory_needs(resolve_model("qwen3.6-27b"), served(tensor=2, longest=32_768)).kv

    full = next(group for group in kv.groups if group.kind == "full")
    blocks = 290_864 // full.block_tokens * 4

    assert full.block_tokens == 784
    per_request = sum(group.blocks(32_768) for group in kv.groups)
    assert (blocks + 3) / per_request == pytest.approx(33.04, abs=0.01)


def test_slots_divide_the_context_of_llama_cpp() -> None:
    # --ctx-size 163840 --parallel 6 leaves 27,306 tokens a request
    flags = engine_flags(
        resolve_model("deepseek-v3"),
        served(by="llama.cpp", weights="q2_k"),
        context_tokens=27_306,
        concurrency=6,
    )

    assert "--ctx-size 163836" in flags
    assert "--parallel 6" in flags


def test_four_parallel_requests_of_ollama_reserve_four_contexts() -> None:
    kv = memory_needs(resolve_model("llama-3-8b"), served(by="ollama", weights="q4_0")).kv

    assert kv.bytes_for(sequences=4, tokens=4096) == 16_384 * kv.bytes_per_token


def test_an_8b_leaves_58_gibibytes_on_an_h100() -> None:
    # llm-d-planner's sweep of 57 starts: 15 GiB of weights, 58 GiB of KV, about 475k tokens
    serving = replace(served(version="0.15", longest=8192), memory_fraction=0.95)

    answer = budget("llama-3.1-8b", serving, "h100-sxm", context=8192)

    assert answer.needs.weights.value / GIB == pytest.approx(15, rel=0.0089)
    assert answer.kv_pool_bytes.value / GIB == pytest.approx(58, rel=0.03)
    assert answer.kv_tokens.value == pytest.approx(475_000, rel=0.03)


def test_a_70b_in_int8_holds_ten_short_requests() -> None:
    # 67.72 GiB of weights, 1,381 blocks of 16 tokens, 10.79 requests of 2,048 at 0.98
    serving = replace(
        served(version="0.8", weights="int8", longest=2048, sequences=256), memory_fraction=0.98
    )

    answer = budget("llama-3.1-70b", serving, "h100-sxm", context=2048, concurrency=10)

    assert answer.needs.weights.value / GIB == pytest.approx(67.72, rel=0.001)
    low, high = answer.kv_tokens.low, answer.kv_tokens.high
    assert low <= 22_096 <= high


def test_heads_of_a_cache_are_split_over_four_gpus() -> None:
    # 834k tokens, not 208k: the tool used all eight KV heads on each of four GPUs
    model = resolve_model("qwen3-32b")

    whole = memory_needs(model, served()).kv.bytes_per_token
    quarter = memory_needs(model, served(tensor=4)).kv.bytes_per_token

    assert whole == 4 * quarter


def test_latents_are_not_split() -> None:
    model = resolve_model("glm-5.2")

    assert (
        memory_needs(model, served()).kv.bytes_per_token
        == memory_needs(model, served(tensor=8)).kv.bytes_per_token
    )


def test_gpt_oss_120b_fits_one_card_of_80_gigabytes_with_few_users() -> None:
    # measured on one H100, one RTX PRO 6000 and one H200; the most users on the H200
    held = [
        budget(
            "gpt-oss-120b", served(weights="mxfp4", longest=32_768), gpu, context=32_768
        ).max_concurrency.value
        for gpu in ("h100-sxm", "rtx-pro-6000-se", "h200-sxm")
    ]

    assert held == sorted(held)
    assert held[0] >= 1


def test_a_start_is_no_proof_at_the_longest_prompt() -> None:
    # text-generation-inference#2744: two A100 start with a 70B and die later
    two = Layout(tensor=2)
    serving = replace(served(version="0.6", weights="fp16"), layout=two)

    answer = budget("llama-3.1-70b", serving, "a100-80g-sxm", context=131_072)

    assert answer.verdict is not Verdict.FITS
