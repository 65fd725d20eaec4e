"""Start-up memory of 119 real servers: how right the predictions have to stay.

tests/data/memory_rows.jsonl holds figures that servers printed, read in public threads and logs,
each with its source; of the text only words that tell versions apart are kept. `named` is the
row's own name of the model, `model` the architecture.
"""

import json
from functools import cache
from pathlib import Path

import pytest

from caudal.calibrate.memory_accuracy import MemoryAccuracy, memory_accuracy
from caudal.calibrate.memory_rows import read_memory_rows
from caudal.facts.model import ModelSpec
from caudal.facts.models import model_catalogue
from caudal.vocabulary.errors import UnknownModelError

LINES = (
    (Path(__file__).parents[1] / "data" / "memory_rows.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
)


@cache
def accuracy() -> MemoryAccuracy:
    entries = [json.loads(line) for line in LINES]
    architectures = {entry.get("named", entry["model"]): entry["model"] for entry in entries}
    rows = read_memory_rows(
        [json.dumps({**entry, "model": entry.get("named", entry["model"])}) for entry in entries],
        file="memory_rows.jsonl",
    )

    def model_of(name: str) -> ModelSpec:
        found = model_catalogue().find(architectures[name])
        if found is None:
            raise UnknownModelError(name, known=())
        return model_catalogue().load(found.id)

    return memory_accuracy(rows, model_of)


@pytest.mark.parametrize(
    ("field", "median", "p90", "at_least"),
    [
        ("weights_gib", 0.009, 0.03, 25),
        ("kv_bytes_per_token", 0.003, 0.02, 60),
        ("kv_cache_gib", 0.03, 0.10, 25),
        ("kv_tokens", 0.03, 0.10, 50),
        ("max_concurrency", 0.03, 0.10, 25),
    ],
)
def test_errors_stay_below_the_bar(field: str, median: float, p90: float, at_least: int) -> None:
    summary = accuracy().summary(field)

    assert summary.n >= at_least
    assert summary.median_ape is not None
    assert summary.median_ape <= median
    assert summary.p90_ape is not None
    assert summary.p90_ape <= p90


def test_no_failure_is_called_a_fit() -> None:
    assert [each.row for each in accuracy().verdicts if each.false_fit] == []


def test_no_success_is_refused() -> None:
    assert [each.row for each in accuracy().verdicts if each.false_refusal] == []


def test_most_rows_are_answered() -> None:
    assert accuracy().answered / accuracy().rows >= 0.85


def test_rows_name_their_source() -> None:
    assert all(json.loads(line)["source"] for line in LINES)
