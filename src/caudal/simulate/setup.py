"""What an engine is told: replicas, limits and step times as whole numbers, nothing derived."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

PAIR_SHIFT = 11  # pair times are picoseconds · 1024, and pairs are counted twice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTimes:
    """How long a step takes, in picoseconds, by what is in it.

    `B` decoding sequences whose contexts, the new token included, sum to `S`:
    `decode[B] + context[B] · S`. A step of `n` prompt tokens alone: `prefill[n] + pair · pairs`;
    beside a decoding batch `mixed[n] + mixed_pair · pairs` on top of the decode step, and never
    less than the prompt tokens alone. `pairs` counts a new token and one it looks at.
    """

    decode: Integers  # [sequences + 1]
    context: Integers  # [sequences + 1]
    prefill: Integers  # [budget + 1]
    mixed: Integers  # [budget + 1]
    pair_q10: int  # picoseconds · 1024
    mixed_pair_q10: int

    def __post_init__(self) -> None:
        assert len(self.decode) == len(self.context), "a time for each batch"
        assert len(self.prefill) == len(self.mixed), "a time for each number of tokens"
        assert min(int(self.decode.min()), int(self.context.min()), int(self.mixed.min())) >= 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolSetup:
    """The limits and the pace of the replicas of one pool."""

    times: StepTimes
    max_sequences: int
    budget: int  # tokens of one step
    blocks: int  # of the KV pool
    block_tokens: int
    longest_tokens: int  # a request beyond this is refused
    prefill_first: bool = False  # prompts run in steps of their own, decoding waits (SGLang)
    reserve_q10: int = 0  # share · 1024 of the outputs to come for which blocks are held free
    prefix_cache: bool = False

    def __post_init__(self) -> None:
        assert len(self.times.decode) == self.max_sequences + 1
        assert len(self.times.prefill) == self.budget + 1
        assert self.budget >= self.max_sequences, "every sequence needs its token of the step"


class RouterKind(IntEnum):
    """How requests find a replica."""

    ROUND_ROBIN = 0
    LEAST_LOADED = 1  # fewest requests waiting or running
    AFFINITY = 2  # where the same prefix went, unless that one is much fuller


class Action(IntEnum):
    """What happens to a replica at a given time."""

    START = 0  # it is ready now
    DRAIN = 1  # it gets no more requests and ends when it is empty
    KILL = 2  # it is gone; its requests start anew elsewhere


@dataclass(frozen=True, slots=True)
class Control:
    """An event that is known beforehand."""

    time: int
    replica: int
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSetup:
    """A reactive autoscaler: as many replicas as `target` requests each need, within bounds."""

    interval: int
    target: int
    least: int
    most: int
    start: int  # from the decision until the replica serves
    window: int  # so long must fewer suffice before any is drained


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineSetup:
    """Everything that an engine needs beside the requests."""

    pools: tuple[PoolSetup, ...]  # one, or prefill and decode
    replica_pool: tuple[int, ...]
    replica_up: tuple[bool, ...]
    router: RouterKind
    affinity_slack: int = 32
    users: int = 0  # a closed loop of so many; 0: requests come at their own times
    transfer: int = 0  # of a prompt's cache to the decode pool: fixed part
    transfer_token: int = 0  # and for each token
    scaling: ScalingSetup | None = None
    controls: tuple[Control, ...] = ()
    series_width: int = 1_000_000_000_000
    nodes: int = 0  # distinct pieces of prefix that requests may share
