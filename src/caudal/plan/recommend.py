"""Three rows out of many: the cheapest, the fastest, and the one between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, log

from caudal.plan.report import PlanReport, PlanRow
from caudal.traffic.slo import Metric
from caudal.traffic.workload import Workload
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The rows to look at first; one row may be two of them. `front` is by rising price."""

    cheapest: PlanRow
    balanced: PlanRow
    fastest: PlanRow
    front: tuple[PlanRow, ...]  # rows of which none is both cheaper and faster


def answer_seconds(row: PlanRow, workload: Workload) -> Seconds:
    """Return until when a whole answer has come: `TTFT + (output − 1) · TPOT`.

    Both are taken at the percentile that was asked for, else at p95; the sum of two percentiles
    is an upper bound on that percentile of the sum where both are independent.
    """
    first = {latency.metric: latency.seconds.value for latency in reversed(row.operation.latencies)}
    steps = max(workload.output_tokens - 1, 0)
    return Seconds(first[Metric.TTFT] + steps * first[Metric.TPOT])


def recommend(report: PlanReport) -> Recommendation | None:
    """Return the rows to look at first, None where no row has a finite time.

    Balanced is the row of the front nearest to the corner that is as cheap as the cheapest and
    as fast as the fastest, with both axes logarithmic and each as long as the front.
    """
    timed = [
        (row, float(row.price.full.usd), answer_seconds(row, report.workload))
        for row in report.rows
    ]
    finite = [item for item in timed if isfinite(item[2]) and item[1] > 0 and item[2] > 0]
    if not finite:
        return None
    front = _front(finite)
    return Recommendation(
        cheapest=front[0][0],
        balanced=_nearest_corner(front),
        fastest=front[-1][0],
        front=tuple(row for row, _, _ in front),
    )


def _front(
    timed: Sequence[tuple[PlanRow, float, Seconds]],
) -> list[tuple[PlanRow, float, Seconds]]:
    """Return what nothing beats in both, by rising price and falling time."""
    front: list[tuple[PlanRow, float, Seconds]] = []
    for item in sorted(timed, key=lambda item: (item[1], item[2])):
        if not front or item[2] < front[-1][2]:
            front.append(item)
    return front


def _nearest_corner(front: Sequence[tuple[PlanRow, float, Seconds]]) -> PlanRow:
    cheapest, dearest = log(front[0][1]), log(front[-1][1])
    slowest, fastest = log(front[0][2]), log(front[-1][2])
    width, height = (dearest - cheapest) or 1.0, (slowest - fastest) or 1.0
    return min(
        front,
        key=lambda item: hypot(
            (log(item[1]) - cheapest) / width, (log(item[2]) - fastest) / height
        ),
    )[0]
