"""The simulator's clock: whole picoseconds, so that sums of step times are exact.

A 64-bit count lasts 106 days; the engines stop at `LONGEST_PS` with an error.
"""

from typing import Final

from caudal.vocabulary.units import Seconds

PS_PER_SECOND: Final = 1_000_000_000_000
LONGEST_PS: Final = 8_000_000_000_000_000_000  # 92 days, leaving room for one stretch of steps
NEVER: Final = 2**63 - 1


def picoseconds(seconds: float) -> int:
    """Return `seconds` on the simulator's clock, rounded to the nearest."""
    return round(seconds * PS_PER_SECOND)


def seconds(picoseconds_passed: float) -> Seconds:
    """Return a time of the simulator's clock in seconds."""
    return Seconds(picoseconds_passed / PS_PER_SECOND)
