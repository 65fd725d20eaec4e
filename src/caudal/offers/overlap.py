"""Where two sources price the same thing: which row is offered, and where they disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caudal.offers.table import Flags, OfferTable

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class Overlap:
    """The rows of a book that another source prices too; rows count through all its parts."""

    offered: Flags  # [rows] false where a later observation replaces the row
    losers: Rows  # [replaced]
    winners: Rows  # [replaced] the row that replaces each loser

    @cached_property
    def rival_of(self) -> Mapping[int, int]:
        """Return, for each winner, the row that it replaces, the latest of several."""
        pairs = zip(self.winners.tolist()[::-1], self.losers.tolist()[::-1], strict=True)
        return dict(pairs)

    @cached_property
    def winner_of(self) -> Mapping[int, int]:
        """Return, for each replaced row, what replaces it."""
        return dict(zip(self.losers.tolist(), self.winners.tolist(), strict=True))


def overlap_of(tables: Sequence[OfferTable]) -> Overlap:
    """Return which rows are replaced.

    Of rows with the same key (`instance_keys`) those of one part are offered: of the part that
    saw it last, the first of equals. Within one source a name may stand for several
    configurations: all are kept.
    """
    size = sum(table.size for table in tables)
    none = np.array([], dtype=np.intp)
    everything = np.ones(size, dtype=np.bool_)
    if len(tables) < 2:
        return Overlap(offered=everything, losers=none, winners=none)
    keys = np.concatenate([table.keys() for table in tables])
    parts = np.repeat(np.arange(len(tables)), [table.size for table in tables])
    named = np.flatnonzero(keys)
    days = np.concatenate([table.number("observed_on") for table in tables])[named]
    order = named[np.lexsort((parts[named], -days, keys[named]))]
    sorted_keys = keys[order]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = sorted_keys[1:] != sorted_keys[:-1]
    winner = order[np.flatnonzero(first)][np.cumsum(first) - 1] if order.size else order
    lost = parts[order] != parts[winner]
    offered = everything
    offered[order[lost]] = False
    return Overlap(offered=offered, losers=order[lost], winners=winner[lost])
