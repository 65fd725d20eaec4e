"""Requests as columns: when each comes, how long it is, and what it shares with others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Counts = NDArray[np.int32]

PS_PER_SECOND = 1_000_000_000_000  # arrivals are whole picoseconds: the simulator's clock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrefixTree:
    """Which pieces of its prompt each request shares with others.

    Request `i` begins with the nodes `node[first[i]:first[i + 1]]`; the j-th of them ends after
    `node_end` tokens of the request. Two requests share tokens where they begin with the same
    nodes. The last node of a conversation's turn covers its answer too.
    """

    first: Integers  # [requests + 1]
    node: Counts  # [sum of pieces]
    node_end: Counts
    nodes: int  # how many there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestTable:
    """Requests in the order of their arrival; every array is [requests].

    A request whose `arrival` is -1 comes `think` after the end of the one that names it in
    `following`; in a closed loop, after the end of whichever user asks next.
    """

    arrival: Integers  # picoseconds
    prompt: Counts
    output: Counts
    think: Integers  # picoseconds
    following: Counts | None = None  # the next turn of the conversation, -1 for none
    root: Integers | None = None  # what affinity routing goes by, -1 for nothing
    prefixes: PrefixTree | None = None

    def __post_init__(self) -> None:
        count = len(self.arrival)
        assert len(self.prompt) == len(self.output) == len(self.think) == count
        assert count == 0 or min(int(self.prompt.min()), int(self.output.min())) >= 1

    def __len__(self) -> int:
        return len(self.arrival)

    def part(self, start: int, stop: int) -> "RequestTable":
        """Return the requests from `start` to `stop`; for tables without conversations."""
        assert self.following is None, "a conversation cannot be cut"
        assert self.prefixes is None, "shared prefixes cannot be cut"
        return RequestTable(
            arrival=self.arrival[start:stop],
            prompt=self.prompt[start:stop],
            output=self.output[start:stop],
            think=self.think[start:stop],
            root=None if self.root is None else self.root[start:stop],
        )

    def then(self, later: "RequestTable") -> "RequestTable":
        """Return these requests and then those of `later`; for tables without conversations."""
        assert self.following is None, "a conversation cannot be joined"
        assert later.following is None, "a conversation cannot be joined"
        return RequestTable(
            arrival=np.concatenate([self.arrival, later.arrival]),
            prompt=np.concatenate([self.prompt, later.prompt]),
            output=np.concatenate([self.output, later.output]),
            think=np.concatenate([self.think, later.think]),
        )
