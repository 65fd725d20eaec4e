"""The fast check of one shape on many GPUs at once: memory, then latency, then capacity.

Arrays run over [gpus, batches]. The load that a replica carries is found on a grid of decode
batches: each batch belongs to one request rate, and latency grows with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from caudal.fit.budget import CardMemory
from caudal.plan.shapes import Shape
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import capacity_on
from caudal.speed.steps import Pace, pace_for, pace_of_pairs
from caudal.traffic.queueing import tpot_quantile_s, wait_quantile_s
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.workload import Mode, Workload

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

GRID_POINTS = 40  # chosen: neighbouring batches differ by 15 % up to 256 sequences
# Coefficient of variation of prompt and answer lengths. Chosen: 1, as for exponential lengths;
# public traces lie about it (Azure conversation 2023: 1.1 in and 0.8 out, code 2023: 0.9 in).
LENGTH_VARIATION = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """How one shape runs on each GPU at each batch of the grid; arrays are [gpus, batches]."""

    batches: Floats  # [batches], or one grid for each GPU
    tpot_s: Floats  # mean
    prefill_s: Floats  # of engine time that one mean prompt takes
    prompt_s: Floats  # from the start of a mean prompt's prefill to its end, beside the batch
    request_rate: Floats  # at which one replica holds this batch
    prefill_utilisation: Floats  # of the engine's time
    queue_utilisation: Floats  # of the prefill queue, 1 where it is saturated

    def on(self, gpu: int) -> "Curve":
        """Return the curve of one GPU; every array is [batches]."""
        return self.where(gpu)

    def where(self, chosen: int | slice) -> "Curve":
        """Return the curve on the chosen GPUs alone."""
        return Curve(
            batches=self.batches if self.batches.ndim == 1 else self.batches[chosen],
            tpot_s=self.tpot_s[chosen],
            prefill_s=self.prefill_s[chosen],
            prompt_s=self.prompt_s[chosen],
            request_rate=self.request_rate[chosen],
            prefill_utilisation=self.prefill_utilisation[chosen],
            queue_utilisation=self.queue_utilisation[chosen],
        )


def batch_grid(most: float) -> Floats:
    """Return decode batches from 1 to `most`, evenly spaced on a logarithmic scale, [batches]."""
    return np.geomspace(1.0, max(most, 1.0), GRID_POINTS)


def curve_of(shape: Shape, gpus: GpuColumns, workload: Workload) -> Curve:
    """Return how the shape runs at every batch of the grid, [gpus, batches]."""
    batches = batch_grid(float(shape.serving.sequences))
    return curve_on(pace_for(shape.work, gpus), batches, workload)


def curves_of(
    shapes: Sequence[Shape],
    gpus: GpuColumns,
    workload: Workload,
    *,
    shape_index: Indices,
    gpu_index: Indices,
) -> Curve:
    """Return how pairs of a shape and a GPU run, each on its own grid, [pairs, batches]."""
    pace = pace_of_pairs(
        [shape.work for shape in shapes], gpus, work_index=shape_index, gpu_index=gpu_index
    )
    grids = np.array([batch_grid(float(shape.serving.sequences)) for shape in shapes])
    return curve_on(pace, grids[shape_index], workload)


def curve_on(pace: Pace, batches: Floats, workload: Workload) -> Curve:
    """Return how a pace runs at every batch.

    A prompt is prefilled in whole steps that also serve the decoding batch; several short prompts
    share one step, so the queue's utilisation counts the share that one prompt takes.
    """
    capacity = capacity_on(
        pace,
        input_tokens=float(workload.input_tokens),
        output_tokens=float(workload.output_tokens),
        batches=batches,
    )
    steps = workload.input_tokens / pace.terms.chunk_tokens
    step = np.clip(
        capacity.tpot_s - batches * capacity.prefill_s / workload.output_tokens, 0.0, None
    )
    step = step * pace.tokens_per_step
    rate, prefill = capacity.request_rate, capacity.prefill_s
    return Curve(
        batches=batches,
        tpot_s=capacity.tpot_s,
        prefill_s=prefill,
        prompt_s=prefill + np.ceil(steps) * step,
        request_rate=rate,
        prefill_utilisation=np.minimum(rate * prefill, 1.0),
        queue_utilisation=np.minimum(rate * (prefill + steps * step), 1.0),
    )


def latency_s(curve: Curve, objective: Objective, workload: Workload) -> Floats:
    """Return the metric's percentile at every batch of the curve, in the curve's shape."""
    match objective.metric:
        case Metric.TTFT:
            return ttft_s(curve, objective.percentile, workload)
        case Metric.TPOT:
            return tpot_s(curve, objective.percentile, workload)
        case Metric.E2E:
            tail = ttft_s(curve, objective.percentile, workload)
            return np.asarray(tail + (workload.output_tokens - 1) * curve.tpot_s)
        case _:
            assert_never(objective.metric)


def ttft_s(curve: Curve, percentile: float, workload: Workload) -> Floats:
    """Return the wait for the prefill queue, the prompt's own prefill, and the step under way."""
    wait = wait_quantile_s(
        percentile,
        utilisation=curve.queue_utilisation,
        service_s=curve.prompt_s,
        variation=length_variation(workload),
    )
    return np.asarray(wait + curve.prompt_s + curve.tpot_s)


