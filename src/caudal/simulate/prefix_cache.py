"""The KV blocks of one replica: what runs, what is cached, and what goes first.

Cached pieces that no running request uses stay until their blocks are needed; the one that was
released longest ago gives up its last blocks first, as vLLM's free list does.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A piece of prefix on one replica."""

    resident: int = 0  # whole blocks of it that are computed
    pins: int = 0  # running requests that use them


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a request's prompt: which one, and after which token it ends."""

    node: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """What of a prompt is cached: `tokens`, in whole blocks, and what using them takes away."""

    tokens: int = 0
    pinned: int = 0  # blocks that could be evicted now and no longer then
    nodes: int = 0


@dataclass(slots=True)
class BlockPool:
    """Counts of blocks; which block is where does not matter."""

    blocks: int
    block_tokens: int
    used: int = 0  # by running requests
    evictable: int = 0  # cached, used by nobody
    nodes: dict[int, Node] = field(default_factory=dict)
    idle: OrderedDict[int, None] = field(default_factory=OrderedDict)  # first out, first

    def blocks_of(self, tokens: int) -> int:
        """Return the blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    @property
    def free(self) -> int:
        """Return the blocks that a request can have, evicting what nobody uses."""
        return self.blocks - self.used

    def take(self, count: int) -> None:
        """Give blocks to a request."""
        self.used += count
        over = self.used + self.evictable - self.blocks
        while over > 0 and self.idle:
            first = next(iter(self.idle))
            node = self.nodes[first]
            gone = min(node.resident, over)
            node.resident -= gone
            self.evictable -= gone
            over -= gone
            if node.resident == 0:
                del self.idle[first]

    def look_up(self, pieces: Sequence[Piece], *, target: int) -> Hit:
        """Return what is cached of a prompt of `target` tokens, never its last token."""
        before = found = pinned = nodes = 0
        for at, piece in enumerate(pieces):
            end = piece.end // self.block_tokens
            node = self.nodes.get(piece.node, Node())
            here = min(node.resident, end - before)
            if here == 0 and end > before:
                break
            if node.pins == 0:
                pinned += node.resident
            nodes = at + 1
            found += here
            if here < end - before:
                break
            before = end
        most = (target - 1) // self.block_tokens
        return Hit(min(found, most) * self.block_tokens, pinned, nodes)

    def pin(self, node_id: int) -> None:
        """Keep a cached piece while a request uses it."""
        node = self.nodes.setdefault(node_id, Node())
        node.pins += 1
        if node.pins == 1 and node.resident > 0:
            del self.idle[node_id]
            self.evictable -= node.resident
            self.used += node.resident

    def unpin(self, node_id: int) -> None:
        """Let go of a piece; the last one to do so leaves it to be evicted."""
        node = self.nodes[node_id]
        node.pins -= 1
        if node.pins == 0 and node.resident > 0:
            self.used -= node.resident
            self.evictable += node.resident
            self.idle[node_id] = None

    def publish(self, pieces: Sequence[Piece], *, computed: int, pinned: int) -> tuple[int, int]:
        """Cache what a request has computed; return its pieces pinned now, and blocks given.

        A piece that another request computed meanwhile stays double: the request keeps its own.
        """
        before = given = 0
        for at, piece in enumerate(pieces):
            end = piece.end // self.block_tokens
            have = min(piece.end, computed) // self.block_tokens - before
            node = self.nodes.setdefault(piece.node, Node())
            if at >= pinned:
                if (have <= 0 and end > before) or node.resident > 0 or node.pins > 0:
                    break
                node.pins = 1
                pinned = at + 1
            if have > node.resident:
                given += have - node.resident
                node.resident = have
            if piece.end > computed:
                break
            before = end
        return pinned, given
