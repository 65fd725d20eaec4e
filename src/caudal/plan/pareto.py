"""The rows of a plan that no other row beats in cost, TTFT and throughput at once."""

from collections.abc import Sequence

from caudal.plan.report import Latency, PlanRow
from caudal.traffic.slo import Metric

Merits = tuple[float, float, float]  # smaller is better in each


def pareto_front(rows: Sequence[PlanRow]) -> tuple[PlanRow, ...]:
    """Return the rows that are not dominated, in the order given.

    A row is dominated if another costs no more, answers no later and carries no less, and is
    better in one of these.
    """
    merits = [merits_of(row) for row in rows]
    return tuple(
        row
        for row, own in zip(rows, merits, strict=True)
        if not any(_dominates(other, own) for other in merits)
    )


def merits_of(row: PlanRow) -> Merits:
    """Return dollars in the period, the TTFT shown, and minus the requests/s carried."""
    ttft = shown_ttft(row)
    return (float(row.price.full.usd), ttft.seconds.value, -row.operation.largest_rate.value)


def shown_ttft(row: PlanRow) -> Latency:
    """Return the row's TTFT percentile: the one asked for, else the one that is always shown."""
    return next(item for item in row.operation.latencies if item.metric is Metric.TTFT)


def _dominates(other: Merits, own: Merits) -> bool:
    return other != own and all(a <= b for a, b in zip(other, own, strict=True))