def length_variation(workload: Workload) -> float:
    """Return the coefficient of variation of lengths that percentiles are reckoned with.

    In a closed loop of users the next prompt comes when an answer ends, so prompts arrive more
    evenly than Poisson's; service times are then taken as constant.
    """
    return 0.0 if workload.mode is Mode.CLOSED else LENGTH_VARIATION


def tpot_s(curve: Curve, percentile: float, workload: Workload) -> Floats:
    """Return the TPOT percentile over requests."""
    growth = growth_of(curve.tpot_s, curve.batches)
    return tpot_quantile_s(
        percentile,
        tpot_s=curve.tpot_s,
        request_rate=curve.request_rate,
        prefill_s=curve.prefill_s,
        output_tokens=float(workload.output_tokens),
        step_growth=np.clip(growth, 0.0, None),
        batch=curve.batches,
        variation=length_variation(workload),
    )


def growth_of(values: Floats, batches: Floats) -> Floats:
    """Return what one more sequence adds: differences of neighbours, shaped as `values`."""
    grid = np.broadcast_to(batches, values.shape)
    rise = np.empty_like(values)
    rise[..., 1:-1] = (values[..., 2:] - values[..., :-2]) / (grid[..., 2:] - grid[..., :-2])
    rise[..., 0] = (values[..., 1] - values[..., 0]) / (grid[..., 1] - grid[..., 0])
    rise[..., -1] = (values[..., -1] - values[..., -2]) / (grid[..., -1] - grid[..., -2])
    return rise


def worst_ratio(curve: Curve, slo: Slo, workload: Workload) -> Floats:
    """Return the largest predicted ÷ allowed over all objectives, 0 where there is none."""
    ratio = np.zeros_like(curve.tpot_s)
    for objective in slo.objectives:
        ratio = np.maximum(ratio, latency_s(curve, objective, workload) / objective.at_most_s)
    # A GPU whose maker publishes no rate has no speed: it cannot be promised to keep anything.
    return np.where(np.isfinite(curve.tpot_s), ratio, np.inf)


@dataclass(frozen=True, slots=True)
class Room:
    """What memory leaves for requests on every GPU; arrays are [gpus].

    `short_bytes` is what the KV pool lacks for one sequence of the longest length, at the low end
    of the estimate, 0 where it fits; `concurrency` counts sequences of the mean length.
    """

    short_bytes: Floats
    concurrency: Floats


def room_of(shape: Shape, cards: Sequence[CardMemory], workload: Workload) -> Room:
    """Return what the shape leaves for requests on these cards."""
    kv = shape.needs.kv
    places: dict[CardMemory, int] = {}  # many cards are of one size
    where = [places.setdefault(card, len(places)) for card in cards]
    pools = [shape.needs.kv_pool_bytes(card.visible_bytes, unified=card.unified) for card in places]
    longest = kv.bytes_at_most(sequences=1, tokens=workload.longest_tokens)
    short = np.array([max(longest - pool.low, 0.0) for pool in pools])
    held = [kv.sequences(pool.value, tokens=workload.sequence_tokens) for pool in pools]
    concurrency = np.floor(np.minimum(held, shape.serving.sequences))
    return Room(short_bytes=short[where], concurrency=concurrency[where])


@dataclass(frozen=True, slots=True)
class Reach:
    """What the SLO lets one replica carry on every GPU; arrays are [gpus].

    `batch` is the largest decode batch that memory and the SLO allow, 0 where there is none;
    `slo_ratio` is the smallest predicted ÷ allowed over all batches.
    """

    batch: Floats
    largest_rate: Floats
    slo_ratio: Floats
    curve: Curve

    def where(self, chosen: slice) -> "Reach":
        """Return the reach on the chosen GPUs alone."""
        return Reach(
            batch=self.batch[chosen],
            largest_rate=self.largest_rate[chosen],
            slo_ratio=self.slo_ratio[chosen],
            curve=self.curve.where(chosen),
        )


def reach_of(
    shape: Shape, gpus: GpuColumns, concurrency: Floats, workload: Workload, slo: Slo
) -> Reach:
    """Return what the shape carries on each GPU whose memory holds `concurrency` sequences."""
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN where no rate is published
        return reach_on(curve_of(shape, gpus, workload), concurrency, workload, slo)


def reach_on(curve: Curve, concurrency: Floats, workload: Workload, slo: Slo) -> Reach:
    """Return what each row of the curve carries where memory holds `concurrency` sequences."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = worst_ratio(curve, slo, workload)
    allowed = (ratio <= 1.0) & (curve.batches <= concurrency[:, None])
    # Latency grows with the batch, so the allowed ones are the first of the grid.
    count = allowed.cumprod(axis=1).sum(axis=1)
    last = np.clip(count - 1, 0, None)[:, None]
    rate = np.take_along_axis(curve.request_rate, last, axis=1)[:, 0]
    grid = np.broadcast_to(curve.batches, ratio.shape)
    batch = np.take_along_axis(grid, last, axis=1)[:, 0]
    return Reach(
        batch=np.where(count > 0, batch, 0.0),
        largest_rate=np.where(count > 0, rate, 0.0),
        slo_ratio=ratio.min(axis=1),
        curve=curve,
    )
