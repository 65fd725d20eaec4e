"""The time of each operator of a step: the larger of moving and multiplying, and what is between.

Every function works on whatever broadcasts: `terms`, `machine` and `constants` hold numbers or
arrays, `tokens`, `sequences` and `context` likewise.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.speed.efficiency import Constants, Machine, Parameter
from caudal.speed.shape import MatrixKind
from caudal.speed.terms import MatrixTerm, WorkTerms

Floats = NDArray[np.float64]

_SOFTNESS: Final = 4.0
"""Exponent of the mean that stands for the larger of two times.

Chosen: near the ridge a kernel neither moves nor multiplies at full rate; 4 adds 19 % where both
times are equal and 1.5 % where one is twice the other. It never falls below either.
"""


def larger(first: Floats, second: Floats) -> Floats:
    """Return the larger of two times, a little more where they are alike."""
    high = np.maximum(first, second)
    low = np.minimum(first, second)
    share = np.divide(low, high, out=np.zeros_like(high), where=high > 0)
    return high * np.sqrt(np.sqrt(1.0 + share**_SOFTNESS))


def matrix_floor_seconds(terms: WorkTerms, machine: Machine, tokens: Floats) -> Floats:
    """Return the least time of all matrix products of one step: no share, no skew, no waiting.

    `Σ max(bytes / bandwidth, flop · tokens / peak)`, with the experts that an even router touches.
    """
    total = np.zeros_like(tokens)
    for matrix in terms.matrices:
        rate = machine.quantised_flop_per_s if matrix.quantised else machine.plain_flop_per_s
        read = matrix.weight_bytes
        if matrix.kind is MatrixKind.EXPERTS:
            read = read * touched_share(matrix.experts, matrix.chosen, tokens)
        total = total + np.maximum(
            read / machine.memory_bytes_per_s, matrix.flop_per_token * tokens / rate
        )
    return total


def matrix_seconds(
    terms: WorkTerms, machine: Machine, constants: Constants, tokens: Floats
) -> Floats:
    """Return the time of all matrix products of one step of `tokens` tokens.

    `Σ larger(bytes / (bandwidth · share), flop · (tokens + half) / (peak · share))`: weights are
    read once however many tokens pass; small products leave units idle, as if `half` tokens more
    had come.
    """
    total = np.zeros_like(tokens)
    for matrix in terms.matrices:
        moved, multiplied = _matrix_times(matrix, machine, constants, tokens)
        total = total + larger(moved, multiplied)
    return total


def _matrix_times(
    matrix: MatrixTerm, machine: Machine, constants: Constants, tokens: Floats
) -> tuple[Floats, Floats]:
    rate = machine.quantised_flop_per_s if matrix.quantised else machine.plain_flop_per_s
    name = Parameter.QUANTISED_COMPUTE if matrix.quantised else Parameter.COMPUTE
    bandwidth = machine.memory_bytes_per_s * constants[Parameter.MEMORY]
    flop_per_s = rate * constants[name]
    bytes_read = matrix.weight_bytes
    worked_tokens = tokens
    if matrix.kind is MatrixKind.EXPERTS:
        bandwidth = bandwidth * constants[Parameter.EXPERT_MEMORY]
        flop_per_s = flop_per_s * constants[Parameter.EXPERT_COMPUTE]
        skew = constants[Parameter.SKEW]
        bytes_read = bytes_read * fullest_share(matrix, tokens, skew)
        worked_tokens = fullest_tokens(matrix, tokens, skew)
    worked = matrix.flop_per_token * (worked_tokens + constants[Parameter.HALF])
    moved, multiplied = np.broadcast_arrays(bytes_read / bandwidth, worked / flop_per_s)
    return moved, multiplied


def fullest_share(matrix: MatrixTerm, tokens: Floats, skew: Floats) -> Floats:
    """Return the share of its experts that the GPU with most work reads.

    Of `e` experts a GPU reads `e · p ± √(e p (1 − p))`; the largest of `n` such counts lies about
    `√(2 ln n)` deviations above the mean (exact for many normal values), times a fitted factor.
    """
    share = touched_share(matrix.experts, matrix.chosen, tokens)
    held = matrix.experts / matrix.ranks
    deviation = np.sqrt(2.0 * np.log(matrix.ranks) * share * (1.0 - share) / held)
    return np.minimum(share + skew * deviation, 1.0)


def fullest_tokens(matrix: MatrixTerm, tokens: Floats, skew: Floats) -> Floats:
    """Return the tokens of the batch as the GPU with most of them sees it.

    Likewise, with a Poisson number `m` of tokens at each GPU: as if the batch were
    `1 + √(2 ln n / m)` as large; never more than if all tokens went to one GPU.
    """
    shares = 2.0 * np.log(matrix.ranks) * matrix.ranks / matrix.chosen
    return np.minimum(tokens + skew * np.sqrt(shares * tokens), matrix.ranks * tokens)


def touched_share(experts: Floats, chosen: Floats, tokens: Floats) -> Floats:
    """Return the expected share of experts that at least one of `tokens` tokens is sent to.

    `1 − (1 − chosen/experts)^tokens`, for a router that spreads evenly.
    """
    idle = np.clip(1.0 - chosen / experts, 0.0, 1.0)
    return np.asarray(1.0 - idle**tokens)


def cache_bytes(terms: WorkTerms, sequences: Floats, context: Floats) -> Floats:
    """Return what `sequences` sequences read of caches and states in one step."""
    read = sequences * terms.state_bytes
    for part in terms.attention:
        reach = np.minimum(context, part.window_tokens)
        read = read + sequences * reach * part.kv_bytes_per_token
    return read


def decode_attention_seconds(
    terms: WorkTerms,
    machine: Machine,
    constants: Constants,
    sequences: Floats,
    context: Floats,
    *,
    queries: int = 1,
) -> Floats:
    """Return the time in which `sequences` sequences each look back over `context` tokens.

    Caches are read once for all `queries` tokens of a sequence that are worked on together.
    """
    read = cache_bytes(terms, sequences, context)
    worked = np.zeros_like(sequences)
    for part in terms.attention:
        reach = np.minimum(context, part.window_tokens)
        worked = worked + queries * sequences * reach * part.decode_flop_per_token
    bandwidth = machine.memory_bytes_per_s * constants[Parameter.CACHE]
    flop_per_s = machine.plain_flop_per_s * constants[Parameter.LATENT]
    return larger(*np.broadcast_arrays(read / bandwidth, worked / flop_per_s))


def prefill_attention_seconds(
    terms: WorkTerms,
    machine: Machine,
    constants: Constants,
    tokens: Floats,
    context: Floats | float,
) -> Floats:
    """Return the time in which `tokens` new tokens look at themselves and at `context` before.

    Full attention: `tokens · (context + tokens/2)` pairs; within a window of `w`, at most `w` for
    each token.
    """
    worked = np.zeros_like(tokens)
    for part in terms.attention:
        pairs = attention_pairs(tokens, context, part.window_tokens)
        worked = worked + pairs * part.prefill_flop_per_pair
    flop_per_s = machine.plain_flop_per_s * constants[Parameter.ATTENTION]
    return np.asarray(worked / flop_per_s)


def attention_pairs(tokens: Floats, context: Floats | float, window: Floats) -> Floats:
    """Return the pairs of a new token and one it sees, each token seeing at most `window`.

    The i-th new token sees `min(context + i, window)`.
    """
    rising = np.clip(window - context, 0.0, tokens)  # tokens that still see everything
    before = rising * np.minimum(context, window) + rising * rising / 2
    return np.asarray(before + np.where(tokens > rising, (tokens - rising) * _finite(window), 0.0))


def _finite(window: Floats) -> Floats:
    return np.where(np.isfinite(window), window, 0.0)


def exchange_seconds(
    terms: WorkTerms, machine: Machine, constants: Constants, tokens: Floats
) -> Floats:
    """Return the time of the exchanges between the GPUs of one stage, and between stages.

    A ring moves `2 (n − 1)/n` of the payload through each link.
    """
    peers = terms.tensor * terms.data
    payload = terms.collective_bytes_per_token * tokens / terms.data
    wire = 2.0 * (peers - 1.0) / peers * payload
    link = machine.link_bytes_per_s * constants[Parameter.LINK]
    stages = (terms.pipeline - 1.0) * terms.microbatches
    sends = stages * constants[Parameter.LATENCY]
    once = constants[Parameter.LATENCY] * np.log2(np.maximum(peers, 2.0)) + wire / link
    shared = np.where(peers > 1.0, terms.collectives * once, 0.0)  # a lone GPU may have no link
    return np.asarray(shared + sends)


def overhead_seconds(terms: WorkTerms, constants: Constants, sequences: Floats) -> Floats:
    """Return what a step costs beside its operators: launches, scheduling, sampling."""
    return np.asarray(
        terms.layers * constants[Parameter.LAYER]
        + constants[Parameter.STEP]
        + sequences * constants[Parameter.SEQUENCE]
    )
