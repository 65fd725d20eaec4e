"""What was measured at the point where a row runs, beside what Caudal predicts for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from caudal.facts.measured import MeasuredRow
from caudal.plan.candidate import Candidate
from caudal.plan.report import Latency, MeasuredPoint
from caudal.speed.measured import TOLERANCE, MeasuredQuestion, nearest_measured
from caudal.traffic.slo import Metric
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.estimate import Basis, Estimate

_MEDIAN: Final = "p50"


def measured_points(
    candidate: Candidate,
    workload: Workload,
    *,
    model_id: str,
    request_rate: float,
    predicted: Callable[[Metric], Estimate],
) -> tuple[MeasuredPoint, ...]:
    """Return the latencies of the nearest measured row; none where nobody measured this point.

    `request_rate` is that of one replica, `predicted` gives Caudal's own median. The requests under
    way follow from Little's law, `rate · (TTFT + output · TPOT)`, or are the users that share it.
    Rows are of closed loops, so their TTFT is told only to users who wait their turn; TPOT hangs on
    how many requests are under way, however they came.
    """
    if workload.mode is Mode.BATCH:
        return ()
    under_way = (
        workload.users / candidate.replicas
        if workload.users is not None
        else request_rate * _service_s(workload, predicted)
    )
    row = nearest_measured(
        MeasuredQuestion(
            model_id=model_id,
            gpu_id=candidate.gpu.id,
            serving=candidate.shape.serving,
            concurrency=under_way,
            input_tokens=float(workload.input_tokens),
            output_tokens=float(workload.output_tokens),
        )
    )
    if row is None:
        return ()
    points = _points(row, predicted)
    closed = workload.mode is Mode.CLOSED
    return tuple(point for point in points if closed or point.metric is not Metric.TTFT)


def _service_s(workload: Workload, predicted: Callable[[Metric], Estimate]) -> float:
    """Return the time of a request of mean length: the median E2E is that of a shorter one."""
    return (
        predicted(Metric.TTFT).value + (workload.output_tokens - 1) * predicted(Metric.TPOT).value
    )


def with_measured(latency: Latency, points: tuple[MeasuredPoint, ...]) -> Latency:
    """Return the latency as measured, where a row gives the very percentile; else as it was.

    The range is the tolerance within which rows are matched.
    """
    for point in points:
        if point.metric is latency.metric and point.statistic == f"p{latency.percentile * 100:g}":
            measured = Estimate.within(point.seconds, 1 + TOLERANCE, Basis.MEASURED)
            return replace(latency, seconds=measured)
    return latency


def _points(row: MeasuredRow, predicted: Callable[[Metric], Estimate]) -> list[MeasuredPoint]:
    assert row.concurrency is not None, "only rows of known concurrency are matched"
    return [
        MeasuredPoint(
            metric=metric,
            statistic=timed.statistic,
            seconds=timed.seconds,
            predicted_s=predicted(metric) if timed.statistic == _MEDIAN else None,
            concurrency=row.concurrency,
            input_tokens=row.input_tokens or 0.0,
            output_tokens=row.output_tokens or 0.0,
            engine_version=row.engine_version,
            measured_on=row.date,
            row_id=row.id,
            source=row.source,
            source_ref=row.source_ref,
            licence=row.licence,
        )
        for metric, timed in ((Metric.TPOT, row.tpot), (Metric.TTFT, row.ttft))
        if timed is not None
    ]
