"""The installed command, run as a person runs it: in a fresh folder, by its name."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from caudal.plan.report import Gate

CAUDAL = Path(sys.executable).parent / "caudal"
TODAY = "1796040000"  # 2026-11-30: ages of prices must not change with the day
HEADLINE = [
    *("plan", "llama-3.1-70b", "--input", "2000", "--output", "300", "--rate", "5/s"),
    *("--ttft-p95", "1s", "--tpot-p95", "50ms"),
]
ROWS = [
    {
        "id": "a",
        "engine": "vLLM",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "outcome": "ok",
        "weights_gib": 14.99,
        "tp": 1,
        "dtype": "bfloat16",
        "gpu": "H100 80GB",
    },
    {"id": "b", "engine": "vLLM", "model": "nobody/knows-this", "outcome": "ok"},
]


SPEED_ROW = {
    "id": "a",
    "kind": "decode_b1",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "H100-SXM",
    "n_gpus": 1,
    "engine": "vLLM",
    "precision": "bf16",
    "tp": 1,
    "pp": 1,
    "isl": 1024,
    "osl": 128,
    "tpot_ms_mean": 7.0,
    "source": "made up for this test",
    "license": "none",
    "quality": "A",
}


def caudal(
    arguments: Sequence[str], folder: Path, *, columns: int = 80
) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("HF_", "CAUDAL"))
    }
    return subprocess.run(
        [CAUDAL, *arguments],
        cwd=folder,
        env=environment
        | {
            "COLUMNS": str(columns),
            "SOURCE_DATE_EPOCH": TODAY,
            "HOME": str(folder),
            "HF_HUB_OFFLINE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def rows_file(folder: Path) -> Path:
    path = folder / "memory.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def schema(name: str) -> Draft202012Validator:
    text = files("caudal.cli").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


FIT = "llama-3.1-70b --gpu H100 --precision fp8 --context 8192 --concurrency 32"
ANSWERS = [
    ("plan", " ".join([*HEADLINE, "--top", "3", "--explain", "1"])),
    ("plan", "plan qwen3-32b --tokens-per-day 50M --batch"),
    ("plan", "plan --params 13B --users 40 --context 8k --gpu H100:1..8 --term monthly"),
    ("fit", f"fit {FIT}"),
    ("fit", "fit deepseek-v3 --gpu h200:8 --explain"),
    ("fit", "fit --params 13B"),
    ("speed", "speed llama-3.1-70b --gpu H100 --precision fp8 --tp 4 --input 2k --output 300"),
    ("speed", "speed deepseek-v3 --gpu h200:8 --batch 1,64,4096"),
    ("speed", "speed --params 13B"),
    ("gpus-list", "gpus --fp8 --min-memory 80GB --sort bandwidth"),
    ("gpus-show", "gpus show h100"),
    ("gpus-compare", "gpus compare l40s rtx4090 a100-80gb"),
    ("models-list", "models --family qwen"),
    ("models-show", "models show deepseek-v3"),
    ("offers", "offers --gpu H100:8 --region us --max-price 25"),
]


@pytest.mark.parametrize(("name", "line"), ANSWERS, ids=str)
def test_an_answer_is_text_for_people_and_a_document_for_machines(
    name: str, line: str, tmp_path: Path
) -> None:
    text = caudal(line.split(), tmp_path)
    document = caudal([*line.split(), "--json"], tmp_path)

    assert (0, "") == (text.returncode, text.stderr)
    assert (0, "") == (document.returncode, document.stderr)
    schema(name).validate(json.loads(document.stdout))
    assert max(map(len, text.stdout.splitlines())) <= 80
    assert "\x1b" not in text.stdout  # no colour in a pipe


def test_the_accuracy_of_memory_is_judged_row_by_row(tmp_path: Path) -> None:
    arguments = ["accuracy", "memory", str(rows_file(tmp_path)), "--models", str(tmp_path)]

    text = caudal(arguments, tmp_path)
    document = caudal([*arguments, "--by", "engine", "--json"], tmp_path)

    assert (0, "") == (text.returncode, text.stderr)
    answer = json.loads(document.stdout)
    schema("accuracy-memory").validate(answer)
    assert (2, 1) == (answer["rows"], answer["answered"])
    assert answer["fields"]["weights_gib"]["median_ape"] < 0.02
    assert "nobody/knows-this" in text.stdout


def test_the_accuracy_of_speed_is_judged_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "perf.jsonl"
    path.write_text(json.dumps(SPEED_ROW) + "\n")
    arguments = ["accuracy", "speed", str(path), "--models", str(tmp_path), "--by", "engine"]

    text = caudal(arguments, tmp_path)
    document = caudal([*arguments, "--json"], tmp_path)

    assert (0, "") == (text.returncode, text.stderr)
    answer = json.loads(document.stdout)
    schema("accuracy-speed").validate(answer)
    assert (1, 1) == (answer["rows"], answer["answered"])
    assert answer["metrics"]["tpot"]["n"] == 1
    assert set(answer["by"]) == {"vLLM"}


def test_a_plan_says_what_it_considered_and_how_old_its_prices_are(tmp_path: Path) -> None:
    done = caudal([*HEADLINE, "--json"], tmp_path)

    answer = json.loads(done.stdout)
    assert answer["considered"]["candidates"] > 1000
    assert all(row["price"]["age_days"] >= 0 for row in answer["rows"])
    assert [row["rank"] for row in answer["rows"]] == list(range(1, len(answer["rows"]) + 1))
    gates = [gate["gate"] for gate in answer["gates"]]
    assert gates == [gate.value for gate in Gate if gate.value in gates]
    assert gates[0] == "layout not legal"


def test_two_runs_of_one_question_are_equal(tmp_path: Path) -> None:
    first, second = (caudal([*HEADLINE, "--json"], tmp_path).stdout for _ in range(2))

    assert first == second


@pytest.mark.parametrize(
    "command", ["", "plan", "fit", "speed", "gpus", "gpus list", "models", "offers"]
)
def test_help_teaches_by_example(command: str, tmp_path: Path) -> None:
    done = caudal([*command.split(), "--help"], tmp_path)

    assert done.returncode == 0
    assert f"$ caudal {command}".strip() in done.stdout


def test_the_version_is_the_packages_own(tmp_path: Path) -> None:
    done = caudal(["--version"], tmp_path)

    assert done.stdout.startswith("caudal 0.")


def test_a_terminal_that_lacks_a_sign_gets_text_and_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [CAUDAL, "gpus", "show", "t4"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert b"T4" in done.stdout


def test_a_model_of_ones_own_is_read_from_its_folder(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "my-model").mkdir()
    (tmp_path / "my-model" / "config.json").write_text(json.dumps(config))

    done = caudal(["models", "show", "./my-model/", "--json"], tmp_path)

    assert done.returncode == 0
    assert json.loads(done.stdout)["model"]["total_parameters"] == 8_030_261_248
