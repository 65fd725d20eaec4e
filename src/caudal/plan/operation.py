"""The point at which a candidate runs under the load asked for, with ranges."""

from dataclasses import dataclass

import numpy as np

from caudal.plan.candidate import Candidate
from caudal.plan.measured import measured_points, with_measured
from caudal.plan.report import Latency, Operation
from caudal.plan.screen import latency_s
from caudal.simulate.run import Simulation
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import spread
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.workload import Workload
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import SECONDS_PER_HOUR, Seconds

ALWAYS_SHOWN = ((Metric.TTFT, 0.95), (Metric.TPOT, 0.95))


@dataclass(frozen=True, slots=True)
class Point:
    """Where one replica stands on its curve."""

    batch: float
    request_rate: float  # of one replica


def point_of(candidate: Candidate, workload: Workload) -> Point:
    """Return the batch and rate of one replica when the load is shared evenly.

    Without a stated load (batch work without a daily amount) every replica runs at its largest.
    """
    rates = candidate.curve.request_rate
    batches = candidate.curve.batches
    if workload.users is not None:
        batch = workload.users / candidate.replicas
        return Point(batch, float(np.interp(batch, batches, rates)))
    if workload.rate is None:
        return Point(candidate.batch, candidate.largest_rate)
    rate = workload.rate / candidate.replicas
    if rate < rates[0]:  # mostly idle: less than one sequence at a time, by Little's law
        return Point(float(rate / rates[0]), rate)
    return Point(float(np.interp(rate, rates, batches)), rate)


def operation_of(
    candidate: Candidate,
    workload: Workload,
    slo: Slo,
    simulation: Simulation | None = None,
    *,
    model_id: str,
) -> Operation:
    """Return how the whole deployment runs at the load asked for.

    Latencies are the simulation's where there is one, else the closed forms'; either way the range
    is that of the step times they rest on. Where somebody measured this point, that is told beside
    them, and takes the place of a percentile that was measured itself.
    """
    point = point_of(candidate, workload)
    columns = GpuColumns.of([candidate.gpu])
    widths = {
        metric: _width(candidate, columns, metric) for metric in ("ttft", "tpot", "output_tok_s")
    }

    def predicted(metric: Metric, percentile: float = 0.5) -> Estimate:
        objective = Objective(metric, percentile, Seconds(0.0))
        return Estimate.within(
            _seconds(candidate, objective, point, workload, simulation),
            *widths["tpot" if metric is Metric.TPOT else "ttft"],
        )

    measured = measured_points(
        candidate,
        workload,
        model_id=model_id,
        request_rate=point.request_rate,
        predicted=predicted,
    )
    factor, basis = widths["output_tok_s"]
    largest = candidate.largest_rate * candidate.replicas
    utilisation = candidate.curve.prefill_utilisation
    return Operation(
        replicas=candidate.replicas,
        batch=point.batch,
        request_rate=point.request_rate * candidate.replicas,
        largest_rate=Estimate.within(largest, factor, basis),
        latencies=tuple(
            with_measured(
                Latency(
                    metric=objective.metric,
                    percentile=objective.percentile,
                    seconds=predicted(objective.metric, objective.percentile),
                    at_most_s=objective.at_most_s if asked else None,
                ),
                measured,
            )
            for objective, asked in _objectives(slo)
        ),
        output_tokens_per_s=Estimate.within(
            point.request_rate * candidate.replicas * workload.output_tokens, factor, basis
        )
        if workload.rate is None
        else Estimate.exact(point.request_rate * candidate.replicas * workload.output_tokens),
        prefill_utilisation=_at(candidate, utilisation, point.batch),
        simulated=simulation.label if simulation is not None else None,
        measured=measured,
    )


def tokens_per_month(
    operation: Operation, workload: Workload, hours: float, *, hours_per_day: float = 24.0
) -> float:
    """Return the input and output tokens that a month of `hours` at the mean load carries.

    A stated rate lasts for the hours a day that are served; a day's amount is a day's.
    """
    rate = workload.mean_rate or operation.request_rate * hours_per_day / 24
    return rate * workload.sequence_tokens * hours * SECONDS_PER_HOUR


def _objectives(slo: Slo) -> list[tuple[Objective, bool]]:
    """Return what was asked, then the percentiles that every row shows; True where asked."""
    asked = {(objective.metric, objective.percentile) for objective in slo.objectives}
    shown = [
        (Objective(metric, percentile, Seconds(0.0)), False)
        for metric, percentile in ALWAYS_SHOWN
        if metric not in {objective.metric for objective in slo.objectives}
    ]
    assert len(asked) == len(slo.objectives), "two bounds on one percentile"
    return [(objective, True) for objective in slo.objectives] + shown


def _seconds(
    candidate: Candidate,
    objective: Objective,
    point: Point,
    workload: Workload,
    simulation: Simulation | None,
) -> float:
    if simulation is not None and simulation.judgement is not None:
        measured = simulation.judgement.seconds_of(objective.metric, objective.percentile)
        if measured is not None:
            return measured.value
    return _at(candidate, latency_s(candidate.curve, objective, workload), point.batch)


def _at(
    candidate: Candidate, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], batch: float
) -> float:
    """Return a curve's value at `batch`; below one sequence that of one, the careful side."""
    return float(np.interp(batch, candidate.curve.batches, values))


def _width(candidate: Candidate, columns: GpuColumns, metric: str) -> tuple[float, Basis]:
    factors, bases = spread(candidate.shape.work, columns, metric)
    return float(factors[0]), bases[0]
