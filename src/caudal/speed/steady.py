"""A replica under steady load: what each request sees while others prefill and decode beside it.

At a decode batch of `B` sequences that each receive `O` tokens, one prefill of `S` seconds comes
in for every `O/B` steps, and everybody waits for it: `tpot = t(B) + B · S / O`. The rate that
sustains the batch is `B / (O · tpot)` (Little's law over the decode phase). A step takes in at most
`M` prompt tokens, so that no batch larger than `O · M / I` can be kept up with prompts of `I`.

The functions on a `Pace` are elementwise over whatever broadcasts; `limit` is how many sequences
may run at once. Waiting beyond these means is the simulator's affair.
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

_ROUNDS: Final = 12  # of a fixed point; it contracts, twelve leave less than 0.1 %
_LARGEST_LOAD: Final = 0.95  # of prefill in the waiting formula, which has a pole at 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """What a replica does under a load; arrays [gpus] or [gpus, n]."""

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

    `cached_tokens` of the input come from the prefix cache and are not computed again. A batch
    larger than prompts come in for stands where the largest such batch does.
    Leaves out waiting before prefill: the plan adds it for the percentile that it needs.
    """
    return capacity_on(
        pace_for(work, gpus),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        batches=batches,
        cached_tokens=cached_tokens,
    )


def capacity_on(
    pace: Pace,
    *,
    input_tokens: float,
    output_tokens: float,
    batches: ArrayLike,
    cached_tokens: float = 0.0,
) -> CapacityCurve:
    """Return `capacity_curve` for a pace, in the shape that it and `batches` broadcast to."""
    batch = np.atleast_1d(np.asarray(batches, dtype=np.float64))
    prompt = np.full_like(batch, input_tokens)
    output = np.full_like(batch, output_tokens)
    fed = np.minimum(batch, largest_fed_batch(pace, prompt - cached_tokens, output))
    tpot, prefill = loaded_tpot(pace, fed, prompt, output, cached_tokens)
    rate = fed / (output_tokens * tpot)
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
    limit: ArrayLike = np.inf,
) -> SteadyState:
    """Return the state of a replica that `concurrency` users keep busy without a pause.

    Each user sends the next request when the last is answered; at most `limit` sequences run at
    once. Arguments are numbers or [n]; results [gpus] or [gpus, n].
    """
    pace = pace_for(work, gpus)
    arguments = (concurrency, input_tokens, output_tokens, limit)
    users, prompt, output, most = (
        np.array(value)
        for value in np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in arguments)
        )
    )
    state = closed_loop(pace, users, prompt, output, most)
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
    """Return the time per token at a decode batch, and the engine's time for one prompt.

    With attention data parallelism as many prompts as ranks are prefilled side by side.
    """
    ranks = pace.terms.data
    prefill = pace.prefill(prompt - cached, cached, ranks) / ranks
    step = pace.decode(batch, prompt + output / 2)
    stall = prefill * pace.constants[Parameter.OVERLAP]
    fed = np.minimum(batch, largest_fed_batch(pace, prompt - cached, output))
    return np.asarray(step + fed * stall / output), prefill


def largest_fed_batch(pace: Pace, prompt: Floats, output: Floats) -> Floats:
    """Return the largest decode batch that prompts come in fast enough for.

    `output · M / prompt`: a sequence stays for `output` steps, each of which takes in `M` tokens;
    for fewer steps where each yields several tokens.
    """
    steps = output / pace.tokens_per_step
    return np.maximum(steps * pace.terms.chunk_tokens / np.maximum(prompt, 1.0), 1.0)


def closed_loop(
    pace: Pace, users: Floats, prompt: Floats, output: Floats, limit: Floats
) -> SteadyState:
    """Return the steady state of `users` that each keep one request under way.

    Of the users some decode and the others wait for their first token: the decode batch `B` is
    `users · decode time / (decode time + ttft)`, found as a fixed point. Users beyond `limit`
    wait for a slot: `(users − running) / rate` longer.
    """
    running = np.minimum(users, limit)
    fed = largest_fed_batch(pace, prompt, output)
    batch = np.minimum(0.9 * running, fed)
    for _ in range(_ROUNDS):
        tpot, prefill = loaded_tpot(pace, batch, prompt, output)
        decoding = output * tpot
        ttft = closed_ttft(
            pace, running, tpot, prefill, prompt=prompt, rate=batch / (output * tpot)
        )
        batch = 0.5 * batch + 0.5 * np.minimum(running * decoding / (decoding + ttft), fed)
    tpot, prefill = loaded_tpot(pace, batch, prompt, output)
    ttft = closed_ttft(pace, running, tpot, prefill, prompt=prompt, rate=batch / (output * tpot))
    rate = np.minimum(running / (ttft + output * tpot), fed / (output * tpot))
    ttft = np.maximum(ttft, running / rate - output * tpot)
    idle = np.minimum(pace.constants[Parameter.LOST], 0.5 * users)
    queued = np.maximum(users - running, 0.0) + idle
    return SteadyState(
        batch=batch,
        tpot_s=tpot,
        ttft_s=ttft + queued / rate,
        request_rate=rate,
        output_tok_s=rate * output,
    )


