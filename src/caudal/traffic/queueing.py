"""Waiting and its percentiles in closed form, over arrays; a simulator replaces it under load.

The engine is seen as two coupled servers. Prompts queue for prefill, an M/G/1 queue whose service
time is one prompt's prefill. Running sequences share decode steps, which prefill work stretches.
Leaves out: preemption, prefix-cache hits, the token budget's granularity, bursts beyond Poisson.
"""

from math import log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def wait_mean_s(*, utilisation: Floats, service_s: Floats, variation: float) -> Floats:
    """Return the mean wait in an M/G/1 queue, infinite where it is saturated.

    `W = ρ · S · (1 + c²) / (2 · (1 − ρ))` with `variation` c, the service time's coefficient of
    variation: 0 for prompts of one length, 1 for exponential ones.

    Source: Pollaczek-Khinchine, Kleinrock, Queueing Systems vol. 1, eq. 5.70.
    """
    free = np.clip(1.0 - utilisation, 0.0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = utilisation * service_s * (1 + variation**2) / (2 * free)
    return np.where(free > 0, wait, np.inf)


def wait_quantile_s(
    percentile: float, *, utilisation: Floats, service_s: Floats, variation: float
) -> Floats:
    """Return the wait that a share `percentile` of arrivals does not exceed.

    A share 1 − ρ does not wait at all; the others wait exponentially with mean `W / ρ`, which is
    exact for M/M/1 and close in the tail for M/G/1:
    `w = (W / ρ) · ln(ρ / (1 − percentile))`, 0 where that is negative.

    Source: Kleinrock vol. 1 §5.6 for M/M/1; heavy-traffic limit (Kingman 1961) for M/G/1.
    """
    mean = wait_mean_s(utilisation=utilisation, service_s=service_s, variation=variation)
    with np.errstate(divide="ignore", invalid="ignore"):
        conditional = mean / utilisation
        quantile = conditional * (np.log(utilisation) - log(1 - percentile))
    return np.where(utilisation > 0, np.clip(quantile, 0.0, None), 0.0)


def stretched_step_s(*, step_s: Floats, prefill_utilisation: Floats) -> Floats:
    """Return the mean time between two tokens of a sequence while prompts are prefilled beside it.

    A share ρ of the engine's time goes to prefill, so decode steps get the rest:
    `tpot = t / (1 − ρ)`; infinite where prefill alone fills the engine.
    """
    free = np.clip(1.0 - prefill_utilisation, 0.0, None)
    with np.errstate(divide="ignore"):
        return np.where(free > 0, step_s / free, np.inf)


def tpot_quantile_s(
    percentile: float,
    *,
    tpot_s: Floats,
    request_rate: Floats,
    prefill_s: Floats,
    output_tokens: float,
    step_growth: Floats,
    batch: Floats,
    variation: float,
) -> Floats:
    """Return the TPOT that a share `percentile` of requests does not exceed.

    A request's TPOT is a mean over its output, so it varies less than single gaps. Two sources:
    the prompts prefilled during its life, a Poisson number with mean `λ · O · tpot` that each add
    `S / O`; and the batch beside it, Poisson about `batch`, with `step_growth` seconds of TPOT per
    further sequence. With lengths of coefficient of variation c both `E[S²] = S² (1 + c²)` and
    `E[1/O] = (1 + c²) / O` (exact for lognormal lengths), so
    `σ² = λ · tpot / O · S² · (1 + c²)² + B · growth²`. The percentile is the normal one, which for
    short answers is low: theirs is a skewed sum of few terms.
    """
    z = NormalDist().inv_cdf(percentile)
    interruptions = request_rate * tpot_s / output_tokens
    spread = (1 + variation**2) ** 2
    variance = interruptions * prefill_s**2 * spread + batch * step_growth**2
    return np.asarray(tpot_s + z * np.sqrt(variance))
