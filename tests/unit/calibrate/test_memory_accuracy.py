"""Which terms of a row are judged, row by row."""

from collections.abc import Mapping

import pytest

from caudal.calibrate.memory_accuracy import MemoryAccuracy, memory_accuracy
from caudal.calibrate.memory_rows import MemoryRow
from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import UnknownModelError

FULL: Mapping[str, float] = {
    "weights_gib": 15.0,
    "kv_cache_gib": 56.21,
    "kv_bytes_per_token": 131_065.3,
    "max_concurrency": 3.51,
    "gpu_mem_gib": 79.25,
    "gpu_memory_utilization": 0.92,
}
COUNTS: Mapping[str, int] = {"tp": 1, "kv_tokens": 460_496, "max_model_len": 131_072}


def row(
    *,
    model: str = "llama-3.1-8b",
    engine: str = "vllm",
    outcome: str = "ok",
    numbers: Mapping[str, float] = FULL,
    counts: Mapping[str, int] = COUNTS,
    texts: Mapping[str, str] | None = None,
    flags: Mapping[str, bool] | None = None,
) -> MemoryRow:
    return MemoryRow(
        id="one",
        engine=engine,
        model=model,
        outcome=outcome,
        numbers=numbers,
        counts=counts,
        texts=texts or {},
        flags=flags or {},
    )


def judge(*rows: MemoryRow) -> MemoryAccuracy:
    return memory_accuracy(rows, resolve_model)


def fields(*rows: MemoryRow) -> set[str]:
    return {each.field for each in judge(*rows).judged}


def without(*names: str) -> dict[str, float]:
    return {name: value for name, value in FULL.items() if name not in names}


ALL = {"weights_gib", "kv_bytes_per_token", "kv_cache_gib", "kv_tokens", "max_concurrency"}


def test_a_full_row_is_judged_in_every_field_and_is_close() -> None:
    accuracy = judge(row())

    assert {each.field for each in accuracy.judged} == ALL
    assert max(each.error for each in accuracy.judged) < 0.01
    assert [each.verdict for each in accuracy.verdicts] == [Verdict.FITS]


def test_an_inferred_model_is_not_judged_by_its_weights() -> None:
    assert fields(row(flags={"model_inferred": True})) == ALL - {"weights_gib"}


def test_adapters_of_unknown_rank_are_not_weights() -> None:
    accuracy = judge(row(texts={"notes": "LoRA enabled"}, numbers={**FULL, "weights_gib": 15.3}))

    assert "weights_gib" not in {each.field for each in accuracy.judged}
    pool = next(each for each in accuracy.judged if each.field == "kv_cache_gib")
    assert pool.error > 0.003  # from the weights that the row prints


@pytest.mark.parametrize("quantization", ["exl3", "aqlm"])
def test_formats_without_fixed_bits_are_not_judged_by_weights(quantization: str) -> None:
    judged = fields(row(texts={"quantization": quantization}))

    assert judged == ALL - {"weights_gib", "kv_cache_gib"}


def test_nothing_is_judged_per_gpu_when_their_number_is_unknown() -> None:
    counts = {name: value for name, value in COUNTS.items() if name != "tp"}

    assert fields(row(counts=counts)) == set()


def test_a_pool_needs_card_and_fraction() -> None:
    assert "kv_cache_gib" not in fields(row(numbers=without("gpu_memory_utilization")))
    assert "kv_cache_gib" not in fields(row(numbers=without("gpu_mem_gib")))
    assert "kv_cache_gib" in fields(row(numbers=without("gpu_mem_gib"), texts={"gpu": "RTX 3090"}))
    assert "kv_cache_gib" not in fields(row(numbers=without("gpu_mem_gib"), texts={"gpu": "H100"}))


def test_shared_host_memory_pins_down_no_pool() -> None:
    spark = row(numbers=without("gpu_mem_gib"), texts={"gpu": "DGX Spark GB10"})

    assert "kv_cache_gib" not in fields(spark)


def test_a_capped_pool_is_no_pool() -> None:
    assert "kv_cache_gib" not in fields(row(counts={**COUNTS, "max_total_tokens": 20_480}))


def test_blocks_stand_for_tokens_and_pool() -> None:
    blocks = {"tp": 1, "gpu_blocks": 28_781, "block_size": 16, "max_model_len": 131_072}

    judged = judge(row(numbers=without("kv_cache_gib", "kv_bytes_per_token"), counts=blocks)).judged

    assert {each.field for each in judged} == ALL - {"kv_bytes_per_token"}
    tokens = next(each for each in judged if each.field == "kv_tokens")
    assert tokens.measured == 460_496


