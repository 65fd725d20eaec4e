"""The speed room's formulas as the table that the engines use, and how closely it follows them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.serving import Serving
from caudal.simulate.clock import PS_PER_SECOND
from caudal.simulate.refusals import NoSpeedError
from caudal.simulate.setup import StepTimes
from caudal.speed.efficiency import Parameter
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import Pace, pace_for
from caudal.speed.work import step_work

Floats = NDArray[np.float64]

# Chosen: sizes at which the formulas are asked; between two neighbours, 4 % apart, times are
# interpolated. The error that remains is part of the result.
_GROWTH = 1.04


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaPace:
    """Step times of one replica, and what the server adds around them."""

    times: StepTimes
    first_s: float  # from a request's arrival to its scheduler
    handle_s: float  # to the first token, for each running sequence
    error: float  # largest relative deviation from the formulas over the contexts asked about


def replica_pace(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    contexts: tuple[float, float],
    sequences: int,
    budget: int,
) -> ReplicaPace:
    """Return the step times of `model` served so on `gpu`.

    Decode is linear in the context between the two `contexts` (a mean prompt's and a mean
    finished sequence's); the slope is exact for full attention and a chord for windows.

    Raises:
        NoSpeedError: the GPU's maker publishes no rate that the formulas need.
    """
    columns = GpuColumns.of([gpu])
    pace = pace_for(step_work(model, serving), columns)
    decode, slope, off = _decode(pace, contexts, sequences)
    prefill, pair, beyond = _prefill(pace, budget, contexts[0])
    if not np.isfinite(decode).all() or not np.isfinite(prefill).all():
        raise NoSpeedError(gpu.name)
    overlap = _constant(pace, Parameter.OVERLAP)
    times = StepTimes(
        decode=np.maximum(_clock(decode), 1),
        context=_clock(slope),
        prefill=np.maximum(_clock(prefill), 1),
        mixed=_clock(prefill * overlap),
        pair_q10=round(pair * PS_PER_SECOND * 1024),
        mixed_pair_q10=round(pair * overlap * PS_PER_SECOND * 1024),
    )
    return ReplicaPace(
        times=times,
        first_s=_constant(pace, Parameter.FIRST),
        handle_s=_constant(pace, Parameter.HANDLE),
        error=max(off, beyond),
    )


def _constant(pace: Pace, name: Parameter) -> float:
    return float(pace.constants[name].ravel()[0])


def _clock(values: Floats) -> NDArray[np.int64]:
    return np.asarray(np.rint(np.maximum(values, 0.0) * PS_PER_SECOND), np.int64)


def _sizes(most: int) -> Floats:
    """Return whole numbers from 1 to `most`, each at most 4 % above the one before, or by one."""
    count = int(np.log(most) / np.log(_GROWTH)) + 2
    rounded = np.rint(np.geomspace(1, most, count))
    return rounded[np.diff(rounded, prepend=0.0) > 0]


def _decode(
    pace: Pace, contexts: tuple[float, float], sequences: int
) -> tuple[Floats, Floats, float]:
    """Return a step's time without context, its growth with each token of it, and the error."""
    batch = _sizes(sequences)
    low, high = max(contexts[0], 1.0), max(contexts[1], contexts[0] + 1.0)
    at_low = pace.decode(batch, np.full_like(batch, low))[0]
    at_high = pace.decode(batch, np.full_like(batch, high))[0]
    slope = np.maximum((at_high - at_low) / (batch * (high - low)), 0.0)
    fixed = np.maximum(at_low - slope * batch * low, 0.0)
    between = (low + high) / 2
    middle = pace.decode(batch, np.full_like(batch, between))[0]
    error = float(np.max(np.abs(fixed + slope * batch * between - middle) / middle))
    every = np.arange(sequences + 1, dtype=np.float64)
    return np.interp(every, batch, fixed), np.interp(every, batch, slope), error


def _prefill(pace: Pace, budget: int, context: float) -> tuple[Floats, float, float]:
    """Return a step's time for so many prompt tokens, that of one attended pair, and the error."""
    tokens = _sizes(budget)
    alone = pace.prefill(tokens)[0]
    far = float(max(context, budget))
    beside = pace.prefill(tokens, far)[0]
    most = tokens[-1]
    pair = max(float(beside[-1] - alone[-1]) / (most * far), 0.0)
    # More tokens never take less: where the formulas have a floor, what is left of it is flat.
    fixed = np.maximum.accumulate(np.maximum(alone - pair * tokens * tokens / 2, 0.0))
    half = pace.prefill(tokens, far / 2)[0]
    modelled = fixed + pair * (tokens * far / 2 + tokens * tokens / 2)
    error = float(np.max(np.abs(modelled - half) / half))
    every = np.arange(budget + 1, dtype=np.float64)
    return np.interp(every, tokens, fixed), pair, error
