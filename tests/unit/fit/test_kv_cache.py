import pytest

from caudal.facts.models import resolve_model
from caudal.fit.kv_cache import KvGroup, KvNeeds
from caudal.fit.needs import memory_needs
from memory_cases import served
from model_files import DEEPSEEK, LLAMA, read_model

PAGED = KvGroup(kind="full", layers=32, block_bytes=1600.0, block_tokens=16)
WINDOW = KvGroup(
    kind="sliding", layers=32, block_bytes=1600.0, block_tokens=16, cap_tokens=64, extra_blocks=1
)
STATE = KvGroup(
    kind="state", layers=8, block_bytes=1600.0, block_tokens=1, cap_tokens=0, extra_blocks=1
)


def test_a_request_takes_whole_blocks() -> None:
    assert [PAGED.blocks(tokens) for tokens in (0, 1, 16, 17)] == [0, 1, 1, 2]


def test_a_window_stops_growing_and_holds_one_block_more() -> None:
    assert [WINDOW.blocks(tokens) for tokens in (16, 64, 10_000)] == [2, 5, 5]


def test_a_state_is_as_large_for_any_length() -> None:
    assert STATE.blocks(1) == STATE.blocks(100_000) == 1


def test_bytes_per_token_count_what_grows() -> None:
    needs = KvNeeds(groups=(PAGED, WINDOW, STATE), longest_tokens=1000)

    assert needs.bytes_per_token == 100
    assert needs.state_bytes == 5 * 1600 + 1600
    assert needs.is_mixed


def test_a_pool_holds_requests_as_a_fraction_of_whole_blocks() -> None:
    needs = KvNeeds(groups=(PAGED,), longest_tokens=1000)

    assert needs.sequences(16_500.0, tokens=32) == 5
    assert needs.tokens(16_500.0, tokens=32) == 160
    assert not needs.is_mixed


def test_requests_that_take_nothing_are_unlimited() -> None:
    assert KvNeeds(groups=(), longest_tokens=10).sequences(0.0, tokens=10) == float("inf")


def test_longest_context_is_the_last_that_fits() -> None:
    needs = KvNeeds(groups=(PAGED,), longest_tokens=1000)

    assert needs.longest_context(1600.0 * 10) == 160
    assert needs.longest_context(1600.0 * 10, sequences=4) == 32
    assert needs.longest_context(10.0) == 0
    assert needs.longest_context(1e9) == 1000


def test_more_gpus_than_kv_heads_replicate_them() -> None:
    model = read_model(LLAMA)

    per_gpu = [
        memory_needs(model, served(tensor=tensor)).kv.bytes_per_token for tensor in (1, 2, 8, 16)
    ]

    assert per_gpu == [131_072, 65_536, 16_384, 16_384]


def test_latent_attention_is_whole_on_every_gpu() -> None:
    model = read_model(DEEPSEEK)

    for tensor in (1, 8):
        needs = memory_needs(model, served(tensor=tensor, weights="fp8-block"))
        assert needs.kv.bytes_per_token == 70_272


def test_first_vllm_engine_stored_latents_as_full_heads() -> None:
    model = read_model(DEEPSEEK)

    needs = memory_needs(model, served(version="0.6", weights="fp8-block"))

    assert needs.kv.bytes_per_token == 61 * 128 * (192 + 128) * 2


def test_an_indexer_adds_132_bytes_a_layer() -> None:
    plain = memory_needs(resolve_model("deepseek-v3"), served())
    indexed = memory_needs(resolve_model("deepseek-v3.2"), served())

    assert indexed.kv.bytes_per_token - plain.kv.bytes_per_token == 61 * 132


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_layers_that_share_a_cache_keep_none(engine: str) -> None:
    model = resolve_model("gemma-4-e4b")

    needs = memory_needs(model, served(by=engine, cache="bf16"))

    assert sum(group.layers * group.count for group in needs.kv.groups) == 24


def test_fp8_halves_the_cache() -> None:
    model = read_model(LLAMA)

    assert memory_needs(model, served(cache="fp8")).kv.bytes_per_token == 65_536
