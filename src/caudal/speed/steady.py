"""A replica under steady load: what each request sees while others prefill and decode beside it.

At a decode batch of `B` sequences that each receive `O` tokens, one prefill of `S` seconds comes
in for every `O/B` steps, and everybody waits for it: `tpot = t(B) + B · S / O`. The rate that
sustains the batch is `B / (O · tpot)` (Little's law over the decode phase).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caudal.speed.efficiency import Parameter
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import Pace, pace_for
from caudal.speed.work import StepWork

Floats = NDArray[np.float64]

_ROUNDS: Final = 12  # of the fixed point; it contracts, twelve leave less than 0.1 %
_LARGEST_LOAD: Final = 0.98  # of prefill in the waiting formula, which has a pole at 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """What a replica does under a steady load; arrays [gpus] or [gpus, n]."""

    batch: Floats  # sequences that decode at a time
    tpot_s: Floats
    ttft_s: Floats
    request_rate: Floats  # requests per second and replica
    output_tok_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityCurve:
    """What each decode batch means; arrays [gpus, batches]."""

    tpot_s: Floats
    prefill_s: Floats  # of one's own prompt, nobody waiting before it
    request_rate: Floats  # requests per second and replica that keep the batch at this size
    output_tok_s: Floats


def capacity_curve(
    work: StepWork,
    gpus: GpuColumns,
    *,
    input_tokens: float,
    output_tokens: float,
    batches: ArrayLike,
    cached_tokens: float = 0.0,
) -> CapacityCurve:
    """Return for each decode batch of `batches` its rate and speed, [gpus, batches].

    `cached_tokens` of the input come from the prefix cache and are not computed again.
    Leaves out waiting before prefill: the plan adds it for the percentile that it needs.
    """
    pace = pace_for(work, gpus)
    batch = np.atleast_1d(np.asarray(batches, dtype=np.float64))
    tpot, prefill = loaded_tpot(
        pace, batch, _like(batch, input_tokens), _like(batch, output_tokens), cached_tokens
    )
    rate = batch / (output_tokens * tpot)
    return CapacityCurve(
        tpot_s=tpot,
        prefill_s=prefill,
        request_rate=rate,
        output_tok_s=rate * output_tokens,
    )


def steady_state_closed(
    work: StepWork,
    gpus: GpuColumns,
    *,
    concurrency: ArrayLike,
    input_tokens: ArrayLike,
    output_tokens: ArrayLike,
) -> SteadyState:
    """Return the state of a replica that `concurrency` users keep busy without a pause.

    Each user sends the next request when the last is answered. Arguments are numbers or [n];
    results [gpus] or [gpus, n].
    """
    pace = pace_for(work, gpus)
    arguments = (concurrency, input_tokens, output_tokens)
    users, prompt, output = (
        np.array(value)
        for value in np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in arguments)
        )
    )
    state = closed_loop(pace, users, prompt, output)
    if any(np.ndim(value) for value in arguments):
        return state
    return SteadyState(
        batch=state.batch[:, 0],
        tpot_s=state.tpot_s[:, 0],
        ttft_s=state.ttft_s[:, 0],
        request_rate=state.request_rate[:, 0],
        output_tok_s=state.output_tok_s[:, 0],
    )


def loaded_tpot(
    pace: Pace, batch: Floats, prompt: Floats, output: Floats, cached: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the time per token at a decode batch, and the time of one prompt's prefill."""
    prefill = pace.prefill(prompt - cached, _like(prompt, cached))
    step = pace.decode(batch, prompt + output / 2)
    stall = prefill * pace.constants[Parameter.OVERLAP]
    return np.asarray(step + batch * stall / output), prefill


def closed_loop(pace: Pace, users: Floats, prompt: Floats, output: Floats) -> SteadyState:
    """Return the steady state of a closed loop, elementwise over whatever broadcasts.

    Of the users some decode and the others wait for their first token: the decode batch `B` is
    `users · decode time / (decode time + ttft)`, found as a fixed point.
    """
    batch = np.maximum(users, 1.0) * 0.9
    for _ in range(_ROUNDS):
        tpot, prefill = loaded_tpot(pace, batch, prompt, output)
        decoding = output * tpot
        ttft = first_token_seconds(pace, prefill, tpot, batch / decoding)
        batch = 0.5 * batch + 0.5 * users * decoding / (decoding + ttft)
    tpot, prefill = loaded_tpot(pace, batch, prompt, output)
    ttft = first_token_seconds(pace, prefill, tpot, batch / (output * tpot))
    rate = users / (ttft + output * tpot)
    return SteadyState(
        batch=batch, tpot_s=tpot, ttft_s=ttft, request_rate=rate, output_tok_s=rate * output
    )


def first_token_seconds(pace: Pace, prefill: Floats, tpot: Floats, rate: Floats) -> Floats:
    """Return the mean time to the first token when `rate` requests per second arrive.

    Half a step passes until the scheduler looks, then prompts that came before (waiting grows as
    `load / (1 − load)` with the share of time that prefill takes), then one's own.
    """
    load = np.minimum(rate * prefill, _LARGEST_LOAD)
    waiting = pace.constants[Parameter.QUEUE] * prefill * load / (1.0 - load)
    return np.asarray(pace.constants[Parameter.FIRST] + tpot / 2 + waiting + prefill)


def _like(shape: Floats, value: float) -> Floats:
    return np.full_like(shape, value)