def test_mixed_models_are_judged_by_requests_of_the_longest_length() -> None:
    counts = {"tp": 1, "max_model_len": 262_144, "kv_tokens": 129_472}
    numbers = {"kv_cache_gib": 5.95, "max_concurrency": 1.97, "kv_bytes_per_token": 49_344.8}
    hybrid = row(model="qwen3.5-2b", counts=counts, numbers=numbers)

    judged = {each.field: each for each in judge(hybrid).judged}

    assert judged["kv_tokens"].measured == pytest.approx(1.97 * 262_144)
    assert judged["kv_bytes_per_token"].measured == pytest.approx(12_371, rel=1e-3)
    assert max(each.error for each in judged.values()) < 0.01
    silent = row(model="qwen3.5-2b", counts=counts, numbers={"kv_cache_gib": 5.95})
    assert fields(silent) == set()


def test_llama_cpp_is_judged_by_all_cells_over_the_context() -> None:
    numbers = {"kv_bytes_per_token": 24_720.2}
    counts = {"n_gpus": 1, "max_model_len": 131_072, "n_ubatch": 512}
    cells = row(engine="llama.cpp", model="gpt-oss-20b", numbers=numbers, counts=counts)

    (judged,) = judge(cells).judged

    assert judged.error < 0.002
    unknown_step = {name: value for name, value in counts.items() if name != "n_ubatch"}
    assert not judge(
        row(engine="llama.cpp", model="gpt-oss-20b", numbers=numbers, counts=unknown_step)
    ).judged


def test_recurrent_states_are_judged_per_slot_and_snapshot() -> None:
    state = row(
        engine="llama.cpp",
        model="qwen3.6-27b",
        numbers={"recurrent_state_gib": 7.598},
        counts={"max_num_seqs": 4, "max_model_len": 32_768},
        texts={"quote": "4 cells, 64 layers, 4 seqs 12 rs_seq"},
    )

    (judged,) = judge(state).judged

    assert judged.error < 0.001


def test_sglang_pools_follow_from_what_is_free_after_loading() -> None:
    static = row(
        engine="sglang",
        numbers={"kv_cache_gib": 54.24, "avail_after_load_gib": 63.7, "mem_fraction_static": 0.88},
        counts={"tp": 1, "kv_tokens": 444_372, "max_model_len": 131_072},
    )

    accuracy = judge(static)

    assert {each.field for each in accuracy.judged} == {"kv_cache_gib", "kv_tokens"}
    assert max(each.error for each in accuracy.judged) < 0.001


def test_sglang_without_free_memory_has_no_judged_pool() -> None:
    static = row(
        engine="sglang",
        numbers={"kv_cache_gib": 54.24, "mem_fraction_static": 0.88},
        counts={"tp": 1},
    )

    assert fields(static) == set()


def test_tensorrt_pools_follow_from_what_is_free() -> None:
    free = row(
        engine="trtllm",
        numbers={"kv_cache_gib": 16.05, "free_before_kv_gib": 17.83, "kv_free_fraction": 0.9},
        counts={"tp": 1, "max_model_len": 2048, "kv_tokens": 131_480},
    )

    accuracy = judge(free)

    assert accuracy.judged[0].field == "kv_cache_gib"
    assert max(each.error for each in accuracy.judged) < 0.001


def test_a_failure_called_a_fit_is_false() -> None:
    accuracy = judge(row(outcome="oom"))

    assert [each.false_fit for each in accuracy.verdicts] == [True]
    assert not accuracy.verdicts[0].false_refusal


def test_a_success_that_is_refused_is_false() -> None:
    tiny = row(numbers={"kv_cache_gib": 0.5}, texts={"gpu": "80 GiB GPU"})

    accuracy = judge(tiny)

    assert [each.false_refusal for each in accuracy.verdicts] == [True]


def test_a_success_of_unknown_length_is_not_judged() -> None:
    counts = {"tp": 1, "kv_tokens": 460_496}

    assert not judge(row(counts=counts)).verdicts


def test_unknown_models_and_engines_are_unanswered_and_counted() -> None:
    accuracy = judge(row(model="no-such-model"), row(engine="no-such-engine"), row())

    assert (accuracy.rows, accuracy.answered, len(accuracy.unanswered)) == (3, 1, 2)


def test_first_engine_is_known_by_its_words() -> None:
    old = row(
        numbers={
            "weights_gib": 14.9888,
            "kv_cache_gib": 2.89,
            "gpu_mem_gib": 23.58,
            "gpu_memory_utilization": 0.9,
        },
        counts={"tp": 1, "gpu_blocks": 1478, "block_size": 16, "max_model_len": 29_000},
        texts={"quote": "peak_torch_memory=17.98GiB; # GPU blocks: 1478"},
        outcome="kv_too_small",
    )

    accuracy = judge(old)

    pool = next(each for each in accuracy.judged if each.field == "kv_cache_gib")
    assert pool.error < 0.03
    assert accuracy.verdicts[0].verdict is Verdict.UNCERTAIN


