from dataclasses import replace

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import resolve_model
from caudal.fit.serving import CHUNK_BEFORE_V1
from caudal.fit.weights import weight_needs
from caudal.vocabulary.units import GIB, Bytes, Tokens
from memory_cases import served
from model_files import LLAMA, read_model

LLAMA_8B = read_model(LLAMA)


def test_engines_choose_limits_by_the_card() -> None:
    small = served().on(gpu_catalogue().get("l4"))
    large = served().on(gpu_catalogue().get("h100-sxm"))

    assert (small.sequences, small.step_tokens(LLAMA_8B)) == (256, 2048)
    assert (large.sequences, large.step_tokens(LLAMA_8B)) == (1024, 8192)


def test_what_was_asked_for_is_kept() -> None:
    asked = replace(served(step=512, sequences=8), memory_fraction=0.5, max_model_tokens=Tokens(99))

    placed = asked.on(gpu_catalogue().get("h100-sxm"))

    assert (placed.sequences, placed.step_tokens(LLAMA_8B), placed.fraction) == (8, 512, 0.5)
    assert placed.longest(LLAMA_8B) == 99


def test_cards_of_one_tier_give_equal_servings() -> None:
    assert served().on_card(Bytes(80 * GIB)) == served().on_card(Bytes(96 * GIB))


def test_an_engine_without_tiers_is_left_alone() -> None:
    bare = replace(served(), engine=replace(served().engine, tiers=()))

    assert bare == bare.on_card(Bytes(80 * GIB))


def test_share_of_newer_sglang_follows_from_the_card() -> None:
    serving = served(by="sglang").on_card(Bytes(80 * GIB))

    assert serving.fraction is not None
    assert 0.8 < serving.fraction < 0.95


def test_llama_cpp_has_no_share() -> None:
    assert served(by="llama.cpp").fraction is None


def test_a_step_before_chunking_is_the_longest_prompt() -> None:
    assert served(version="0.6", longest=20_000).step_tokens(LLAMA_8B) == 20_000
    assert served(version="0.6", longest=35_000).step_tokens(LLAMA_8B) == CHUNK_BEFORE_V1


def test_latents_are_compressed_since_vllm_07() -> None:
    assert served(version="0.6").stores_latent_as_heads
    assert not served(version="0.7").stores_latent_as_heads
    assert replace(served(), latent_as_heads=True).stores_latent_as_heads


def test_loading_on_amd_counts_a_head_that_was_tied_afterwards() -> None:
    gemma = resolve_model("gemma-4-e4b")

    on_amd = served().on(gpu_catalogue().get("mi325x"))

    assert on_amd.counts_cached
    assert not served().on(gpu_catalogue().get("h100-sxm")).counts_cached
    assert weight_needs(gemma, on_amd).total == weight_needs(gemma, served()).total
