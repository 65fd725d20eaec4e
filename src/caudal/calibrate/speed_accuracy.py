"""Predicted speed against measured rows, as `caudal accuracy speed` prints it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.calibrate.speed_cases import SpeedCase
from caudal.calibrate.speed_choice import best_layouts, predict_cases, read_row_set
from caudal.calibrate.speed_predict import all_gpus
from caudal.calibrate.speed_rows import Metric
from caudal.facts.calibration import SpeedCalibration, speed_calibration
from caudal.speed.steps import known_level

Floats = NDArray[np.float64]


class By(StrEnum):
    """What the table is broken down by."""

    GPU = "gpu"
    ENGINE = "engine"
    MODEL = "model"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricErrors:
    """How far predictions of one metric are off: shares of the measured value."""

    n: int
    median_ape: float | None  # None where nothing was measured
    p90_ape: float | None
    within_25pct: float | None

    @classmethod
    def of(cls, errors: Floats) -> "MetricErrors":
        """Return the summary of relative errors."""
        size = np.abs(errors)
        if not size.size:
            return cls(n=0, median_ape=None, p90_ape=None, within_25pct=None)
        return cls(
            n=int(size.size),
            median_ape=round(float(np.median(size)), 4),
            p90_ape=round(float(np.quantile(size, 0.9)), 4),
            within_25pct=round(float(np.mean(size <= 0.25)), 4),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAccuracy:
    """The outcome of one run over a file of rows."""

    rows: int
    answered: int
    metrics: Mapping[str, MetricErrors]
    coverage_80: float | None  # share of measured values inside the predicted 80 % ranges
    by: Mapping[str, Mapping[str, MetricErrors]]
    unanswered: Mapping[str, str]  # row → reason

    def document(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "rows": self.rows,
            "answered": self.answered,
            "metrics": {name: errors_document(each) for name, each in self.metrics.items()},
            "coverage_80": self.coverage_80,
            "by": {
                key: {name: errors_document(each) for name, each in metrics.items()}
                for key, metrics in self.by.items()
            },
        }


def errors_document(errors: MetricErrors) -> dict[str, object]:
    """Return the JSON form of one summary."""
    return {
        "n": errors.n,
        "median_ape": errors.median_ape,
        "p90_ape": errors.p90_ape,
        "within_25pct": errors.within_25pct,
    }


def speed_accuracy(rows: Path, *, models: Path, by: By = By.KIND) -> SpeedAccuracy:
    """Return how far Caudal's predictions are from the rows of a file.

    A row that gives medians is judged on them, else on its means. Rows without a layout are
    answered with the best legal one. Reads, predicts and judges 5,600 rows in a few seconds.

    Raises:
        UnavailableError: a file or folder cannot be read.
        InvalidFactError: a line is no row, or the mapping is damaged.
    """
    calibration = speed_calibration()
    found = read_row_set(rows, models)
    cases = best_layouts(found, calibration)
    judged = judge(cases, calibration)
    return SpeedAccuracy(
        rows=found.total,
        answered=len(cases),
        metrics=summaries(judged),
        coverage_80=coverage(judged),
        by=_broken_down(judged, _KEYS[by]),
        unanswered=found.unanswered,
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    """One predicted and measured value."""

    case: SpeedCase
    metric: Metric
    predicted: float
    factor: float  # of the predicted 80 % range

    @property
    def measured(self) -> float:
        """Return the measured value."""
        return self.case.row.measured[self.metric]

    @property
    def error(self) -> float:
        """Return the error as a share of the measured value."""
        return self.predicted / self.measured - 1.0

    @property
    def covered(self) -> bool:
        """Return whether the measured value lies inside the predicted range."""
        return self.predicted / self.factor <= self.measured <= self.predicted * self.factor


def judge(cases: Sequence[SpeedCase], calibration: SpeedCalibration) -> tuple[Judgement, ...]:
    """Return every measured value of `cases` beside its prediction."""
    if not cases:
        return ()
    predicted = predict_cases(cases, calibration)
    gpus = all_gpus()
    generations = {name: gpus.generation(place) for place, name in enumerate(gpus.ids)}
    judged = []
    for place, case in enumerate(cases):
        level = known_level(
            calibration, case.work, gpu=case.gpu.id, generation=generations[case.gpu.id]
        )
        for metric in case.row.measured:
            value = float(predicted[metric][place])
            if np.isfinite(value):
                factor = calibration.spreads[metric][level]
                judged.append(Judgement(case, metric, value, factor))
    return tuple(judged)


def summaries(judged: Sequence[Judgement]) -> Mapping[str, MetricErrors]:
    """Return the errors of each metric."""
    return {
        metric.value: MetricErrors.of(
            np.array([each.error for each in judged if each.metric is metric])
        )
        for metric in Metric
    }


def coverage(judged: Sequence[Judgement]) -> float | None:
    """Return which share of measured values lies inside the predicted ranges."""
    if not judged:
        return None
    return round(float(np.mean([each.covered for each in judged])), 4)


_KEYS: Final[Mapping[By, Callable[[SpeedCase], str]]] = {
    By.GPU: lambda case: case.row.gpu,
    By.ENGINE: lambda case: case.row.engine or "not stated",
    By.MODEL: lambda case: case.row.model,
    By.KIND: lambda case: case.row.kind.value,
}


def _broken_down(
    judged: Sequence[Judgement], key: Callable[[SpeedCase], str]
) -> Mapping[str, Mapping[str, MetricErrors]]:
    groups: dict[str, list[Judgement]] = {}
    for each in judged:
        groups.setdefault(key(each.case), []).append(each)
    return {name: summaries(groups[name]) for name in sorted(groups)}
