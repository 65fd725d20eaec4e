"""Start-up logs of each engine and version, as they print: every measured term is found."""

from pathlib import Path

import pytest

from caudal.calibrate.start_logs.comparison import LogComparison, compare_log
from caudal.calibrate.start_logs.lines import MOST_CHARACTERS, setting
from caudal.calibrate.start_logs.reader import read_start_log
from caudal.calibrate.start_logs.start_log import StartLog
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import resolve_model
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import InvalidLogError
from caudal.vocabulary.units import GIB, MIB

LOGS = Path(__file__).parents[3] / "data" / "start_logs"


def read(name: str) -> StartLog:
    return read_start_log((LOGS / name).read_text(encoding="utf-8"), file=name)


def gib(value: float) -> object:
    return pytest.approx(value * GIB, abs=1)


SETTINGS = {
    "vllm-0.6.4.log": ("vllm", "0.6.4", "meta-llama/Llama-3.1-8B-Instruct", 1, 0.90, 20_000),
    "vllm-0.7.3.log": ("vllm", "0.7.3", "Qwen/Qwen2.5-3B-Instruct", 1, 0.85, 4096),
    "vllm-0.11.2.log": ("vllm", "0.11.2", "Qwen/Qwen3-32B", 2, 0.92, 40_960),
    "vllm-0.21.0.log": ("vllm", "0.21.0", "openai/gpt-oss-20b", 1, 0.92, 131_072),
    "vllm-too-small.log": ("vllm", "0.10.1", "Qwen/Qwen3-8B", 1, 0.85, 40_960),
    "vllm-oom.log": ("vllm", "0.8.5", "meta-llama/Llama-3.3-70B-Instruct", 1, 0.95, None),
    "sglang-0.5.5.log": ("sglang", "0.5.5", "Qwen/Qwen3-32B", 2, 0.83, 40_960),
    "sglang-mla.log": ("sglang", "", "deepseek-ai/DeepSeek-V3", 8, 0.79, 163_840),
    "llama.cpp-b3600.log": (
        *("llama.cpp", "3600", "models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf"),
        *(None, None, 8192),
    ),
    "llama.cpp-b6800.log": (
        *("llama.cpp", "6800", "/models/gpt-oss-20b-mxfp4.gguf"),
        *(None, None, 131_072),
    ),
    "ik_llama.cpp.log": ("llama.cpp", "", "/models/DeepSeek-R1-IQ2_K.gguf", None, None, 2048),
    "ollama.log": ("ollama", "", "Meta Llama 3.1 8B Instruct", None, None, 16_384),
    "tensorrt-llm-0.19.log": ("tensorrt-llm", "0.19.0", "", 1, None, 16_384),
    "tensorrt-llm-1.0-pytorch.log": (
        *("tensorrt-llm", "1.0.0", "meta-llama/Llama-3.1-8B-Instruct"),
        *(1, 0.9, None),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_settings_of_a_start_are_read(name: str) -> None:
    log = read(name)

    found = (log.engine, log.version, log.model, log.tensor, log.memory_fraction)
    assert SETTINGS[name] == (*found, log.max_model_tokens)


TERMS = {
    "vllm-0.6.4.log": {
        "weights": 14.9888,
        "activation": 17.06 - 14.9888,
        "other": 0.35,
        "cuda graphs": 0.26,
        "KV pool": 3.81,
    },
    "vllm-0.7.3.log": {
        "weights": 5.7915,
        "activation": 1.04,
        "other": 0.03,
        "cuda graphs": 0.19,
        "KV pool": 5.67,
    },
    "vllm-0.11.2.log": {"weights": 30.5862, "cuda graphs": 0.81, "KV pool": 40.58},
    "vllm-0.21.0.log": {
        "weights": 13.72,
        "activation": 1.44,
        "other": 0.26,
        "cuda graphs": 0.23,
        "KV pool": 57.26,
    },
    "vllm-too-small.log": {
        "weights": 15.2683,
        "KV pool": 3.77,
        "KV of the longest request": 5.62,
    },
    "vllm-oom.log": {},
    "sglang-0.5.5.log": {"weights": 30.77, "cuda graphs": 1.0, "KV pool": 34.32},
    "sglang-mla.log": {"weights": 138.41 - 57.62, "KV pool": 28.58},
    "llama.cpp-b3600.log": {
        "weights": (281.81 + 2166.46 + 2241.03) / 1024,
        "activation": 328.02 / 1024,
        "KV pool": 1.0,
    },
    "llama.cpp-b6800.log": {
        "weights": (586.82 + 10949.38) / 1024,
        "activation": 398.38 / 1024,
        "KV pool": 3096 / 1024,
    },
    "llama.cpp-recurrent.log": {
        "weights": 46200 / 1024,
        "activation": 420 / 1024,
        "recurrent state": 150.75 / 1024,
        "KV pool": 1.5,
    },
    "ik_llama.cpp.log": {
        "weights": (213682 + 17744.02) / 1024,
        "activation": 503 / 1024,
        "KV pool": 72.91 / 1024,
    },
    "ollama.log": {"weights": 4403.49 / 1024, "activation": 1088 / 1024, "KV pool": 2.0},
    "tensorrt-llm-0.19.log": {
        "weights": 7802 / 1024,
        "activation": 1200.25 / 1024,
        "other": (173.15 + 785.42) / 1024,
        "KV pool": 16.05,
    },
    "tensorrt-llm-1.0-pytorch.log": {"weights": 14.96, "activation": 1.28, "KV pool": 55.60},
}


@pytest.mark.parametrize("name", TERMS)
def test_every_term_of_memory_is_read(name: str) -> None:
    measured = read(name).measured

    assert set(TERMS[name]) == set(measured)
    for term, expected in TERMS[name].items():
        assert gib(expected) == measured[term], term


def test_counts_are_read_with_their_blocks() -> None:
    counts = {name: (read(name).kv_tokens, read(name).kv_blocks) for name in TERMS}

    assert (None, 1952) == counts["vllm-0.6.4.log"]
    assert (332_400, None) == counts["vllm-0.11.2.log"]
    assert (281_093, None) == counts["sglang-0.5.5.log"]
    assert (263_008, 8219) == counts["tensorrt-llm-0.19.log"]


def test_outcomes_are_told_apart() -> None:
    outcomes = {name: read(name).outcome for name in TERMS}

    assert "oom" == outcomes.pop("vllm-oom.log")
    assert "kv_too_small" == outcomes.pop("vllm-too-small.log")
    assert {"ok"} == set(outcomes.values())


def test_the_card_is_named_by_drivers_and_kernels() -> None:
    assert "NVIDIA H100 80GB HBM3" == read("vllm-0.11.2.log").gpu
    assert "Tesla T4" == read("vllm-0.7.3.log").gpu
    assert "NVIDIA GeForce RTX 4090" == read("llama.cpp-b6800.log").gpu


def test_of_several_starts_the_last_counts() -> None:
    first = (LOGS / "vllm-0.7.3.log").read_text()
    second = first.replace("5.67GiB", "1.11GiB").replace("5.7915 GB", "2.0000 GB")

    log = read_start_log(first + second)

    assert gib(1.11) == log.kv_pool_bytes


def test_colours_and_borders_do_not_matter() -> None:
    plain = (LOGS / "vllm-0.11.2.log").read_text()
    coloured = "\n".join(f"\x1b[1;36m│ {line}\x1b[0m   │" for line in plain.split("\n"))

    assert read_start_log(plain) == read_start_log(coloured)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not the start-up log"),
        ("hello\nworld", "not the start-up log"),
        ("INFO vLLM API server version 0.11.2", "states no term of memory"),
        ("x" * (MOST_CHARACTERS + 10), "not the start-up log"),
        ("\0" * 1000, "not the start-up log"),
    ],
)
def test_what_is_no_log_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidLogError, match=said) as caught:
        read_start_log(text, file="x.log")

    assert caught.value.problem.startswith("x.log")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "line",
    ["tp_size=4,", "'tp_size': 4}", "--tp-size 4", "--tp-size=4", '"tp_size": "4"', "--tp_size 4"],
)
def test_a_setting_is_found_however_it_is_written(line: str) -> None:
    assert "4" == setting([line], "tp_size")


