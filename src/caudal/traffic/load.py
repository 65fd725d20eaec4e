"""A load and a seed give requests: the same every time, and comparable between loads.

Each kind of chance has its own stream, so that a change of the rate leaves lengths as they are
(common random numbers): two deployments, or two rates, are judged on the same requests.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.traffic.arrivals import ArrivalClock, Arrivals, UserArrivals, at_rate
from caudal.traffic.conversations import Conversation, conversation_requests
from caudal.traffic.lengths import Length, sample_lengths
from caudal.traffic.requests import PS_PER_SECOND, RequestTable
from caudal.traffic.trace import Trace, trace_requests

PART: Final = 131_072  # requests made at a time; chosen: a part's columns fit a processor's cache

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of a deployment: a pattern with lengths, or a recorded trace."""

    arrivals: Arrivals | None = None
    prompt: Length | None = None  # of a conversation's turn: what the user adds
    output: Length | None = None
    conversation: Conversation | None = None
    trace: Trace | None = None
    trace_speed: float = 1.0  # 2: the trace in half its time

    def __post_init__(self) -> None:
        given = [self.arrivals is not None, self.prompt is not None, self.output is not None]
        assert all(given) or (self.trace is not None and not any(given)), "a pattern or a trace"

    @property
    def users(self) -> int:
        """Return the users of a closed loop, 0 for an open one."""
        return self.arrivals.users if isinstance(self.arrivals, UserArrivals) else 0

    @property
    def rate(self) -> float | None:
        """Return the mean rate offered in requests per second, None for a closed loop."""
        if self.trace is not None:
            return self.trace.rate * self.trace_speed
        if isinstance(self.arrivals, UserArrivals) or self.arrivals is None:
            return None
        return self.arrivals.rate

    @property
    def mean_tokens(self) -> tuple[float, float]:
        """Return the mean prompt and output of a request, the conversation before it included."""
        if self.trace is not None:
            return self.trace.mean_tokens
        assert self.prompt is not None and self.output is not None, "checked above"  # noqa: PT018
        prompt, output = self.prompt.mean, self.output.mean
        if self.conversation is None:
            return prompt, output
        turns = self.conversation.turns
        return self.conversation.prefix_tokens + prompt + (turns - 1) / 2 * (
            prompt + output
        ), output

    @property
    def comes_in_parts(self) -> bool:
        """Return whether requests can be made part by part, however many there are."""
        return self.trace is None and self.conversation is None

    def at(self, rate: float) -> "Load":
        """Return the same load at another rate, or with so many users."""
        if self.trace is not None:
            return replace(self, trace_speed=rate / self.trace.rate)
        assert self.arrivals is not None, "checked above"
        return replace(self, arrivals=at_rate(self.arrivals, rate))


def sample_requests(load: Load, count: int, *, seed: int) -> RequestTable:
    """Return about `count` requests: whole conversations, and of a trace no more than it has."""
    if load.trace is not None:
        return trace_requests(load.trace, count, speed=load.trace_speed)
    if load.conversation is not None:
        assert load.prompt is not None and load.output is not None, "a pattern"  # noqa: PT018
        assert load.arrivals is not None, "a pattern"
        return conversation_requests(
            load.conversation,
            load.arrivals,
            count,
            prompt=load.prompt,
            output=load.output,
            rngs=_generators(seed),
        )
    return next(request_parts(load, count, seed=seed, part=count))


def request_parts(load: Load, count: int, *, seed: int, part: int = PART) -> Iterator[RequestTable]:
    """Yield `count` requests in parts; memory holds one part."""
    assert load.comes_in_parts, "conversations and traces come in one piece"
    assert load.arrivals is not None, "a pattern"
    assert load.prompt is not None and load.output is not None, "a pattern"  # noqa: PT018
    when, prompts, outputs, thinks = _generators(seed)
    closed = load.arrivals if isinstance(load.arrivals, UserArrivals) else None
    clock = None if isinstance(load.arrivals, UserArrivals) else ArrivalClock(load.arrivals, when)
    for start in range(0, max(count, 1), part):
        size = min(part, count - start)
        think = np.zeros(size, np.int64)
        if closed is not None:
            think = picoseconds_of(thinks.standard_exponential(size) * closed.think_s)
        yield RequestTable(
            arrival=think if clock is None else picoseconds_of(clock.next(size)),
            prompt=sample_lengths(load.prompt, size, prompts),
            output=sample_lengths(load.output, size, outputs),
            think=think,
        )


def picoseconds_of(seconds: NDArray[np.float64]) -> Integers:
    """Return times on the simulator's clock."""
    return np.asarray(np.rint(seconds * PS_PER_SECOND), np.int64)


def _generators(seed: int) -> tuple[np.random.Generator, ...]:
    """Return a generator each for arrivals, prompts, outputs and pauses."""
    return tuple(np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(4))
