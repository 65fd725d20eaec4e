from dataclasses import replace

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.fit.budget import (
    Verdict,
    memory_budget,
    shares_memory,
    verdict_of,
    visible_bytes,
)
from caudal.fit.kv_cache import KvGroup, KvNeeds
from caudal.fit.needs import memory_needs
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB, Bytes
from memory_cases import served
from model_files import LLAMA, read_model

LLAMA_8B = read_model(LLAMA)
H100 = gpu_catalogue().get("h100-sxm")
ONE_BLOCK = KvNeeds(
    groups=(KvGroup(kind="full", layers=1, block_bytes=100.0, block_tokens=1),), longest_tokens=10
)


def test_engines_see_less_than_the_driver_shows() -> None:
    # vLLM prints 79.22 to 79.25 GiB on an H100 of 79.65
    assert visible_bytes(H100) == pytest.approx(79.22 * GIB, rel=1e-3)


@pytest.mark.parametrize("gpu", ["gb10", "mi300x"])
def test_unified_memory_and_amd_are_seen_whole(gpu: str) -> None:
    spec = gpu_catalogue().get(gpu)

    assert visible_bytes(spec) == spec.usable_bytes


def test_pool_is_the_share_less_every_term() -> None:
    # vllm start-up log of 2026: 0.92 of 79.25 GiB, 56.21 GiB of KV cache, 460,496 tokens
    serving = replace(served(longest=131_072), memory_fraction=0.92)

    budget = memory_budget(
        LLAMA_8B,
        serving,
        H100,
        context_tokens=131_072,
        concurrency=1,
        usable_bytes=Bytes(round(79.25 * GIB)),
    )

    assert budget.kv_pool_bytes.value == pytest.approx(56.21 * GIB, rel=0.01)
    assert budget.kv_tokens.value == pytest.approx(460_496, rel=0.01)
    assert budget.max_concurrency.value == pytest.approx(3.51, rel=0.01)
    assert budget.verdict is Verdict.FITS
    assert budget.fits


def test_terms_are_named_and_margin_is_what_is_left() -> None:
    budget = memory_budget(LLAMA_8B, served(), H100, context_tokens=8192, concurrency=4)

    terms = dict(budget.terms)

    assert list(terms) == ["weights", "kv cache", "activation", "cuda graphs", "other"]
    assert terms["kv cache"].value == 4 * 8192 * 131_072
    left = budget.kv_pool_bytes.value - budget.kv_needed_bytes
    assert budget.margin_bytes.value == left


def test_a_model_that_is_too_large_does_not_fit() -> None:
    small = gpu_catalogue().get("t4")

    budget = memory_budget(LLAMA_8B, served(), small, context_tokens=100, concurrency=1)

    assert budget.verdict is Verdict.DOES_NOT_FIT
    assert budget.max_concurrency.value == 0
    assert budget.longest_context.value == 0


def test_free_memory_bounds_the_pool_of_a_card_in_use() -> None:
    empty = memory_budget(LLAMA_8B, served(), H100, context_tokens=8192, concurrency=1)
    used = memory_budget(
        LLAMA_8B,
        served(),
        H100,
        context_tokens=8192,
        concurrency=1,
        free_bytes=Bytes(round(21.3 * GIB)),
    )

    assert used.kv_pool_bytes.value < 21.3 * GIB - 2 * LLAMA_8B.total_parameters
    assert used.usable_bytes == pytest.approx(21.3 * GIB)
    assert used.kv_pool_bytes.value < empty.kv_pool_bytes.value


def test_memory_shared_with_the_host_loses_what_the_host_needs() -> None:
    spark = gpu_catalogue().get("gb10")
    needs = memory_needs(LLAMA_8B, served().on(spark))

    alone = needs.kv_pool_bytes(spark.usable_bytes)
    shared = needs.kv_pool_bytes(spark.usable_bytes, unified=True)

    assert shares_memory(spark)
    assert alone.value - shared.value == pytest.approx(needs.host.value)
    several = memory_needs(LLAMA_8B, served(tensor=2).on(spark))
    assert several.host.value > needs.host.value


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (100.0, 120.0, Verdict.FITS),
        (90.0, 110.0, Verdict.UNCERTAIN),
        (80.0, 99.0, Verdict.DOES_NOT_FIT),
    ],
)
def test_only_the_careful_end_promises(low: float, high: float, verdict: Verdict) -> None:
    pool = Estimate((low + high) / 2, low, high, Basis.CALIBRATED)

    assert verdict is verdict_of(pool, ONE_BLOCK, sequences=1, tokens=1)


def test_doubt_about_the_cache_withholds_a_promise() -> None:
    doubtful = replace(ONE_BLOCK, doubt_bytes=50.0)

    assert verdict_of(Estimate.exact(149), doubtful, sequences=1, tokens=1) is Verdict.UNCERTAIN
    assert verdict_of(Estimate.exact(150), doubtful, sequences=1, tokens=1) is Verdict.FITS


def test_graphs_are_taken_out_of_the_budget_since_vllm_021() -> None:
    old = memory_needs(LLAMA_8B, served(version="0.20"))
    new = memory_needs(LLAMA_8B, replace(served(version="0.21"), memory_fraction=0.9))

    difference = old.kv_pool_bytes(80.0 * GIB).value - new.kv_pool_bytes(80.0 * GIB).value

    assert difference == pytest.approx(new.graphs.value)


def test_the_pool_never_exceeds_what_is_physically_left() -> None:
    greedy = replace(served(version="0.20"), memory_fraction=1.0)
    needs = memory_needs(LLAMA_8B, greedy)

    left = 40 * GIB - sum(
        term.value for term in (needs.weights, needs.activation, needs.graphs, needs.other)
    )

    assert needs.kv_pool_bytes(40.0 * GIB).value == pytest.approx(left)