def closed_ttft(
    pace: Pace, users: Floats, tpot: Floats, prefill: Floats, *, prompt: Floats, rate: Floats
) -> Floats:
    """Return the median time to the first token of users who are all served.

    A step passes until the scheduler has looked and answered; requests that began together stay
    near each other, so that a share of all users' prompts comes before one's own; handling the
    streams of the others takes the server's processor.
    """
    constants = pace.constants
    ahead = constants[Parameter.CLUMP] * (users - 1.0) * prefill
    handling = constants[Parameter.HANDLE] * users
    waiting = waiting_seconds(pace, prefill, rate)
    own = prefill * pace.terms.data
    arriving = intake_seconds(pace, prompt, rate)
    return np.asarray(arriving + tpot + ahead + handling + waiting + own)


def intake_seconds(pace: Pace, prompt: Floats, rate: Floats) -> Floats:
    """Return the time from a request's arrival until the engine knows of it.

    The front end (HTTP, chat template, tokeniser) takes requests one at a time: its own work, the
    wait for those before (M/D/1), and what every request spends on the way.
    """
    constants = pace.constants
    work = constants[Parameter.INTAKE] + prompt * constants[Parameter.TOKENISE]
    load = np.minimum(rate * work, _LARGEST_LOAD)
    return np.asarray(constants[Parameter.FIRST] + work * (1.0 + load / (2.0 * (1.0 - load))))


def waiting_seconds(pace: Pace, prefill: Floats, rate: Floats) -> Floats:
    """Return the mean wait behind earlier prompts when `rate` requests per second arrive.

    `prefill · load / (2 (1 − load))`, the wait of a queue with random arrivals and equal service
    (M/D/1, Pollaczek and Khinchine), times a fitted factor.
    """
    load = np.minimum(rate * prefill, _LARGEST_LOAD)
    return np.asarray(pace.constants[Parameter.QUEUE] * prefill * load / (2.0 * (1.0 - load)))


def open_loop(
    pace: Pace, rate: Floats, prompt: Floats, output: Floats, limit: Floats
) -> SteadyState:
    """Return the steady state when `rate` requests per second arrive at random at one replica.

    The batch is `rate · output · tpot`, a fixed point from below; at `limit` the replica is
    saturated and yields what it can.
    """
    batch = np.ones_like(rate)
    limit = np.minimum(limit, largest_fed_batch(pace, prompt, output))
    for _ in range(3 * _ROUNDS):
        tpot, prefill = loaded_tpot(pace, batch, prompt, output)
        batch = np.minimum(0.3 * batch + 0.7 * rate * output * tpot, limit)
    tpot, prefill = loaded_tpot(pace, batch, prompt, output)
    carried = np.minimum(rate, batch / (output * tpot))
    constants = pace.constants
    handling = constants[Parameter.HANDLE] * batch
    ttft = (
        intake_seconds(pace, prompt, carried)
        + tpot
        + handling
        + prefill * pace.terms.data
        + waiting_seconds(pace, prefill, carried)
    )
    return SteadyState(
        batch=batch,
        tpot_s=tpot,
        ttft_s=ttft,
        request_rate=carried,
        output_tok_s=carried * output,
    )


def all_at_once(
    pace: Pace, requests: Floats, prompt: Floats, output: Floats, limit: Floats
) -> SteadyState:
    """Return means over `requests` requests that all arrive together.

    Prompts go first: half of those that are admitted come before the median one. Requests beyond
    `limit` follow at the steady rate of a full batch.
    """
    running = np.minimum(np.minimum(requests, limit), largest_fed_batch(pace, prompt, output))
    ranks = pace.terms.data
    prefill = pace.prefill(prompt, 0.0, ranks) / ranks
    step = pace.decode(running, prompt + output / 2)
    later = np.maximum(requests - running, 0.0)
    full, _ = loaded_tpot(pace, running, prompt, output)
    rate = running / (output * full)
    share = later / requests
    tpot = step + running * prefill / (2.0 * output)
    tpot = tpot + share * (full - tpot)
    total = running * prefill + output * step + later / rate
    first = intake_seconds(pace, prompt, np.zeros_like(requests))
    first = first + pace.constants[Parameter.HANDLE] * running
    half = requests / 2.0
    ttft = first + np.minimum(half, running) * prefill + np.maximum(half - running, 0.0) / rate
    return SteadyState(
        batch=running,
        tpot_s=np.asarray(tpot),
        ttft_s=np.asarray(ttft),
        request_rate=requests / total,
        output_tok_s=requests * output / total,
    )


def static_batch_seconds(
    pace: Pace, sequences: Floats, prompt: Floats, output: Floats, limit: Floats
) -> Floats:
    """Return the time in which a batch that starts together is done.

    Sequences beyond `limit` follow as others end.
    """
    running = np.minimum(sequences, limit)
    rounds = sequences / running
    return np.asarray(
        rounds
        * (pace.prefill(prompt, 0.0, running) + output * pace.decode(running, prompt + output / 2))
    )
