from dataclasses import replace
from itertools import pairwise

import pytest

from caudal.facts.engine import EngineSpec
from caudal.facts.engines import (
    engine,
    engine_ranges,
    engines,
    usual_engine,
    version_numbers,
    version_within,
)
from caudal.facts.model import CheckpointFormat
from caudal.facts.models import resolve_model
from caudal.vocabulary.errors import UnknownEngineError
from caudal.vocabulary.units import GIB, Bytes

ALL_RANGES = [spec for newest in engines() for spec in engine_ranges(newest.name)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("vLLM", "vllm"),
        ("SGLang", "sglang"),
        ("trtllm", "tensorrt-llm"),
        ("TensorRT-LLM", "tensorrt-llm"),
        ("llamacpp", "llama.cpp"),
        ("llama.cpp (ROCm)", "llama.cpp"),
        ("Ollama/llama.cpp", "ollama"),
    ],
)
def test_an_engine_is_found_as_people_write_it(written: str, name: str) -> None:
    assert name == engine(written).name


@pytest.mark.parametrize(
    ("version", "first"),
    [
        (None, "0.21"),
        ("latest", "0.21"),
        ("0.21.0", "0.21"),
        ("0.29.1rc1", "0.21"),
        ("v0.20.2", "0.8"),
        ("0.8.5.post1", "0.8"),
        ("0.16.1rc1.dev206+g097eb544e", "0.8"),
        ("0.7.3", "0.7"),
        ("0.6.4.post1", "0.3"),
        ("0.5.x", "0.3"),
        ("0.2.7", "0.1"),
    ],
)
def test_a_version_picks_its_range(version: str | None, first: str) -> None:
    assert first == engine("vllm", version).first_version


def test_a_name_may_carry_the_version() -> None:
    assert engine("vllm", "0.8.5") == engine("vllm==0.8.5") == engine("vLLM 0.8.5")
    assert engine("llama.cpp b6800").max_sequences == 1
    assert engine("llama.cpp", "b7079").max_sequences == 4


def test_an_unknown_engine_names_its_neighbours() -> None:
    with pytest.raises(UnknownEngineError) as raised:
        engine("vlm")

    assert "vllm" in raised.value.remedy


@pytest.mark.parametrize("version", ["0.0.1", "nightly"])
def test_an_unknown_version_names_the_ranges(version: str) -> None:
    with pytest.raises(UnknownEngineError) as raised:
        engine("vllm", version)

    assert "0.8 to 0.20" in raised.value.remedy


def test_vllm_takes_graphs_out_of_the_budget_since_0_21() -> None:
    # Source: start-up message of v0.27.1, gpustack/runner#251.
    assert not engine("vllm", "0.20").graph_bytes_profiled
    assert engine("vllm", "0.21").graph_bytes_profiled


def test_vllm_claims_more_memory_since_0_21() -> None:
    assert engine("vllm", "0.20").memory_fraction == 0.90
    assert engine("vllm").memory_fraction == 0.92


def test_vllm_batches_more_on_large_cards_but_not_on_a100() -> None:
    # Source: vllm-project/vllm#17885.
    vllm = engine("vllm")

    h100 = vllm.tier_for(Bytes(80 * GIB), name="NVIDIA H100 80GB HBM3")
    a100 = vllm.tier_for(Bytes(80 * GIB), name="NVIDIA A100-SXM4-80GB")

    assert (8192, 1024) == (h100.max_batched_tokens, h100.max_sequences)
    assert (2048, 256) == (a100.max_batched_tokens, a100.max_sequences)


@pytest.mark.parametrize(
    ("memory_gib", "tensor", "fraction"),
    [
        (79.65, 1, 0.835),  # 512 + 1.5 x 8192 + 2 x 256 + 128 MiB
        (79.65, 8, 0.818),  # graphs of 512 sequences, eight GPUs: 14,848 MiB
        (140.4, 1, 0.907),
        (24.0, 1, 0.720),
    ],
)
def test_sglang_leaves_what_its_heuristic_reserves(
    memory_gib: float, tensor: int, fraction: float
) -> None:
    # Source: sgl-project/sglang, handle_gpu_memory_settings.
    sglang = engine("sglang")

    share = sglang.memory_fraction_on(Bytes(round(memory_gib * GIB)), tensor=tensor)

    assert fraction == pytest.approx(share, abs=5e-4)


