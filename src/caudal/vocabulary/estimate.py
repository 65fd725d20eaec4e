"""A predicted number with its range and what it rests on."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """What a number rests on, strongest first."""

    EXACT = "exact"  # arithmetic on facts, such as tensor shapes times bytes
    MEASURED = "measured"  # a measurement of the very thing asked about
    CALIBRATED = "calibrated"  # a formula whose constants were fitted to measurements
    ROOFLINE = "roofline"  # a formula over makers' figures, no measurement of the kind at hand
    ASSUMED = "assumed"  # a stated rule of thumb


_STRENGTH = {basis: rank for rank, basis in enumerate(Basis)}


def weaker(*bases: Basis) -> Basis:
    """Return the weakest of `bases`: what a combined number rests on."""
    return max(bases, key=_STRENGTH.__getitem__)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with an 80 % interval, in the unit that its name carries where it stands."""

    value: float
    low: float
    high: float
    basis: Basis

    def __post_init__(self) -> None:
        assert self.low <= self.value <= self.high, f"disordered estimate: {self}"

    @classmethod
    def exact(cls, value: float) -> "Estimate":
        """Return `value` without a range."""
        return cls(value, value, value, Basis.EXACT)

    @classmethod
    def within(cls, value: float, factor: float, basis: Basis) -> "Estimate":
        """Return `value` (0 or more) between `value / factor` and `value * factor`."""
        assert factor >= 1, f"a range needs a factor of 1 or more: {factor}"
        assert value >= 0, f"a range by factor needs a value of 0 or more: {value}"
        return cls(value, value / factor, value * factor, basis)

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.value + other.value,
            self.low + other.low,
            self.high + other.high,
            weaker(self.basis, other.basis),
        )

    def rising(self, function: Callable[[float], float]) -> "Estimate":
        """Return the estimate of a function that grows with this value."""
        return Estimate(function(self.value), function(self.low), function(self.high), self.basis)

    def falling(self, function: Callable[[float], float]) -> "Estimate":
        """Return the estimate of a function that shrinks as this value grows."""
        return Estimate(function(self.value), function(self.high), function(self.low), self.basis)
