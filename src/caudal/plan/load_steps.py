"""How the load asked for becomes a batch, latencies and replicas, for the derivation of a row."""

from collections.abc import Iterator
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from caudal.plan.report import DerivationStep, Latency, PlanRow
from caudal.plan.screen import Curve, latency_s, length_variation
from caudal.traffic.slo import Metric, Objective
from caudal.traffic.workload import Workload
from caudal.vocabulary.units import Seconds

ZERO = Seconds(0.0)
QUEUE_SOURCE = "M/G/1 with an exponential tail: Kleinrock, Queueing Systems vol. 1, eq. 5.70"


def load_steps(row: PlanRow, workload: Workload, curve: Curve) -> Iterator[DerivationStep]:
    """Yield replicas, the operating point of one of them, and each latency.

    `curve` is the replica's on the row's GPU, arrays [batches].
    """
    operation = row.operation
    rate = operation.request_rate / operation.replicas
    yield DerivationStep(
        section="load",
        name="replicas",
        formula=_demand(row, workload),
        result=str(operation.replicas),
    )
    point = _Point(curve, operation.batch, rate)
    yield DerivationStep(
        section="load",
        name="mean time per token beside prompts",
        formula=(
            f"decode step + {point.batch:.2f} sequences x {point.prefill_s * 1e3:.1f} ms of "
            f"prefill, as far as it holds decoding up / {workload.output_tokens:,} tokens"
        ),
        result=_ms(point.tpot_s),
    )
    yield DerivationStep(
        section="load",
        name="sequences decoding at once in one replica",
        formula=(
            f"{rate:.4g} requests/s x {workload.output_tokens:,} tokens x "
            f"{point.tpot_s * 1e3:.2f} ms"
        ),
        result=f"{operation.batch:.2f}",
        source="Little's law",
    )
    yield DerivationStep(
        section="load",
        name="share of a replica's time spent on prompts",
        formula=f"{rate:.4g} requests/s x {point.prefill_s * 1e3:.1f} ms",
        result=f"{operation.prefill_utilisation:.1%}",
    )
    for latency in operation.latencies:
        closed = float(
            np.interp(
                operation.batch,
                curve.batches,
                latency_s(curve, Objective(latency.metric, latency.percentile, ZERO), workload),
            )
        )
        yield DerivationStep(
            section="load",
            name=f"{latency.label}, closed form",
            formula=_latency_formula(latency, point, workload),
            result=f"{closed * 1e3:,.0f} ms",
            source=QUEUE_SOURCE if latency.metric is Metric.TTFT else "",
        )
        yield DerivationStep(
            section="load",
            name=f"{latency.label} of the row",
            formula=operation.simulated or "the closed form",
            result=_range(latency),
        )


class _Point:
    """The curve read at one batch; below one sequence at one, the careful side."""

    def __init__(self, curve: Curve, batch: float, rate: float) -> None:
        self.batch, self.rate = batch, rate
        self.tpot_s = self._read(curve, curve.tpot_s)
        self.prefill_s = self._read(curve, curve.prefill_s)
        self.prompt_s = self._read(curve, curve.prompt_s)
        self.queue = self._read(curve, curve.queue_utilisation)
        growth = np.clip(np.gradient(curve.tpot_s, curve.batches), 0.0, None)
        self.growth_s = self._read(curve, growth)

    def _read(
        self, curve: Curve, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    ) -> float:
        return float(np.interp(self.batch, curve.batches, values))


def _demand(row: PlanRow, workload: Workload) -> str:
    operation = row.operation
    largest = operation.largest_rate.value / operation.replicas
    if workload.users is not None:
        return f"{workload.users} users / {operation.replicas} = {operation.batch:.2f} in each"
    if workload.rate is not None:
        return (
            f"{workload.rate:.4g} requests/s / {largest:.4g} requests/s that one carries, "
            "rounded up"
        )
    return "one, at full load"


def _latency_formula(latency: Latency, point: _Point, workload: Workload) -> str:
    share = latency.percentile
    match latency.metric:
        case Metric.TTFT:
            return _ttft_formula(share, point, workload)
        case Metric.TPOT:
            z = NormalDist().inv_cdf(share)
            spread = 1 + length_variation(workload) ** 2
            prompts = sqrt(point.rate * point.tpot_s / workload.output_tokens)
            prompts *= point.prefill_s * spread
            batch = sqrt(max(point.batch, 1.0)) * point.growth_s
            return (
                f"{point.tpot_s * 1e3:.2f} ms + {z:.3f} x √(({prompts * 1e3:.2f} ms from prompts)² "
                f"+ ({batch * 1e3:.2f} ms from a fuller batch)²)"
            )
        case Metric.E2E:
            return (
                f"TTFT at the same percentile + {workload.output_tokens - 1:,} x "
                f"{point.tpot_s * 1e3:.2f} ms"
            )


def _ttft_formula(share: float, point: _Point, workload: Workload) -> str:
    """Return `wait + prompt + step`, with the wait's own formula."""
    variation = length_variation(workload)
    load, service = point.queue, point.prompt_s
    mean = load * service * (1 + variation**2) / (2 * (1 - load)) if load < 1 else float("inf")
    factor = max(log(load / (1 - share)), 0.0) if load > 0 else 0.0
    return (
        f"wait {mean * 1e3:.0f} ms / {load:.3f} x ln({load:.3f} / {1 - share:.3g}) = "
        f"{mean / load * factor * 1e3 if load else 0:.0f} ms, with mean wait = {load:.3f} x "
        f"{service * 1e3:.0f} x (1 + {variation:g}²) / (2 x (1 - {load:.3f})); + prompt "
        f"{service * 1e3:.0f} ms + step {point.tpot_s * 1e3:.0f} ms"
    )


def _range(latency: Latency) -> str:
    seconds = latency.seconds
    bound = "" if latency.at_most_s is None else f"; asked: at most {latency.at_most_s * 1e3:,.0f}"
    return (
        f"{seconds.value * 1e3:,.0f} ms ({seconds.low * 1e3:,.0f} to "
        f"{seconds.high * 1e3:,.0f}{bound})"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
