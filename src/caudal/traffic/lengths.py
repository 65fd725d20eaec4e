"""How long prompts and answers are: fixed, spread, or as they were measured."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int32]

LONGEST: Final = 10_000_000  # tokens; chosen above every model's context


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Always the same."""

    tokens: int

    @property
    def mean(self) -> float:
        """Return the mean in tokens."""
        return float(self.tokens)


@dataclass(frozen=True, slots=True)
class UniformLength:
    """Any whole number from `low` to `high`, each as likely."""

    low: int
    high: int

    @property
    def mean(self) -> float:
        """Return the mean in tokens."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class LognormalLength:
    """Lognormal with this mean and this ratio of deviation to mean, cut at `most`.

    The cut takes a little off the mean: nothing to speak of where `most` is ten times the mean.
    """

    mean_tokens: float
    variation: float
    most: int = LONGEST

    @property
    def mean(self) -> float:
        """Return the mean in tokens, before the cut."""
        return self.mean_tokens


@dataclass(frozen=True, slots=True)
class ExponentialLength:
    """Geometric, the whole-numbered kin of exponential, with this mean, cut at `most`."""

    mean_tokens: float
    most: int = LONGEST

    @property
    def mean(self) -> float:
        """Return the mean in tokens, before the cut."""
        return self.mean_tokens


@dataclass(frozen=True, slots=True)
class EmpiricalLength:
    """One of the measured lengths, each as likely."""

    values: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Return the mean in tokens."""
        return sum(self.values) / len(self.values)


Length = FixedLength | UniformLength | LognormalLength | ExponentialLength | EmpiricalLength


def sample_lengths(length: Length, count: int, rng: np.random.Generator) -> Counts:
    """Return `count` lengths of at least one token, [count]."""
    match length:
        case FixedLength():
            drawn = np.full(count, length.tokens, np.int64)
        case UniformLength():
            drawn = rng.integers(length.low, length.high + 1, count)
        case LognormalLength():
            spread = log(1 + length.variation**2)
            normal = rng.standard_normal(count)
            middle = log(length.mean_tokens) - spread / 2
            drawn = np.rint(np.exp(middle + sqrt(spread) * normal)).clip(1, length.most)
        case ExponentialLength():
            drawn = rng.geometric(1 / max(length.mean_tokens, 1.0), count).clip(1, length.most)
        case EmpiricalLength():
            drawn = np.array(length.values, np.int64)[rng.integers(0, len(length.values), count)]
        case _:
            assert_never(length)
    return np.maximum(drawn, 1).astype(np.int32)
