"""Fit the constants of the speed model to measured rows.

Regularised, robust least squares on the logarithm of predicted over measured: every constant is a
base plus offsets by level, each offset drawn towards zero by its prior, so that what few rows say
moves little and what no row says does not move at all. Solved by Gauss–Newton steps; derivatives
by each constant are taken numerically for all rows at once and handed on to the offsets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.calibrate.speed_cases import SpeedCase
from caudal.calibrate.speed_levels import LEVELS, PRIORS, fitted_scale
from caudal.calibrate.speed_predict import Columns, columns_by_load, level_names, predict
from caudal.calibrate.speed_rows import Metric
from caudal.facts.calibration import FittedParameter
from caudal.speed.efficiency import Parameter, in_unit

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_NOISE: Final = 0.12  # what rows of one group scatter by, seen in repeated measurements
_ROBUST: Final = 1.5  # residuals beyond so many noises count linearly (Huber 1964)
_STEP: Final = 1e-4  # of the numeric derivative, on the fitted scale
_LARGEST_MOVE: Final = 0.7  # of a constant in one round
_BASE_PRIOR: Final = 2.0  # bases are all but free
_METRIC_WEIGHTS: Final[Mapping[Metric, float]] = {
    Metric.TPOT: 1.0,
    Metric.TTFT: 0.35,
    Metric.OUTPUT: 0.7,
    Metric.PREFILL: 0.7,
}
"""TTFT carries queueing that no constant explains, and must not bend the others."""


@dataclass(frozen=True, slots=True)
class FitData:
    """The rows as columns, with the places of their offsets in the vector of unknowns."""

    cases: Sequence[SpeedCase]
    loads: Mapping[str, Columns]
    unknowns: Sequence[tuple[Parameter, str, str]]  # parameter, level, key; level "" is the base
    start: Floats  # prior mean of the unknowns
    precision: Floats  # of the prior, 1 / variance
    members: Mapping[Parameter, Indices]  # [cases, levels + 1]: the unknowns a case sums up


def fit_data(cases: Sequence[SpeedCase]) -> FitData:
    """Return what a fit needs; bases are drawn towards where they begin, weakly."""
    names = level_names(cases, LEVELS)
    unknowns: list[tuple[Parameter, str, str]] = []
    start: list[float] = []
    precision: list[float] = []
    members: dict[Parameter, Indices] = {}
    for parameter in Parameter:
        columns = [np.full(len(cases), len(unknowns), dtype=np.intp)]
        unknowns.append((parameter, "", ""))
        start.append(fitted_scale(parameter))
        factor = parameter in {Parameter.DECODE, Parameter.PREFILL}
        precision.append(1e6 if factor else 1 / _BASE_PRIOR**2)
        for level, deviation in PRIORS[parameter].items():
            keys = {name: at + len(unknowns) for at, name in enumerate(sorted(set(names[level])))}
            columns.append(np.array([keys[name] for name in names[level]], dtype=np.intp))
            unknowns.extend((parameter, level, name) for name in keys)
            start.extend([0.0] * len(keys))
            precision.extend([1 / deviation**2] * len(keys))
        members[parameter] = np.stack(columns, axis=1)
    return FitData(
        cases=cases,
        loads=columns_by_load(cases),
        unknowns=unknowns,
        start=np.array(start),
        precision=np.array(precision),
        members=members,
    )


def raw_constants(data: FitData, values: Floats) -> dict[Parameter, Floats]:
    """Return every constant on the fitted scale; arrays [cases]."""
    return {name: values[member].sum(axis=1) for name, member in data.members.items()}


def predictions(data: FitData, values: Floats) -> Mapping[Metric, Floats]:
    """Return what the unknowns at `values` predict."""
    return _predictions(data, raw_constants(data, values))


def _predictions(data: FitData, raw: Mapping[Parameter, Floats]) -> Mapping[Metric, Floats]:
    constants = {name: in_unit(name, value) for name, value in raw.items()}
    return predict(data.loads, constants, len(data.cases))


@dataclass(frozen=True, slots=True)
class Targets:
    """The measured values that are fitted; arrays [targets]."""

    case: Indices
    metric: Sequence[Metric]
    measured: Floats
    weight: Floats


def targets_of(cases: Sequence[SpeedCase], chosen: NDArray[np.bool_]) -> Targets:
    """Return the metrics of the chosen cases, rows of one group sharing their say.

    `n` rows of one group count as `√n`: they were run together and err together.
    """
    groups: dict[str, int] = {}
    for case, used in zip(cases, chosen, strict=True):
        if used:
            groups[case.row.group] = groups.get(case.row.group, 0) + 1
    found = [
        (place, metric, value, _METRIC_WEIGHTS[metric] / groups[case.row.group] ** 0.5)
        for place, (case, used) in enumerate(zip(cases, chosen, strict=True))
        if used
        for metric, value in fitted_metrics(case).items()
    ]
    return Targets(
        case=np.array([entry[0] for entry in found], dtype=np.intp),
        metric=[entry[1] for entry in found],
        measured=np.array([entry[2] for entry in found]),
        weight=np.array([entry[3] for entry in found]),
    )


def fitted_metrics(case: SpeedCase) -> Mapping[Metric, float]:
    """Return the metrics of a row that say different things: not a rate beside its reciprocal."""
    measured = dict(case.row.measured)
    if Metric.TPOT in measured and case.row.kind.value == "decode_b1":
        measured.pop(Metric.OUTPUT, None)
    if Metric.PREFILL in measured:
        measured.pop(Metric.TTFT, None)
    return measured


def solve(data: FitData, targets: Targets, *, rounds: int, begin: Floats | None = None) -> Floats:
    """Return the unknowns that fit `targets` best."""
    values = data.start.copy() if begin is None else begin.copy()
    damping = 1.0
    best = np.inf
    kept = values
    for _ in range(rounds):
        residual = _residuals(predictions(data, values), targets)
        score = _score(residual, targets, values, data)
        if score < best:
            best, kept = score, values
            damping = max(damping / 3, 1e-3)
        else:
            values, damping = kept, damping * 5
            residual = _residuals(predictions(data, values), targets)
        values = _move(data, targets, values, residual, damping=damping)
    final = _residuals(predictions(data, values), targets)
    return values if _score(final, targets, values, data) < best else kept


def _residuals(predicted: Mapping[Metric, Floats], targets: Targets) -> Floats:
    found = np.empty(len(targets.case))
    for metric in Metric:
        chosen = np.array([each is metric for each in targets.metric])
        found[chosen] = predicted[metric][targets.case[chosen]]
    ratio = np.log(found / targets.measured)
    return np.where(np.isfinite(ratio), ratio, 0.0)


def _score(residual: Floats, targets: Targets, values: Floats, data: FitData) -> float:
    scaled = np.abs(residual) / _NOISE
    loss = np.where(scaled < _ROBUST, scaled**2 / 2, _ROBUST * (scaled - _ROBUST / 2))
    prior = data.precision * (values - data.start) ** 2 / 2
    return float((targets.weight * loss).sum() + prior.sum())


def _move(
    data: FitData,
    targets: Targets,
    values: Floats,
    residual: Floats,
    *,
    damping: float,
) -> Floats:
    """Return the unknowns after one damped Gauss–Newton step."""
    raw = raw_constants(data, values)
    scaled = np.abs(residual) / _NOISE
    robust = np.minimum(1.0, _ROBUST / np.maximum(scaled, 1e-9))
    weight = np.sqrt(targets.weight * robust) / _NOISE
    jacobian = np.zeros((len(residual), len(values)), dtype=np.float32)
    rows = np.arange(len(residual))
    for parameter, member in data.members.items():
        nudged = dict(raw)
        nudged[parameter] = raw[parameter] + _STEP
        slope = (_residuals(_predictions(data, nudged), targets) - residual) / _STEP * weight
        for column in member.T:
            jacobian[rows, column[targets.case]] += slope.astype(np.float32)
    normal = (jacobian.T @ jacobian).astype(np.float64)
    gradient = jacobian.T @ (residual * weight).astype(np.float32)
    diagonal = np.einsum("ii->i", normal)
    pull = data.precision * (values - data.start)
    diagonal += data.precision + damping * (0.05 * diagonal + 0.05)
    step = -np.linalg.solve(normal, gradient + pull)
    moved: Floats = values + np.clip(step, -_LARGEST_MOVE, _LARGEST_MOVE)
    return moved


def fitted_parameters(data: FitData, values: Floats) -> Mapping[str, FittedParameter]:
    """Return the unknowns as the constants that the product reads, noughts left out."""
    base: dict[str, float] = {}
    levels: dict[str, dict[str, dict[str, float]]] = {name: {} for name in Parameter}
    for (parameter, level, key), value in zip(data.unknowns, values, strict=True):
        if not level:
            base[parameter.value] = round(float(value), 4)
        elif abs(value) >= 5e-4:
            levels[parameter].setdefault(level, {})[key] = round(float(value), 4)
    return {
        name.value: FittedParameter(base=base[name.value], levels=levels[name])
        for name in Parameter
    }
