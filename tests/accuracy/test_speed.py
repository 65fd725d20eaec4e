"""Speed of real servers: how right the predictions have to stay.

tests/data/speed_rows.jsonl is a sample of measured rows whose licences allow copying
(Apache-2.0, BSD-3-Clause), each with its source. The shipped constants were fitted with them
among others, so these bounds guard against regressions; errors on rows left out stand in the
constants' own file and are bounded here too.
"""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import cast

import pytest

from caudal.calibrate.speed_accuracy import SpeedAccuracy, speed_accuracy

ROWS = Path(__file__).parents[1] / "data" / "speed_rows.jsonl"


@cache
def accuracy() -> SpeedAccuracy:
    return speed_accuracy(ROWS, models=ROWS.parent)


@cache
def shipped_errors() -> dict[str, dict[str, dict[str, float]]]:
    text = (resources.files("caudal.facts") / "data/calibration/speed.json").read_text("utf-8")
    return cast("dict[str, dict[str, dict[str, float]]]", json.loads(text)["errors"])


def test_every_row_of_the_sample_is_answered() -> None:
    assert accuracy().answered == accuracy().rows, accuracy().unanswered


@pytest.mark.parametrize(
    ("metric", "most"), [("tpot", 0.15), ("output_tok_s", 0.12), ("ttft", 0.30)]
)
def test_the_median_error_on_known_rows_stays_small(metric: str, most: float) -> None:
    median = accuracy().metrics[metric].median_ape

    assert median is not None
    assert median <= most


@pytest.mark.parametrize(
    ("metric", "most"),
    [("tpot", 0.15), ("output_tok_s", 0.15), ("ttft", 0.30), ("batch_1_tpot", 0.12)],
)
def test_groups_left_out_are_predicted_as_well_as_promised(metric: str, most: float) -> None:
    assert shipped_errors()["groups"][metric]["median_ape"] <= most


def test_four_of_five_measured_values_lie_in_their_range() -> None:
    covered = accuracy().coverage_80

    assert covered is not None
    assert covered >= 0.72
