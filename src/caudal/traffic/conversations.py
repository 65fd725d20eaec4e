"""Conversations: each turn's prompt is all that was said before, and what the user adds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caudal.traffic.arrivals import ArrivalClock, Arrivals, UserArrivals
from caudal.traffic.lengths import Length, sample_lengths
from caudal.traffic.requests import PS_PER_SECOND, PrefixTree, RequestTable
from caudal.vocabulary.errors import ContradictoryOptionsError

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns that build on each other, and a beginning that conversations share."""

    turns: int = 1
    think_s: float = 0.0  # mean pause before the next turn, exponentially distributed
    prefix_tokens: int = 0  # of a system prompt, or a shared document
    prefixes: int = 1  # how many different ones there are, each as likely

    def __post_init__(self) -> None:
        assert self.turns >= 1, "a conversation has a turn"
        assert self.prefixes >= 1, "there is a prefix, even an empty one"


def conversation_requests(
    conversation: Conversation,
    arrivals: Arrivals,
    count: int,
    *,
    prompt: Length,
    output: Length,
    rngs: tuple[np.random.Generator, ...],
) -> RequestTable:
    """Return about `count` requests in whole conversations; the rate is that of all requests.

    Raises:
        ContradictoryOptionsError: a closed loop of users, whose turns would be paced twice.
    """
    if isinstance(arrivals, UserArrivals):
        raise ContradictoryOptionsError(
            "Conversations begin at a rate; a closed loop of users paces its own requests.",
            remedy="Give a rate with the conversations, or users without them.",
        )
    when, prompts, outputs, thinks = rngs
    turns = conversation.turns
    talks = max(-(-count // turns), 1)
    starts = ArrivalClock(arrivals, when).next(talks) * turns
    shape = (talks, turns)
    said = sample_lengths(prompt, talks * turns, prompts).reshape(shape).astype(np.int64)
    answers = sample_lengths(output, talks * turns, outputs).reshape(shape).astype(np.int64)
    ends = conversation.prefix_tokens + np.cumsum(said + answers, axis=1)  # [talks, turns]
    group = thinks.integers(0, conversation.prefixes, talks)
    pauses = thinks.standard_exponential(talks * turns) * conversation.think_s
    arrival = np.full(shape, -1, np.int64)
    arrival[:, 0] = np.rint(starts * PS_PER_SECOND)
    following = np.arange(1, talks * turns + 1, dtype=np.int32).reshape(shape)
    following[:, -1] = -1
    shared = conversation.prefix_tokens > 0 and turns == 1
    return RequestTable(
        arrival=arrival.ravel(),
        prompt=(ends - answers).ravel().astype(np.int32),
        output=answers.ravel().astype(np.int32),
        think=np.rint(pauses * PS_PER_SECOND).astype(np.int64),
        following=following.ravel(),
        root=np.repeat(group if shared else np.arange(talks), turns).astype(np.int64),
        prefixes=_tree(conversation, ends, group),
    )


def _tree(
    conversation: Conversation, ends: NDArray[np.int64], group: NDArray[np.int64]
) -> PrefixTree:
    """Return the pieces of each turn: the shared beginning, then every turn up to its own."""
    talks, turns = ends.shape
    pieces = np.arange(turns) + 2  # of each turn: the beginning and the turns so far
    first = np.concatenate([[0], np.cumsum(np.tile(pieces, talks))])
    own = conversation.prefixes + np.arange(talks * turns).reshape(talks, turns)
    nodes = np.concatenate([group[:, None], own], axis=1)  # [talks, turns + 1]
    until = np.concatenate([np.full((talks, 1), conversation.prefix_tokens), ends], axis=1)
    columns = np.concatenate([np.arange(count) for count in pieces])
    return PrefixTree(
        first=first.astype(np.int64),
        node=nodes[:, columns].ravel().astype(np.int32),
        node_end=until[:, columns].ravel().astype(np.int32),
        nodes=conversation.prefixes + talks * turns,
    )