def test_a_word_beside_a_name_is_no_setting() -> None:
    assert "" == setting(["model weights take 5 GiB", "model=None"], "model")


def compare(name: str, model: str, *, weight_format: str = "") -> LogComparison:
    return compare_log(read(name), resolve_model(model), weight_format=weight_format)


def errors(compared: LogComparison) -> dict[str, float | None]:
    return {term.name: term.error for term in compared.terms}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("vllm-0.6.4.log", "llama-3.1-8b"),
        ("vllm-0.7.3.log", "qwen2.5-3b"),
        ("vllm-0.11.2.log", "qwen3-32b"),
        ("vllm-0.21.0.log", "gpt-oss-20b"),
        ("sglang-0.5.5.log", "qwen3-32b"),
        ("llama.cpp-b3600.log", "llama-3.1-8b"),
        ("llama.cpp-b6800.log", "gpt-oss-20b"),
        ("tensorrt-llm-1.0-pytorch.log", "llama-3.1-8b"),
    ],
)
def test_measured_terms_stand_beside_predicted_ones(name: str, model: str) -> None:
    found = errors(compare(name, model))

    weights, a_token = found["weights"], found.get("KV bytes a token", 0.0)
    assert weights is not None
    assert a_token is not None
    assert 0.025 > abs(weights)
    assert 0.005 > abs(a_token)


def test_what_did_not_fit_is_predicted_to_need_as_much() -> None:
    found = errors(compare("vllm-too-small.log", "qwen3-8b"))

    assert 0.0 == pytest.approx(found["KV of the longest request"], abs=0.002)
    assert Verdict.DOES_NOT_FIT is compare("vllm-oom.log", "llama-3.3-70b").verdict


def test_a_card_that_the_log_leaves_out_is_asked_for() -> None:
    without = compare("vllm-too-small.log", "qwen3-8b")
    card = gpu_catalogue().resolve("rtx-4090").specs[0]
    given = compare_log(read("vllm-too-small.log"), resolve_model("qwen3-8b"), gpu=card)

    assert any("--gpu" in each for each in without.assumptions)
    assert errors(without)["KV pool"] is None
    assert errors(given)["KV pool"] is not None


def test_weights_of_an_unstated_mix_are_not_predicted() -> None:
    unknown = compare("ollama.log", "llama-3.1-8b")
    told = compare("ollama.log", "llama-3.1-8b", weight_format="q4_k_m")

    assert errors(unknown)["weights"] is None
    assert unknown.verdict is None
    assert any("--precision" in each for each in unknown.assumptions)
    assert errors(told)["weights"] is not None


def test_weights_in_main_memory_are_said() -> None:
    compared = compare("llama.cpp-b3600.log", "llama-3.1-8b")

    assert 281.81 * MIB == pytest.approx(compared.log.host_weights_bytes)
    assert any("main memory" in each for each in compared.assumptions)
