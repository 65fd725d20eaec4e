from dataclasses import replace

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.fit.advice import fewest_gpus, frontier, remedies
from caudal.fit.budget import Verdict, memory_budget
from caudal.fit.needs import memory_needs
from caudal.vocabulary.units import GIB, Bytes
from memory_cases import served
from model_files import LLAMA, read_model

H100 = gpu_catalogue().get("h100-sxm")
LLAMA_70B = resolve_model("llama-3.1-70b")
LLAMA_8B = read_model(LLAMA)


def test_remedies_say_what_each_frees_and_whether_it_is_enough() -> None:
    found = remedies(
        LLAMA_70B, served(weights="fp8", tensor=2), H100, context_tokens=8192, concurrency=32
    )

    by_change = {remedy.change: remedy for remedy in found}
    assert by_change["keep the KV cache in fp8"].frees_bytes == 20 * GIB
    assert by_change["spread it over 4 GPUs (TP4)"].verdict is Verdict.FITS
    assert all(remedy.frees_bytes > 0 for remedy in found)
    enough = [remedy.verdict is Verdict.FITS for remedy in found]
    assert enough == sorted(enough, reverse=True)


def test_fewer_sequences_and_shorter_contexts_fit_as_promised() -> None:
    found = remedies(
        LLAMA_70B, served(weights="fp8", tensor=2), H100, context_tokens=8192, concurrency=32
    )

    for remedy in found:
        if remedy.change.startswith(("run ", "limit ")) and "eagerly" not in remedy.change:
            assert remedy.verdict is Verdict.FITS
            assert (remedy.concurrency, remedy.context_tokens) < (32, 8193)


def test_what_the_card_does_not_run_is_not_advised() -> None:
    volta = gpu_catalogue().get("v100-32g")

    found = remedies(LLAMA_8B, served(weights="fp16"), volta, context_tokens=8192, concurrency=64)

    assert not any("KV cache in fp8" in remedy.change for remedy in found)


def test_an_eager_small_server_is_not_told_to_become_one() -> None:
    small = replace(served(step=1024, sequences=4), eager=True, memory_fraction=0.97)

    found = remedies(LLAMA_8B, small, H100, context_tokens=200_000, concurrency=4)

    assert not any(
        remedy.change.startswith(("run eagerly", "let the engine", "prefill", "give"))
        for remedy in found
    )


def test_llama_cpp_is_advised_its_own_cache_type() -> None:
    found = remedies(LLAMA_8B, served(by="llama.cpp"), H100, context_tokens=100_000, concurrency=8)

    assert any(remedy.change == "keep the KV cache in q8_0" for remedy in found)


def test_free_memory_counts_for_remedies() -> None:
    found = remedies(
        LLAMA_8B,
        served(),
        H100,
        context_tokens=8192,
        concurrency=8,
        free_bytes=Bytes(round(21.3 * GIB)),
    )

    assert any(remedy.change.startswith("use weights in fp8") for remedy in found)


def test_frontier_trades_context_for_sequences() -> None:
    needs = memory_needs(LLAMA_8B, served())

    points = frontier(needs, 20.0 * GIB)

    assert points[0].context_tokens == 1024
    assert points[0].sequences == 160
    assert [point.sequences for point in points] == sorted(
        (point.sequences for point in points), reverse=True
    )
    assert points[-1].context_tokens == 131_072
    assert points[-1].sequences == 1


def test_an_empty_pool_has_no_frontier() -> None:
    assert frontier(memory_needs(LLAMA_8B, served()), -1.0) == ()


def test_fewest_gpus_is_the_first_layout_that_surely_fits() -> None:
    layout = fewest_gpus(LLAMA_70B, served(weights="fp8"), H100, context_tokens=8192, concurrency=8)

    assert layout == Layout(tensor=2)
    one = memory_budget(LLAMA_70B, served(weights="fp8"), H100, context_tokens=8192, concurrency=8)
    assert not one.fits


def test_no_number_of_small_gpus_may_be_enough() -> None:
    kimi = resolve_model("kimi-k2")

    assert (
        fewest_gpus(
            kimi,
            served(weights="fp8-block"),
            gpu_catalogue().get("t4"),
            context_tokens=8192,
            concurrency=1,
            most=8,
        )
        is None
    )
