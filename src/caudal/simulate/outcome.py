"""What an engine gives back: records, counts, gaps between tokens, and series over time."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

GAP_BINS: Final = 4096
SERIES_BINS: Final = 512

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def gap_bin(gap: int) -> int:
    """Return the bin of a gap in picoseconds: 64 a power of two, so within 1.6 %."""
    if gap < 64:
        return gap
    bits = gap.bit_length() - 1
    return (bits - 5) * 64 + (gap >> (bits - 6) & 63)


def gap_bin_middles() -> Floats:
    """Return the middle of each bin in seconds, [GAP_BINS]."""
    at = np.arange(GAP_BINS)
    bits = np.maximum(at // 64 + 5, 6).astype(np.float64)
    width = np.exp2(bits - 6)
    middle = np.where(at < 64, at + 0.5, np.exp2(bits) + (at % 64 + 0.5) * width)
    return np.asarray(middle * 1e-12)


def _zeros() -> Floats:
    return np.zeros(SERIES_BINS)


@dataclass(slots=True, eq=False)
class Series:
    """Sums over time in bins of `width` picoseconds, which double when time runs out of them."""

    width: int
    waiting: Floats = field(default_factory=_zeros)  # [SERIES_BINS], picoseconds times count
    running: Floats = field(default_factory=_zeros)
    blocks: Floats = field(default_factory=_zeros)
    up: Floats = field(default_factory=_zeros)

    def add(
        self, start: int, end: int, *, waiting: int, running: int, blocks: int, up: int
    ) -> None:
        """Count values that held from `start` to `end`."""
        while end > self.width * SERIES_BINS:
            self._widen()
        at = start // self.width
        while start < end:
            until = min((at + 1) * self.width, end)
            self.waiting[at] += waiting * (until - start)
            self.running[at] += running * (until - start)
            self.blocks[at] += blocks * (until - start)
            self.up[at] += up * (until - start)
            start = until
            at += 1

    def _widen(self) -> None:
        for values in (self.waiting, self.running, self.blocks, self.up):
            values[: SERIES_BINS // 2] = values[::2] + values[1::2]
            values[SERIES_BINS // 2 :] = 0
        self.width *= 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What happened in a run; times in picoseconds."""

    records: NDArray[np.void]  # of type RECORD, in the order of the requests
    finished: int
    rejected: int
    prefill_tokens: int  # computed, recomputed ones included
    decode_tokens: int  # emitted, those of restarted requests included
    preemptions: int
    steps: int
    end: int
    used_blocks: int  # at the end: 0 where nothing was lost
    evictable_blocks: int
    waiting_area_s: float  # requests · seconds
    running_area_s: float
    gaps: Integers  # [GAP_BINS] tokens whose gap to the one before lies in the bin
    series: Series
    up_ps: Integers  # [replicas]
    busy_ps: Integers  # [replicas]
