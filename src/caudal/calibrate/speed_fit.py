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
from caudal.speed.efficiency import Parameter, in_units

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_NOISE: Final = 0.075  # what rows of one group scatter by; 0.05 to 0.12 tried on groups left out
_ROBUST: Final = 1.5  # residuals beyond so many noises count linearly (Huber 1964)
_STEP: Final = 1e-4  # of the numeric derivative, on the fitted scale
_TRIES: Final = 4  # of a larger damping before the fit is called done
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
    return predict(data.loads, in_units(raw), len(data.cases))


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
    residual = _residuals(predictions(data, values), targets)
    score = _score(residual, targets, values, data)
    damping = 1.0
    for _ in range(rounds):
        system = _linearised(data, targets, values, residual)
        for _ in range(_TRIES):
            moved = _moved(data, system, values, damping)
            new = _residuals(predictions(data, moved), targets)
            new_score = _score(new, targets, moved, data)
            if new_score < score:
                break
            damping *= 5.0
        else:
            return values
        values, residual, score = moved, new, new_score
        damping = max(damping / 3.0, 1e-3)
    return values


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


def _linearised(
    data: FitData, targets: Targets, values: Floats, residual: Floats
) -> tuple[Floats, Floats]:
    """Return the normal equations at `values`, without the damping."""
    raw = raw_constants(data, values)
    scaled = np.abs(residual) / _NOISE
    robust = np.minimum(1.0, _ROBUST / np.maximum(scaled, 1e-9))
    weight = np.sqrt(targets.weight * robust) / _NOISE
    slopes = {}
    for parameter in data.members:
        nudged = dict(raw)
        nudged[parameter] = raw[parameter] + _STEP
        change = _residuals(_predictions(data, nudged), targets) - residual
        slopes[parameter] = change / _STEP * weight
    normal, gradient = _normal_equations(data, targets, slopes, residual * weight)
    return normal, gradient + data.precision * (values - data.start)


def _moved(data: FitData, system: tuple[Floats, Floats], values: Floats, damping: float) -> Floats:
    """Return the unknowns after one damped step (Levenberg and Marquardt)."""
    normal, gradient = system
    damped = normal.copy()
    diagonal = np.einsum("ii->i", damped)
    diagonal += data.precision + damping * (0.05 * diagonal + 0.05)
    step = -np.linalg.solve(damped, gradient)
    moved: Floats = values + np.clip(step, -_LARGEST_MOVE, _LARGEST_MOVE)
    return moved


def _normal_equations(
    data: FitData, targets: Targets, slopes: Mapping[Parameter, Floats], residual: Floats
) -> tuple[Floats, Floats]:
    """Return JᵀJ and Jᵀr without ever writing J down.

    A target depends on one offset of each level alike, by the slope of its constant: the product
    of two levels is a table of sums over the targets that share a pair of keys.
    """
    levels = [
        (column[targets.case], slopes[parameter])
        for parameter, member in data.members.items()
        for column in member.T
    ]
    starts = [int(index.min()) for index, _ in levels]
    sizes = [int(index.max()) - start + 1 for (index, _), start in zip(levels, starts, strict=True)]
    normal = np.zeros((len(data.unknowns), len(data.unknowns)))
    gradient = np.zeros(len(data.unknowns))
    for at, (index, slope) in enumerate(levels):
        rows = slice(starts[at], starts[at] + sizes[at])
        local = index - starts[at]
        gradient[rows] += np.bincount(local, slope * residual, sizes[at])
        for to in range(at, len(levels)):
            other, other_slope = levels[to]
            columns = slice(starts[to], starts[to] + sizes[to])
            pair = local * sizes[to] + (other - starts[to])
            table = np.bincount(pair, slope * other_slope, sizes[at] * sizes[to])
            block = table.reshape(sizes[at], sizes[to])
            normal[rows, columns] = block
            normal[columns, rows] = block.T
    return normal, gradient


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
