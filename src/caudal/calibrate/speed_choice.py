"""Rows to cases: each with its model, and with the best layout where the source states none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caudal.calibrate.row_models import RowModels, read_row_models
from caudal.calibrate.speed_cases import SpeedCase, speed_cases
from caudal.calibrate.speed_levels import LEVELS
from caudal.calibrate.speed_predict import Predictions, columns_by_load, level_names, predict
from caudal.calibrate.speed_rows import Metric, SpeedRow, read_speed_rows
from caudal.facts.calibration import SpeedCalibration
from caudal.speed.efficiency import Parameter, in_units
from caudal.vocabulary.errors import CaudalError


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows of a file: those that Caudal can answer, and why not the others."""

    total: int
    cases: tuple[tuple[SpeedCase, ...], ...]  # for each row every layout it may have used
    unanswered: Mapping[str, str]  # row → reason


def read_row_set(rows: Path, models: Path) -> RowSet:
    """Return the rows of a file with the models of a folder.

    `perf_models.json` beside the rows, in the folder or above it says which file a name means.

    Raises:
        UnavailableError: a file or folder cannot be read.
        InvalidFactError: a line is no row, or the mapping is damaged.
    """
    known = read_row_models(models, rows=rows.with_name("perf.jsonl"))
    return row_set(read_speed_rows(rows), known)


def row_set(rows: Sequence[SpeedRow], models: RowModels) -> RowSet:
    """Return `rows` as questions, those that cannot be asked aside."""
    cases: list[tuple[SpeedCase, ...]] = []
    unanswered: dict[str, str] = {}
    for row in rows:
        try:
            cases.append(speed_cases(row, models.model(row.model, row.precision)))
        except CaudalError as error:
            unanswered[row.id] = error.problem
    return RowSet(len(rows), tuple(cases), unanswered)


def calibrated(
    cases: Sequence[SpeedCase], calibration: SpeedCalibration
) -> Mapping[Parameter, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Return every constant for each case; arrays [cases]."""
    names = level_names(cases, LEVELS)
    found = {}
    for parameter in Parameter:
        fitted = calibration.parameters[parameter]
        value = np.full(len(cases), fitted.base)
        for level, offsets in fitted.levels.items():
            value += np.array([offsets.get(name, 0.0) for name in names[level]])
        found[parameter] = value
    return in_units(found)


def predict_cases(cases: Sequence[SpeedCase], calibration: SpeedCalibration) -> Predictions:
    """Return the predicted metrics of every case; arrays [cases]."""
    return predict(columns_by_load(cases), calibrated(cases, calibration), len(cases))


def best_layouts(rows: RowSet, calibration: SpeedCalibration) -> tuple[SpeedCase, ...]:
    """Return one case a row: of several legal layouts the one with the highest throughput.

    Where a rate is given and several layouts carry it, the one with the shortest time per token.
    """
    flat = [case for choices in rows.cases for case in choices]
    if not flat:
        return ()
    predicted = predict_cases(flat, calibration)
    score = np.nan_to_num(predicted[Metric.OUTPUT]) - 1e-3 * np.nan_to_num(predicted[Metric.TPOT])
    chosen: list[SpeedCase] = []
    at = 0
    for choices in rows.cases:
        best = at + int(np.argmax(score[at : at + len(choices)]))
        chosen.append(flat[best])
        at += len(choices)
    return tuple(chosen)