def test_document_has_errors_as_fractions_and_groups_on_request() -> None:
    accuracy = memory_accuracy([row()], resolve_model, by="family")

    document = accuracy.as_json()

    assert (document["rows"], document["answered"]) == (1, 1)
    assert accuracy.groups == ("llama",)
    weights = accuracy.summary("weights_gib", group="llama")
    assert weights.n == 1
    assert weights.median_ape == pytest.approx(0.0007, abs=2e-4)
    assert accuracy.summary("weights_gib", group="qwen").median_ape is None
    assert accuracy.worst(1)[0].error == max(each.error for each in accuracy.judged)
    assert not judge(row()).groups


def test_p90_lies_between_ranks() -> None:
    rows = [row(numbers={"weights_gib": 14.989 * (1 + step / 10)}) for step in range(11)]

    summary = judge(*rows).summary("weights_gib")

    assert summary.median_ape == pytest.approx(0.5 / 1.5, abs=0.01)
    assert summary.p90_ape == pytest.approx(0.9 / 1.9, abs=0.01)


@pytest.mark.parametrize(
    ("quantization", "weights"),
    [
        ("gptq-int4", 5.35),
        ("bitsandbytes", 5.32),
        ("w8a8 int8", 8.49),
        ("modelopt nvfp4", 5.64),
        ("GGUF Q8_0", 7.43),
    ],
)
def test_quantisation_is_read_from_the_row(quantization: str, weights: float) -> None:
    engine = "llama.cpp" if "GGUF" in quantization else "vllm"
    judged = judge(
        row(
            engine=engine,
            numbers={"weights_gib": weights},
            counts={"tp": 1, "n_gpus": 1},
            texts={"quantization": quantization},
        )
    ).judged

    assert judged[0].error < 0.02


def test_a_gguf_mix_without_a_name_has_no_weights() -> None:
    judged = judge(
        row(
            engine="llama.cpp",
            numbers={"weights_gib": 5.0},
            counts={"n_gpus": 1},
            texts={"quantization": "GGUF IQ2_K_R4"},
        )
    ).judged

    assert not judged


def unknown(name: str) -> ModelSpec:
    raise UnknownModelError(name, known=())


def test_a_model_that_cannot_be_found_says_why() -> None:
    accuracy = memory_accuracy([row()], unknown)

    assert accuracy.unanswered == (("one", "Unknown model 'llama-3.1-8b'."),)


@pytest.mark.parametrize(
    ("engine", "quantization"),
    [("vllm", "quark"), ("vllm", "mxfp8"), ("llama.cpp", "")],
)
def test_weights_of_unsaid_bits_are_not_judged(engine: str, quantization: str) -> None:
    judged = fields(
        row(
            engine=engine,
            numbers={"weights_gib": 8.0},
            counts={"tp": 1, "n_gpus": 1},
            texts={"quantization": quantization},
        )
    )

    assert judged == set()


def test_a_file_in_32_bit_is_loaded_in_16() -> None:
    (judged,) = judge(
        row(model="olmo-2-7b", numbers={"weights_gib": 13.6}, counts={"tp": 1})
    ).judged

    assert judged.error < 0.02


def test_sglang_prints_the_cache_of_a_hybrid_without_its_states() -> None:
    printed = row(
        engine="sglang",
        model="qwen3.5-9b",
        numbers={
            "kv_bytes_per_token": 32_768,
            "kv_cache_gib": 20.0,
            "avail_after_load_gib": 60.0,
            "mem_fraction_static": 0.88,
        },
        counts={"tp": 1, "max_model_len": 32_768},
    )

    (judged,) = judge(printed).judged

    assert (judged.field, judged.error) == ("kv_bytes_per_token", 0)


@pytest.mark.parametrize(("loaded", "verdict"), [(8.0, "fits"), (23.9, "does not fit")])
def test_llama_cpp_is_judged_beside_the_weights_it_loaded(loaded: float, verdict: str) -> None:
    (judged,) = judge(
        row(
            engine="llama.cpp",
            numbers={"gpu_weight_buffers_gib": loaded},
            counts={"n_gpus": 1, "max_model_len": 8192},
            texts={"gpu": "RTX 4090", "quantization": "GGUF Q8_0"},
        )
    ).verdicts

    assert verdict == judged.verdict.value


def test_llama_cpp_over_several_cards_is_not_judged() -> None:
    found = judge(
        row(
            engine="llama.cpp",
            numbers={"gpu_weight_buffers_gib": 8.0},
            counts={"n_gpus": 2, "max_model_len": 8192},
            texts={"gpu": "RTX 4090", "quantization": "GGUF Q8_0"},
        )
    )

    assert () == found.verdicts
