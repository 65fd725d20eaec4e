from dataclasses import replace

import pytest

from caudal.facts.models import resolve_model
from caudal.fit.compute_buffer import Streamed, compute_buffer
from caudal.fit.serving import Serving
from caudal.vocabulary.units import GIB, MIB, Tokens
from memory_cases import served


def llama_cpp(*, cells: int, micro_batch: int = 512, weights: str = "q4_k_m") -> Serving:
    serving = served(by="llama.cpp", weights=weights, longest=cells, sequences=1)
    return replace(serving, micro_batch_tokens=Tokens(micro_batch))


def test_logits_stand_on_the_device_of_the_output_layer_only() -> None:
    # gemma-4-12b, 8,192 cells: 0.132 GiB printed where the head stands elsewhere
    model = resolve_model("gemma-3-12b")

    first = compute_buffer(model, llama_cpp(cells=8192), output=False)
    last = compute_buffer(model, llama_cpp(cells=8192))

    assert first.value < last.value
    assert last.value == 4 * 512 * (model.vocabulary + 2 * model.hidden)


def test_scores_of_all_heads_are_held_without_fused_attention() -> None:
    model = resolve_model("llama-3.1-8b")
    serving = llama_cpp(cells=131_072)

    fused = compute_buffer(model, serving)
    plain = compute_buffer(model, replace(serving, flash_attention=False))

    assert plain.value - 32 * 512 * 131_072 * 4 == pytest.approx(fused.value, rel=0.5)
    assert plain.value > 8 * GIB


def test_old_llama_cpp_does_not_fuse_attention() -> None:
    old = served(by="llama.cpp", version="6000", weights="q4_k_m")

    assert not old.fuses_attention
    assert served(by="llama.cpp", weights="q4_k_m").fuses_attention


@pytest.mark.parametrize(
    ("model", "cells", "micro_batch", "printed_gib"),
    [
        ("deepseek-v3", 2048, 512, 0.491),  # ik_llama.cpp discussions 286 and 393
        ("deepseek-v3", 131_072, 1024, 11.444),  # ik_llama.cpp issue 485
    ],
)
def test_expanded_latents_are_within_the_range(
    model: str, cells: int, micro_batch: int, printed_gib: float
) -> None:
    serving = llama_cpp(cells=cells, micro_batch=micro_batch)

    buffer = compute_buffer(resolve_model(model), replace(serving, expands_latents=True))

    assert buffer.low <= printed_gib * GIB <= buffer.high


def test_a_matrix_on_the_host_is_multiplied_in_a_copy() -> None:
    # ik_llama.cpp pull request 328: Llama-2-13B in Q8_0, nothing offloaded, 248.54 MiB
    head = 32_000 * 5120 * 8.5 / 8

    model = resolve_model("llama-2-13b")
    serving = replace(llama_cpp(cells=512), flash_attention=False)

    buffer = compute_buffer(model, serving, streamed=Streamed(head_bytes=head))

    assert buffer.value >= head + 4 * 512 * model.vocabulary
    assert buffer.low <= 248.54 * MIB <= buffer.high


def test_cells_of_all_slots_are_looked_at() -> None:
    model = resolve_model("llama-3.1-8b")
    one = replace(llama_cpp(cells=8192), flash_attention=False)

    four = replace(one, max_sequences=4)
    together = replace(one, max_model_tokens=Tokens(32_768), context_of_all=True, max_sequences=4)

    assert compute_buffer(model, four) == compute_buffer(model, together)
    assert compute_buffer(model, four).value > compute_buffer(model, one).value
