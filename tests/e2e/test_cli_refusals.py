"""What bad input gets: one clear error with a remedy, an exit code by kind, never a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

CAUDAL = Path(sys.executable).parent / "caudal"
ERROR_SCHEMA = Draft202012Validator(
    json.loads(files("caudal.cli").joinpath("schemas", "error.json").read_text(encoding="utf-8"))
)
CONFIG: dict[str, object] = {
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
INVALID, UNKNOWN, INFEASIBLE, UNAVAILABLE = 2, 3, 4, 5


def caudal(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("HF_", "CAUDAL"))
    }
    return subprocess.run(
        [CAUDAL, *arguments],
        cwd=folder,
        env=environment
        | {"SOURCE_DATE_EPOCH": "1796040000", "HOME": str(folder), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


LLAMA = "plan llama-3.1-8b --rate 1/s"
REFUSED = [
    (UNKNOWN, "unknown-model", "plan lama-3.1-70b --rate 5/s", "llama-3.1-70b"),
    (UNKNOWN, "unknown-model", "fit lama-3.1-70b", "llama-3.1-70b"),
    (UNKNOWN, "unknown-model", "models show qwen3-3b", "qwen3"),
    (UNKNOWN, "unknown-gpu", f"{LLAMA} --gpu H1000", "H100"),
    (UNKNOWN, "unknown-gpu", "gpus show rtx4091", "4090"),
    (UNKNOWN, "unknown-gpu", "offers --gpu b20", "B200"),
    (UNKNOWN, "unknown-precision", f"{LLAMA} --precision fp9", "fp8"),
    (UNKNOWN, "unknown-engine", f"{LLAMA} --engine vlm", "vllm"),
    (UNKNOWN, "unknown-provider", f"{LLAMA} --provider azur", "azure"),
    (UNKNOWN, "unknown-region", f"{LLAMA} --region atlantis", "us"),
    (UNAVAILABLE, "model-not-downloaded", "plan nobody/unheard-of --rate 1/s", "Download"),
    (INVALID, "contradictory-options", f"{LLAMA} --users 4", "--rate"),
    (INVALID, "contradictory-options", "plan llama-3.1-8b", "--rate"),
    (INVALID, "contradictory-options", f"{LLAMA} --batch --ttft-p95 1s", "--batch"),
    (INVALID, "contradictory-options", f"{LLAMA} --params 13B", "MODEL"),
    (INVALID, "contradictory-options", "fit", "MODEL"),
    (INVALID, "contradictory-options", "fit llama-3.1-8b --gpu H100:2 --tp 4", "--tp"),
    (INVALID, "contradictory-options", f"{LLAMA} --input 8k --output 1k --context 4k", "--context"),
    (INVALID, "invalid-quantity", f"{LLAMA} --ttft-p95 80GB", "--ttft-p95"),
    (INVALID, "invalid-quantity", "plan llama-3.1-8b --rate 0/s", "--rate"),
    (INVALID, "invalid-quantity", "plan llama-3.1-8b --rate 5", "5/s"),
    (INVALID, "invalid-quantity", f"{LLAMA} --input -5", "--input"),
    (INVALID, "invalid-quantity", f"{LLAMA} --budget 0", "--budget"),
    (INVALID, "invalid-quantity", "gpus --min-memory 5s", "--min-memory"),
    (INVALID, "invalid-quantity", "fit llama-3.1-8b --gpu H100:0", "H100"),
    (INVALID, "invalid-quantity", "speed llama-3.1-8b --batch 1,many", "many"),
    (INVALID, "invalid-quantity", "fit llama-3.1-8b --context 100M", "context"),
    (INVALID, "invalid-layout", "fit llama-3.1-8b --gpu H100 --tp 3", "32"),
    (INVALID, "invalid-usage", f"{LLAMA} --precison fp8", "--precision"),
    (INVALID, "invalid-usage", "plann llama-3.1-8b", "plan"),
    (INVALID, "invalid-usage", "gpus shw h100", "show"),
    (INVALID, "invalid-usage", "gpus --sort size", "memory"),
    (INVALID, "invalid-usage", "gpus show", "GPU"),
    (INVALID, "invalid-usage", f"{LLAMA} --top 0", "--top"),
    (INVALID, "invalid-input", f"{LLAMA} --explain 99", "--explain"),
    (INFEASIBLE, "infeasible", "gpus --min-memory 5TB", "filter"),
    (INFEASIBLE, "infeasible", "models --family xyzzy", "filter"),
    (INFEASIBLE, "infeasible", "offers --gpu H100:8 --max-price 1", "price"),
    (UNAVAILABLE, "unavailable", "accuracy memory none.jsonl --models .", "none.jsonl"),
]


@pytest.mark.parametrize(("exit_code", "code", "line", "told"), REFUSED, ids=str)
def test_bad_input_gets_one_clear_error(
    exit_code: int, code: str, line: str, told: str, tmp_path: Path
) -> None:
    done = caudal([*line.split(), "--json"], tmp_path)

    assert exit_code == done.returncode
    assert done.stderr.startswith("error: ")
    assert "\nremedy: " in done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    error = json.loads(done.stdout)
    ERROR_SCHEMA.validate(error)
    assert code == error["error"]["code"]


@pytest.mark.parametrize(
    "line", ["gpus show h101", "plan llama-3.1-8b", "plann", "completion tcsh"]
)
def test_without_json_an_error_leaves_standard_output_empty(line: str, tmp_path: Path) -> None:
    done = caudal(line.split(), tmp_path)

    assert done.stdout == ""
    assert done.stderr.count("\n") == 2


def write_config(folder: Path, text: str) -> None:
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text(text)


BROKEN = [
    ("malformed", "{", "config.json"),
    ("empty", "", "config.json"),
    ("a list", "[1, 2]", "config.json"),
    ("truncated", json.dumps(CONFIG)[:60], "config.json"),
    ("without layers", json.dumps(CONFIG | {"num_hidden_layers": None}), "num_hidden_layers"),
    ("negative", json.dumps(CONFIG | {"hidden_size": -1}), "hidden_size"),
    ("absurd", json.dumps(CONFIG | {"num_hidden_layers": 10**9}), "num_hidden_layers"),
    ("contradictory", json.dumps(CONFIG | {"num_attention_heads": 30}), "attention heads"),
    ("not a number", json.dumps(CONFIG | {"hidden_size": "NaN"}), "hidden_size"),
    ("deep", "[" * 100_000, "config.json"),
]


@pytest.mark.parametrize(("what", "text", "told"), BROKEN, ids=lambda value: str(value)[:20])
def test_a_broken_model_file_is_told_by_file_and_field(
    what: str, text: str, told: str, tmp_path: Path
) -> None:
    write_config(tmp_path, text)

    done = caudal(["fit", "./model"], tmp_path)

    assert (INVALID, "") == (done.returncode, done.stdout)
    assert "config.json" in done.stderr
    assert told in done.stderr
    assert "[invalid-model-file]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_configuration_of_two_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    write_config(tmp_path, "{")
    with (tmp_path / "model" / "config.json").open("r+b") as file:
        file.truncate(2 * 2**30)  # sparse: takes no disk

    done = caudal(["fit", "./model"], tmp_path)

    assert done.returncode == INVALID
    assert "config.json" in done.stderr


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").symlink_to("config.json")

    done = caudal(["fit", "./model"], tmp_path)

    assert done.returncode in {INVALID, UNAVAILABLE}
    assert "config.json" in done.stderr
    assert "Traceback" not in done.stderr


UNMET = [
    ("does not fit", "fit llama-3.1-405b --gpu t4:1"),
    ("over budget", "plan llama-3.1-70b --rate 5/s --budget 10"),
    ("SLO missed", "plan llama-3.1-70b --rate 5/s --ttft-p95 1ms"),
    ("does not fit", "plan llama-3.1-405b --rate 1/s --gpu t4:1"),
    ("no offer", "plan llama-3.1-8b --rate 1/s --gpu H100 --max-price 0.10"),
]


@pytest.mark.parametrize(("gate", "line"), UNMET, ids=str)
def test_an_empty_answer_names_what_binds_and_the_nearest(
    gate: str, line: str, tmp_path: Path
) -> None:
    done = caudal([*line.split(), "--json"], tmp_path)

    assert done.returncode == INFEASIBLE
    assert gate in done.stdout
    assert "\nremedy: " in done.stderr
    answer = json.loads(done.stdout)
    name = line.split(maxsplit=1)[0]
    schema = files("caudal.cli").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    Draft202012Validator(json.loads(schema)).validate(answer)
    assert answer["error"]["remedy"]


def test_an_empty_plan_still_shows_where_everything_fell(tmp_path: Path) -> None:
    done = caudal(["plan", "llama-3.1-70b", "--rate", "5/s", "--ttft-p95", "1ms"], tmp_path)

    assert done.returncode == INFEASIBLE
    assert "nothing is left after this gate" in done.stdout
    assert "nearest: " in done.stdout
