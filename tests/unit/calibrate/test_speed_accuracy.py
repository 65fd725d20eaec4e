import json
from pathlib import Path

import numpy as np
import pytest

from caudal.calibrate.speed_accuracy import By, MetricErrors, speed_accuracy

ROWS = Path(__file__).parents[2] / "data" / "speed_rows.jsonl"
METRICS = {"tpot", "ttft", "output_tok_s", "prefill_tok_s"}


def test_errors_are_shares_of_the_measured_value() -> None:
    errors = MetricErrors.of(np.array([0.1, -0.3, 0.2]))

    assert MetricErrors(n=3, median_ape=0.2, p90_ape=0.28, within_25pct=0.6667) == errors


def test_nothing_measured_has_no_error() -> None:
    assert MetricErrors.of(np.array([])).median_ape is None


@pytest.mark.parametrize("by", list(By))
def test_the_document_has_the_agreed_form(by: By) -> None:
    document = speed_accuracy(ROWS, models=ROWS.parent, by=by).document()

    assert set(document) == {"rows", "answered", "metrics", "coverage_80", "by"}
    metrics = document["metrics"]
    assert isinstance(metrics, dict)
    assert set(metrics) == METRICS
    assert set(metrics["tpot"]) == {"n", "median_ape", "p90_ape", "within_25pct"}
    assert document["by"]


def test_rows_that_cannot_be_answered_are_counted_and_explained(tmp_path: Path) -> None:
    row = json.loads(ROWS.read_text("utf-8").splitlines()[0])
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**row, "gpu": "Abacus 3000"}), encoding="utf-8")

    accuracy = speed_accuracy(path, models=tmp_path)

    assert (accuracy.rows, accuracy.answered) == (1, 0)
    assert "Abacus 3000" in accuracy.unanswered[row["id"]]
    assert accuracy.coverage_80 is None
