from collections import Counter

import pytest

from caudal.facts.engines import engine, engines
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.precision import Support
from caudal.facts.precisions import kv_format, kv_formats, weight_format, weight_formats
from caudal.facts.support import (
    GENERATIONS,
    generation_of,
    kv_support,
    support_rows,
    weight_support,
)

GPUS = gpu_catalogue()
GGUF = frozenset(entry.name for entry in weight_formats() if entry.is_gguf)


def gpu(gpu_id: str) -> GpuSpec:
    return GPUS.get(gpu_id)


@pytest.mark.parametrize(
    ("gpu_id", "generation"),
    [
        ("p40", "pascal"),
        ("v100-32g", "volta"),
        ("t4", "turing"),
        ("a100-80g-sxm", "ampere"),
        ("rtx-3090", "ampere"),
        ("l40s", "ada"),
        ("h100-sxm", "hopper"),
        ("b200", "blackwell"),
        ("b300", "blackwell"),
        ("rtx-5090", "blackwell-rtx"),
        ("gb10", "blackwell-rtx"),
        ("jetson-thor-128g", "thor"),
        ("mi300x", "cdna3"),
        ("mi355x", "cdna4"),
        ("rx-7900xtx", "rdna3"),
        ("strix-halo-128g", "rdna3.5"),
        ("gaudi3", "gaudi"),
        ("max-1550", "xe"),
        ("m3-ultra-512g", "apple"),
        ("tpu-v6e", "tpu"),
        ("trainium2", "neuron"),
    ],
)
def test_a_gpu_belongs_to_a_generation(gpu_id: str, generation: str) -> None:
    assert generation == generation_of(gpu(gpu_id))


def test_every_gpu_of_the_catalogue_has_a_generation() -> None:
    assert set() == {generation_of(spec) for spec in GPUS.all} - set(GENERATIONS)


def test_every_row_names_what_exists_and_its_source() -> None:
    known = {
        "weight": {entry.name for entry in weight_formats()},
        "kv": {entry.name for entry in kv_formats()},
    }
    names = {spec.name for spec in engines()}

    for row in support_rows():
        assert row.engine in names
        assert row.formats <= known[row.kind], row
        assert row.generations, row
        assert row.answer.source, row
        assert row.answer.reason.endswith("."), row


def test_no_row_repeats_another() -> None:
    keys = Counter(
        (row.kind, row.engine, row.first_version, row.last_version, name, generation)
        for row in support_rows()
        for name in row.formats
        for generation in row.generations
    )

    assert [key for key, times in keys.items() if times > 1] == []


def test_16_bit_is_answered_for_every_nvidia_gpu_since_turing() -> None:
    runs = {
        generation_of(card)
        for card in GPUS.all
        for spec in engines()
        if weight_support(card, weight_format("fp16"), spec).runs
    }

    assert {"turing", "ampere", "ada", "hopper", "blackwell", "blackwell-rtx"} <= runs


def test_what_no_row_speaks_of_is_unknown_and_not_a_no() -> None:
    answer = weight_support(gpu("trainium2"), weight_format("fp8"), engine("vllm"))

    assert answer.support is Support.UNKNOWN
    assert not answer.runs
    assert "No source" in answer.reason


def test_a_format_that_the_engine_cannot_read_is_refused() -> None:
    answer = weight_support(gpu("h100-sxm"), weight_format("int4"), engine("llama.cpp"))

    assert answer.support is Support.UNSUPPORTED
    assert "does not read int4" in answer.reason


def test_gguf_runs_wherever_llama_cpp_does() -> None:
    llama_cpp = engine("llama.cpp")

    for gpu_id in ("p40", "t4", "rtx-4090", "b200", "mi300x", "rx-7900xtx", "m4-max-128g"):
        for name in GGUF:
            assert weight_support(gpu(gpu_id), weight_format(name), llama_cpp).runs


def test_bf16_is_cast_on_cards_without_it() -> None:
    for gpu_id in ("v100-32g", "t4"):
        answer = weight_support(gpu(gpu_id), weight_format("bf16"), engine("vllm"))

        assert answer.support is Support.WEIGHT_ONLY
        assert "FP16" in answer.reason


def test_awq_is_refused_on_volta_while_gptq_runs() -> None:
    # Source: vllm-project/vllm#1488, #4202.
    answer = weight_support(gpu("v100-32g"), weight_format("awq"), engine("vllm"))

    assert answer.runs
    assert "AWQ needs compute capability 7.5" in answer.reason


def test_int8_stops_before_blackwell() -> None:
    # Source: docs.vllm.ai, INT8 W8A8, Blackwell GPU limitation.
    int8, vllm = weight_format("int8"), engine("vllm")

    assert weight_support(gpu("t4"), int8, vllm).support is Support.NATIVE
    assert weight_support(gpu("h100-sxm"), int8, vllm).support is Support.NATIVE
    assert weight_support(gpu("b200"), int8, vllm).support is Support.UNSUPPORTED
    assert weight_support(gpu("rtx-5090"), int8, vllm).support is Support.UNSUPPORTED


def test_early_releases_hold_no_kernels_for_rtx_blackwell() -> None:
    # Source: vllm-project/vllm#13306, #16901, #20748.
    bf16, card = weight_format("bf16"), gpu("rtx-5090")

    answers = [
        weight_support(card, bf16, engine("vllm", version), version=version).support
        for version in ("0.8.5", "0.9.2", "0.10.1")
    ]

    assert [Support.UNSUPPORTED, Support.UNKNOWN, Support.NATIVE] == answers


def test_a_version_within_a_range_is_told_apart() -> None:
    nvfp4, card, spec = weight_format("nvfp4"), gpu("t4"), engine("vllm", "0.24")

    assert weight_support(card, nvfp4, spec, version="0.23.1").support is Support.UNSUPPORTED
    assert weight_support(card, nvfp4, spec, version="0.24.0").support is Support.WEIGHT_ONLY
    assert weight_support(card, nvfp4, spec).support is Support.WEIGHT_ONLY


def test_a_quantised_kv_cache_of_llama_cpp_is_storage() -> None:
    answer = kv_support(gpu("rtx-4090"), kv_format("q8_0"), engine("llama.cpp"))

    assert answer.support is Support.STORAGE_ONLY
    assert answer.runs


def test_a_kv_format_that_the_engine_lacks_is_refused() -> None:
    answer = kv_support(gpu("rtx-4090"), kv_format("q8_0"), engine("vllm"))

    assert answer.support is Support.UNSUPPORTED


def test_an_unheard_of_vendor_has_no_generation_and_no_answer() -> None:
    nameless = GpuSpec(
        id="x",
        name="X",
        vendor="Somebody",
        architecture="",
        compute_capability="",
        memory_bytes=gpu("t4").memory_bytes,
        usable_bytes=gpu("t4").usable_bytes,
        memory_type="",
        memory_bytes_per_s=gpu("t4").memory_bytes_per_s,
        dense_bf16_flop_per_s=None,
        dense_fp8_flop_per_s=None,
        dense_int8_flop_per_s=None,
        dense_fp4_flop_per_s=None,
        native_fp8=False,
        native_fp4=False,
        native_bf16=False,
        power_watts=None,
        interconnect="",
        link_bytes_per_s=gpu("t4").link_bytes_per_s,
        pcie_generation=None,
        mig_slices=0,
        ecc=False,
        form_factor="",
        release_year=2026,
        source=gpu("t4").source,
    )

    assert generation_of(nameless) == ""
    assert weight_support(nameless, weight_format("bf16"), engine("vllm")).support is (
        Support.UNKNOWN
    )
