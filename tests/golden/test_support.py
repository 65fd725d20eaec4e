"""What people asked about formats on GPUs, and what was found to be true."""

from dataclasses import dataclass

import pytest

from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.precision import Support
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.support import kv_support, weight_support


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    gpu: str
    engine: str
    version: str | None
    format: str
    expected: Support
    source: str

    def __str__(self) -> str:
        return f"{self.format} on {self.gpu}, {self.engine} {self.version or 'newest'}"


def cases(
    engine_name: str, version: str | None, name: str, expected: Support, source: str, *gpus: str
) -> list[Case]:
    return [
        Case(
            gpu=gpu,
            engine=engine_name,
            version=version,
            format=name,
            expected=expected,
            source=source,
        )
        for gpu in gpus
    ]


AMPERE = ("a100-80g-sxm", "a10", "rtx-3090")
WEIGHT_CASES = [
    # FP8 checkpoints on Ampere: weight-only in vLLM, refused by TensorRT-LLM and SGLang of 2025
    *cases("vllm", None, "fp8", Support.WEIGHT_ONLY, "vllm-project/vllm#5975", *AMPERE),
    *cases("vllm", "0.5.1", "fp8", Support.WEIGHT_ONLY, "vllm-project/vllm#5975", *AMPERE),
    *cases(
        "tensorrt-llm",
        None,
        "fp8",
        Support.UNSUPPORTED,
        "NVIDIA/TensorRT-LLM#1428",
        "a100-80g-sxm",
    ),
    *cases("sglang", "0.5.4", "fp8", Support.UNSUPPORTED, "sgl-project/sglang#7715", "rtx-3090"),
    # block FP8 on Ada
    *cases(
        "tensorrt-llm",
        "0.21.0rc0",
        "fp8-block",
        Support.UNSUPPORTED,
        "NVIDIA/TensorRT-LLM#4599",
        "rtx-5000-ada",
        "l40s",
    ),
    *cases("tensorrt-llm", None, "fp8", Support.NATIVE, "NVIDIA/TensorRT-LLM#2229", "rtx-4090"),
    # the smallest cloud GPUs for an FP8 9B
    *cases("vllm", "0.18", "fp8", Support.NATIVE, "rh-aiservices-bu/rhoai-maas-guide#53", "l4"),
    *cases(
        "vllm", "0.18", "fp8", Support.UNSUPPORTED, "rh-aiservices-bu/rhoai-maas-guide#53", "t4"
    ),
    # MXFP4
    *cases("vllm", "0.10.1", "mxfp4", Support.UNSUPPORTED, "vllm-project/vllm#23203", "t4"),
    *cases("vllm", None, "mxfp4", Support.UNSUPPORTED, "vllm-project/vllm#23203", "t4"),
    # NVFP4 off Blackwell
    *cases("vllm", "0.24.0", "nvfp4", Support.WEIGHT_ONLY, "noonghunna/club-3090#670", "rtx-3090"),
    *cases("vllm", None, "nvfp4", Support.WEIGHT_ONLY, "NVlabs/QeRL#10", "h100-sxm"),
    *cases("vllm", None, "nvfp4", Support.NATIVE, "NVlabs/QeRL#10", "b200"),
    # a regression: block FP8 checkpoints on A100 loaded in 0.19.0, not in the next nightlies
    *cases(
        "vllm",
        "0.19.0",
        "fp8-block",
        Support.WEIGHT_ONLY,
        "vllm-project/vllm#39610",
        "a100-80g-sxm",
    ),
    *cases(
        "vllm", "0.20.0", "fp8-block", Support.UNKNOWN, "vllm-project/vllm#39610", "a100-80g-sxm"
    ),
    # the plain cases
    *cases(
        "vllm",
        None,
        "fp8",
        Support.NATIVE,
        "docs.vllm.ai quantization, Supported Hardware",
        "h100-sxm",
        "l40s",
        "b200",
        "rtx-5090",
        "mi300x",
        "mi355x",
    ),
    *cases("vllm", None, "awq", Support.WEIGHT_ONLY, "vllm-project/vllm#1252", "t4", "rtx-4090"),
    *cases("sglang", None, "bf16", Support.UNSUPPORTED, "gpustack/gpustack#3932", "t4"),
]
KV_CASES = [
    *cases("vllm", "0.4", "fp8_e5m2", Support.STORAGE_ONLY, "vllm-project/vllm#4827", "a10"),
    *cases("vllm", "0.11.0", "fp8", Support.UNSUPPORTED, "vllm-project/vllm#26431", "rtx-3090"),
    *cases("vllm", None, "fp8", Support.NATIVE, "vllm-project/vllm#24577", "l40s", "h100-sxm"),
    *cases(
        "tensorrt-llm",
        "1.0",
        "fp8",
        Support.STORAGE_ONLY,
        "TensorRT-LLM hardware support matrix",
        "a100-80g-sxm",
    ),
]


@pytest.mark.parametrize("case", WEIGHT_CASES, ids=str)
def test_a_weight_format_runs_as_was_found(case: Case) -> None:
    answer = weight_support(
        gpu_catalogue().get(case.gpu),
        weight_format(case.format),
        engine(case.engine, case.version),
        version=case.version,
    )

    assert case.expected == answer.support, case.source
    assert answer.reason


@pytest.mark.parametrize("case", KV_CASES, ids=str)
def test_a_kv_format_runs_as_was_found(case: Case) -> None:
    answer = kv_support(
        gpu_catalogue().get(case.gpu),
        kv_format(case.format),
        engine(case.engine, case.version),
        version=case.version,
    )

    assert case.expected == answer.support, case.source


def test_e4m3_is_warned_of_on_a100() -> None:
    # vllm-project/vllm#2279: about 70 % slower than FP16 on A100-40GB.
    answer = kv_support(
        gpu_catalogue().get("a100-40g-sxm"), kv_format("fp8"), engine("vllm"), version="0.6"
    )

    assert answer.support is Support.STORAGE_ONLY
    assert "70 % slower" in answer.reason


def test_a_tile_that_does_not_fit_is_told_of_on_ampere() -> None:
    # rh-aiservices-bu/rhoai-maas-guide#53: size_n = 6448 is not divisible by 64 on A10G. The shape
    # is not part of the table, so the answer is a yes with the condition.
    answer = weight_support(gpu_catalogue().get("a10g"), weight_format("fp8"), engine("vllm"))

    assert answer.support is Support.WEIGHT_ONLY
    assert "multiple of 64" in answer.reason