def test_a_fraction_without_a_reserve_is_the_same_on_every_card() -> None:
    assert engine("vllm").memory_fraction_on(Bytes(24 * GIB)) == 0.92
    assert engine("llama.cpp").memory_fraction_on(Bytes(24 * GIB)) is None


@pytest.mark.parametrize(
    ("version", "tokens", "sequences"), [("0.5.19", 2048, 24), ("0.5.20", 4096, 48)]
)
def test_sglang_captures_more_on_24_gib_since_0_5_20(
    version: str, tokens: int, sequences: int
) -> None:
    # Source: sgl-project/sglang#37898.
    tier = engine("sglang", version).tier_for(Bytes(24 * GIB))

    assert (tokens, sequences) == (tier.max_batched_tokens, tier.graph_sequences)


def test_the_reserve_has_a_floor_on_large_cards() -> None:
    reserve = engine("sglang").reserve
    assert reserve is not None

    small = reserve.reserved_bytes(
        Bytes(40 * GIB), batched_tokens=engine("sglang").block_tokens, graph_sequences=8, gpus=1
    )
    large = reserve.reserved_bytes(
        Bytes(80 * GIB), batched_tokens=engine("sglang").block_tokens, graph_sequences=8, gpus=1
    )

    assert small < 10 * GIB
    assert large == 10 * GIB


def test_ollama_sets_the_context_by_the_card() -> None:
    # Source: ollama/ollama docs/context-length.mdx.
    ollama = engine("ollama")

    contexts = [ollama.tier_for(Bytes(gib * GIB)).context_tokens for gib in (16, 24, 48, 80)]

    assert [4096, 32_768, 262_144, 262_144] == contexts


@pytest.mark.parametrize("spec", ALL_RANGES, ids=lambda spec: f"{spec.name} {spec.versions}")
def test_every_range_is_whole_and_sourced(spec: EngineSpec) -> None:
    assert spec.source.where
    assert spec.weight_formats >= {"bf16", "fp16"}
    assert "bf16" in spec.kv_formats
    assert spec.supports_tensor_parallel or spec.splits_by_layer
    assert spec.memory_fraction is None or 0.5 < spec.memory_fraction < 1
    assert spec.non_torch_range_bytes[0] <= spec.non_torch_bytes <= spec.non_torch_range_bytes[1]
    starts = [tier.from_memory_bytes for tier in spec.tiers]
    assert starts == sorted(set(starts))
    assert starts[0] == 0


@pytest.mark.parametrize("name", [spec.name for spec in engines()])
def test_ranges_follow_one_another_and_the_last_is_open(name: str) -> None:
    ranges = engine_ranges(name)

    assert ranges[-1].last_version == ""
    for earlier, later in pairwise(ranges):
        assert version_numbers(earlier.last_version) < version_numbers(later.first_version)


@pytest.mark.parametrize(
    ("version", "first", "last", "inside"),
    [
        ("0.7.3", "0.7", "0.7", True),
        ("0.8", "0.7", "0.7", False),
        ("1.0", "", "", True),
        ("0.6.9", "0.7", "", False),
        ("0.7", "0.7.0", "", True),
    ],
)
def test_an_end_of_a_range_holds_its_patches(
    version: str, first: str, last: str, *, inside: bool
) -> None:
    assert inside == version_within(version, first=first, last=last)


def test_the_usual_engine_reads_the_models_own_files() -> None:
    published = resolve_model("llama-3.1-8b")
    converted = replace(published, checkpoint=CheckpointFormat(weight_format="q4_k_m"))

    assert (usual_engine(published).name, usual_engine(converted).name) == ("vllm", "llama.cpp")
