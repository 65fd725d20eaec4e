"""Make the constants that ship: fit them to all rows, judge them on rows, GPUs, models left out."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.calibrate.speed_accuracy import MetricErrors, errors_document
from caudal.calibrate.speed_cases import SpeedCase
from caudal.calibrate.speed_choice import RowSet, best_layouts, read_row_set
from caudal.calibrate.speed_fit import (
    FitData,
    fit_data,
    fitted_parameters,
    predictions,
    solve,
    targets_of,
)
from caudal.calibrate.speed_levels import fitted_scale
from caudal.calibrate.speed_predict import Predictions, all_gpus
from caudal.calibrate.speed_rows import Metric
from caudal.facts.calibration import FittedParameter, SpeedCalibration
from caudal.speed.efficiency import Parameter

Floats = NDArray[np.float64]
Key = Callable[[SpeedCase], str]

ROUNDS: Final = 8  # of Gauss–Newton; the score moves by less than 0.1 % after seven
FOLDS: Final = 5
_CONFIDENCE: Final = 0.8  # of the range that goes with every prediction
_NOTHING_KNOWN: Final = 3.0  # factor of the range where no row measures a metric; chosen


def generation(case: SpeedCase) -> str:
    """Return the generation of a case's GPU."""
    gpus = all_gpus()
    return gpus.generation(gpus.ids.index(case.gpu.id))


_LEFT_OUT: Final[Mapping[str, Key]] = {
    "groups": lambda case: case.row.group,
    "gpus": lambda case: case.gpu.id,
    "models": lambda case: case.row.model,
    "generations": generation,
}
"""What is left out whole: model × GPU × engine × precision × count; a GPU; a model; a generation
of GPUs."""

_SPREAD_FROM: Final = {"gpu": "groups", "generation": "gpus", "none": "generations"}
"""How far residuals reach at each level of knowledge: rows left out at the same distance."""


def calibrate_speed(
    rows: Path,
    *,
    models: Path,
    today: date,
    report: Callable[[str], None],
    judged_by: Sequence[str] = tuple(_LEFT_OUT),
) -> dict[str, object]:
    """Return the document of constants fitted to the rows of a file.

    Deterministic: the same rows give the same bytes. Left-out sets are five, by a hash of names.

    Raises:
        UnavailableError: a file or folder cannot be read.
        InvalidFactError: a line is no row, or the mapping is damaged.
    """
    found = read_row_set(rows, models)
    values, data = _fitted(found, report)
    errors: dict[str, dict[str, object]] = {}
    left_out: dict[str, Predictions] = {}
    for name in judged_by:
        left_out[name] = _left_out(data, _LEFT_OUT[name])
        errors[name] = _errors(data.cases, left_out[name])
        report(f"left out {name}: {errors[name]}")
    fitted = predictions(data, values)
    errors["fitted"] = _errors(data.cases, fitted)
    report(f"fitted: {errors['fitted']}")
    return {
        "about": "Constants of the speed model; made by make calibrate, see calibrate.speed_fit.",
        "source": "fitted to figures measured by many; no row is copied here",
        "fitted_on": today.isoformat(),
        "rows": len(data.cases),
        "rows_unanswered": len(found.unanswered),
        "errors": errors,
        "spreads": _spreads(data.cases, left_out, fitted),
        "measured": _measured(data.cases),
        "parameters": _document(fitted_parameters(data, values)),
    }


def written(document: Mapping[str, object]) -> str:
    """Return the document as it stands in the data file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _fitted(found: RowSet, report: Callable[[str], None]) -> tuple[Floats, FitData]:
    """Fit twice: unstated layouts are chosen by the constants, which follow from the layouts."""
    calibration = _unfitted()
    for _ in range(2):
        data = fit_data(best_layouts(found, calibration))
        everything = np.ones(len(data.cases), dtype=np.bool_)
        values = solve(data, targets_of(data.cases, everything), rounds=ROUNDS)
        calibration = replace(calibration, parameters=fitted_parameters(data, values))
        report(f"fitted {len(data.unknowns)} constants to {len(data.cases)} rows")
    return values, data


def _unfitted() -> SpeedCalibration:
    """Return the constants before any row was seen."""
    return SpeedCalibration(
        parameters={
            name.value: FittedParameter(base=fitted_scale(name), levels={}) for name in Parameter
        },
        spreads={},
        measured=frozenset(),
        rows=0,
        fitted_on="",
    )


def _left_out(data: FitData, key: Key) -> Predictions:
    """Return predictions for every case by constants fitted without its set.

    Each fit begins from the prior, so that nothing of the rows left out remains.
    """
    folds = np.array([_fold(key(case)) for case in data.cases])
    answers = {metric: np.full(len(data.cases), np.nan) for metric in Metric}
    for fold in sorted(set(folds.tolist())):
        kept = targets_of(data.cases, folds != fold)
        predicted = predictions(data, solve(data, kept, rounds=ROUNDS))
        for metric, column in predicted.items():
            answers[metric][folds == fold] = column[folds == fold]
    return answers


def _fold(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % FOLDS


def _errors(cases: Sequence[SpeedCase], predicted: Predictions) -> dict[str, object]:
    document: dict[str, object] = {}
    for metric in Metric:
        ratio = _ratios(cases, predicted, metric)
        document[metric.value] = errors_document(MetricErrors.of(ratio[np.isfinite(ratio)] - 1.0))
    alone = [case.row.kind.value == "decode_b1" for case in cases]
    ratio = _ratios(cases, predicted, Metric.TPOT)[np.array(alone)]
    document["batch_1_tpot"] = errors_document(MetricErrors.of(ratio[np.isfinite(ratio)] - 1.0))
    return document


def _ratios(cases: Sequence[SpeedCase], predicted: Predictions, metric: Metric) -> Floats:
    measured = np.array([case.row.measured.get(metric, np.nan) for case in cases])
    ratio: Floats = predicted[metric] / measured
    return ratio


def _spreads(
    cases: Sequence[SpeedCase], left_out: Mapping[str, Predictions], fitted: Predictions
) -> dict[str, dict[str, float]]:
    """Return for each metric the factor that holds four of five residuals, by what is known."""
    spreads: dict[str, dict[str, float]] = {}
    for metric in Metric:
        least = 1.0
        spreads[metric.value] = {}
        for level, name in _SPREAD_FROM.items():
            ratio = _ratios(cases, left_out.get(name, fitted), metric)
            size = np.abs(np.log(ratio[np.isfinite(ratio)]))
            factor = np.exp(np.quantile(size, _CONFIDENCE)) if size.size else _NOTHING_KNOWN
            least = max(least, float(factor))
            spreads[metric.value][level] = round(least, 3)
    return spreads


def _measured(cases: Sequence[SpeedCase]) -> list[str]:
    pairs = set()
    for case in cases:
        pairs.add(f"{case.work.engine}|{case.gpu.id}")
        pairs.add(f"{case.work.engine}|{generation(case)}")
    return sorted(pairs)


def _document(parameters: Mapping[str, FittedParameter]) -> dict[str, object]:
    return {
        name: {
            "base": each.base,
            "levels": {level: dict(offsets) for level, offsets in each.levels.items()},
        }
        for name, each in parameters.items()
    }
