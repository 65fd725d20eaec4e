"""`caudal fit --log` as installed: text, JSON by its schema, and what it refuses."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

CAUDAL = Path(sys.executable).parent / "caudal"
LOGS = Path(__file__).parents[1] / "data" / "start_logs"
INVALID, UNKNOWN, UNAVAILABLE = 2, 3, 5
NAMED = sorted(path for path in LOGS.iterdir() if path.name != "tensorrt-llm-0.19.log")


def fit(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CAUDAL, "fit", *map(str, arguments)],
        env=os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("log", NAMED, ids=lambda path: path.name)
def test_a_log_that_names_its_model_needs_nothing_else(log: Path) -> None:
    schema = json.loads((files("caudal.cli") / "schemas" / "fit-log.json").read_text())

    done = fit("--log", log, "--json")

    assert 0 == done.returncode, done.stderr
    document = json.loads(done.stdout)
    Draft202012Validator(schema).validate(document)
    assert document["terms"] or document["outcome"] == "oom"


def test_the_text_shows_measured_beside_predicted() -> None:
    done = fit("--log", LOGS / "vllm-0.11.2.log")

    assert 0 == done.returncode
    assert "Qwen/Qwen3-32B on vllm 0.11.2 on 2 x h100-sxm started." in done.stdout
    assert "measured" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_model_card_and_format_may_be_given() -> None:
    done = fit(
        *("deepseek-r1", "--log", LOGS / "ik_llama.cpp.log"),
        *("--gpu", "rtx-3090:3", "--precision", "q2_k", "--json"),
    )

    document = json.loads(done.stdout)
    assert "rtx-3090" == document["gpu_id"]
    assert document["terms"][0]["predicted"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--log", LOGS / "tensorrt-llm-0.19.log"), INVALID, "names no model"),
        (("--log", LOGS), UNAVAILABLE, "is no file"),
        (("--log", LOGS / "absent.log"), UNAVAILABLE, "is no file"),
        (("--log", Path(__file__)), INVALID, "invalid-log"),
        (("--log", NAMED[0], "--gpu", "h100", "--gpu", "a100"), INVALID, "of one card"),
        (("--log", LOGS / "vllm-0.11.2.log", "--gpu", "h1000"), UNKNOWN, "h1000"),
        (("qwen3-32b", "--params", "3B", "--log", NAMED[0]), INVALID, "both"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: tuple[object, ...], code: int, said: str
) -> None:
    done = fit(*arguments)

    assert code == done.returncode, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
