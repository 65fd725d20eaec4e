"""When requests come: at random, in bursts, over a day, or as users get their answers."""

from dataclasses import dataclass, field, replace
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class PoissonArrivals:
    """Independent arrivals at a constant rate."""

    rate: float  # requests per second


@dataclass(frozen=True, slots=True)
class BurstyArrivals:
    """Gamma-distributed gaps; `variation` is their deviation over their mean, 1 for Poisson."""

    rate: float
    variation: float


@dataclass(frozen=True, slots=True)
class DailyArrivals:
    """Poisson at a rate that follows the hours, linear between their beginnings."""

    rate: float  # mean over the day
    hours: tuple[float, ...]  # relative rates at the beginning of each hour of the day

    def __post_init__(self) -> None:
        assert len(self.hours) == 24, "a day has 24 hours"
        assert min(self.hours) >= 0, "a rate is not negative"
        assert sum(self.hours) > 0, "a day without requests"


@dataclass(frozen=True, slots=True)
class UserArrivals:
    """A closed loop: each user thinks, asks, and waits for the answer."""

    users: int
    think_s: float = 0.0  # mean, exponentially distributed


Arrivals = PoissonArrivals | BurstyArrivals | DailyArrivals | UserArrivals


def at_rate(arrivals: Arrivals, rate: float) -> Arrivals:
    """Return the same pattern at another rate, or with as many users."""
    match arrivals:
        case UserArrivals():
            return replace(arrivals, users=max(round(rate), 1))
        case PoissonArrivals() | BurstyArrivals() | DailyArrivals():
            return replace(arrivals, rate=rate)
        case _:
            assert_never(arrivals)


@dataclass(slots=True)
class ArrivalClock:
    """Arrivals part by part; the same seed gives the same ones at every rate, scaled."""

    arrivals: PoissonArrivals | BurstyArrivals | DailyArrivals
    rng: np.random.Generator
    passed: float = field(default=0.0)  # in gaps of mean one

    def next(self, count: int) -> Floats:
        """Return the next `count` arrivals in seconds, [count]."""
        match self.arrivals:
            case BurstyArrivals(_, variation) if variation != 1.0:
                shape = 1 / variation**2
                gaps = self.rng.standard_gamma(shape, count) / shape
            case _:
                gaps = self.rng.standard_exponential(count)
        expected = self.passed + np.cumsum(gaps)
        if count:
            self.passed = float(expected[-1])
        if isinstance(self.arrivals, DailyArrivals):
            return _through_the_day(expected, self.arrivals)
        return np.asarray(expected / self.arrivals.rate)


def _through_the_day(expected: Floats, day: DailyArrivals) -> Floats:
    """Return when so many requests are expected to have come: the inverse of the rate's integral.

    Within an hour the rate is linear, so its integral is found on a grid of minutes.
    """
    hours = np.array([*day.hours, day.hours[0]]) / np.mean(day.hours) * day.rate
    minutes = np.linspace(0.0, 24.0, 24 * 60 + 1)
    rates = np.interp(minutes, np.arange(25.0), hours)
    steps = (rates[1:] + rates[:-1]) / 2 * (SECONDS_PER_HOUR / 60)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    days = np.floor(expected / total[-1])
    inside = np.interp(expected - days * total[-1], total, minutes * SECONDS_PER_HOUR)
    return np.asarray(days * 24 * SECONDS_PER_HOUR + inside)
