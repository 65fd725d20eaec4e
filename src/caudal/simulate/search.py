"""The most that a deployment carries within its SLO, and how it does at every rate below.

Every rate is tried on the same requests, only closer together (common random numbers), so that
the curve is smooth and the search sees the rate's effect, not chance.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from caudal.simulate.deployment import Deployment, prepare
from caudal.simulate.run import REQUESTS, SEED, Simulation, simulate, sustainable_rate
from caudal.traffic.load import Load
from caudal.traffic.slo import Objective, Slo

TOLERANCE: Final = 0.01  # chosen: below what 20,000 requests can tell apart
_MOST_TRIALS: Final = 24
_FEWEST_USERS: Final = 1
_CURVE_POINTS: Final = 12
_SAME: Final = 0.002  # of the whole range: two rates so close are one point of a curve

Trial = Callable[[int, Simulation], None]  # after each run: how many so far


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityPoint:
    """One rate (or number of users) and how it went."""

    rate: float
    simulation: Simulation
    missed: tuple[Objective, ...]  # objectives that were not kept; all where saturated

    @property
    def keeps(self) -> bool:
        """Return whether every objective is kept."""
        return not self.simulation.saturated and not self.missed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capacity:
    """The highest rate (or number of users) within the SLO; None where none is."""

    by_users: bool
    best: CapacityPoint | None
    limit: CapacityPoint | None  # the lowest rate tried that misses
    sustainable_rate: float  # of requests per second, whatever the latency
    points: tuple[CapacityPoint, ...]  # every rate tried, ascending


def missed_objectives(simulation: Simulation, slo: Slo) -> tuple[Objective, ...]:
    """Return the objectives that a run did not keep, by their value, not its interval."""
    judged = simulation.judgement
    if judged is None:
        return slo.objectives
    missed = []
    for objective in slo.objectives:
        seconds = judged.seconds_of(objective.metric, objective.percentile)
        if seconds is not None and seconds.value > objective.at_most_s:
            missed.append(objective)
    return tuple(missed)


def find_capacity(
    deployment: Deployment,
    load: Load,
    slo: Slo,
    *,
    requests: int = REQUESTS,
    seed: int = SEED,
    tolerance: float = TOLERANCE,
    curve: int = _CURVE_POINTS,
    on_trial: Trial | None = None,
) -> Capacity:
    """Return the highest rate within `slo`, by bisection between none and what can be sustained.

    For a closed loop the number of users is sought. Without objectives the rate just below
    saturation is found. `curve` more rates are run over the whole range.

    Raises:
        DoesNotFitError: the model leaves no room for a request.
        NoSpeedError: the GPU's maker publishes no rate that the speed formulas need.
    """
    tried: dict[float, CapacityPoint] = {}

    def trial(rate: float) -> CapacityPoint:
        if rate not in tried:
            run = simulate(deployment, load.at(rate), requests=requests, seed=seed, slo=slo)
            tried[rate] = CapacityPoint(
                rate=rate, simulation=run, missed=missed_objectives(run, slo)
            )
            if on_trial is not None:
                on_trial(len(tried), run)
        return tried[rate]

    setup = prepare(deployment, mean_tokens=load.mean_tokens, seed=seed).setup
    most = float(sustainable_rate(setup, load, seed=seed))
    by_users = load.users > 0
    top = (
        _most_users(trial, setup.pools[0].max_sequences * deployment.replicas) if by_users else most
    )
    _bisect(trial, top, tolerance=tolerance, whole=by_users)
    for rate in _rates(list(tried), top, curve, whole=by_users):
        trial(rate)
    points = tuple(sorted(tried.values(), key=lambda point: point.rate))
    broken = next((at for at, point in enumerate(points) if not point.keeps), len(points))
    return Capacity(
        by_users=by_users,
        best=points[broken - 1] if broken else None,
        limit=points[broken] if broken < len(points) else None,
        sustainable_rate=most,
        points=points,
    )


def _most_users(trial: Callable[[float], CapacityPoint], slots: int) -> float:
    """Return a number of users that is too many, or four times the slots where none is."""
    users = float(_FEWEST_USERS)
    while users < 4 * slots and trial(users).keeps:
        users *= 2
    return users


def _bisect(
    trial: Callable[[float], CapacityPoint], top: float, *, tolerance: float, whole: bool
) -> None:
    """Narrow the boundary between rates that keep the SLO and rates that do not."""
    if top <= 0 or trial(top).keeps:
        return
    low, high = 0.0, top
    for _ in range(_MOST_TRIALS):
        if high - low <= (1 if whole else tolerance * high):
            break
        middle = (low + high) / 2
        if whole:
            middle = float(max(round(middle), _FEWEST_USERS))
            if middle in {low, high}:
                break
        elif middle < top * 1e-3:
            break
        if trial(middle).keeps:
            low = middle
        else:
            high = middle


def _rates(tried: Iterable[float], top: float, count: int, *, whole: bool) -> list[float]:
    """Return evenly spaced rates up to a little more than can be sustained."""
    if top <= 0:
        return []
    rates = [top * 1.05 * (at + 1) / count for at in range(count)]
    if whole:
        rates = [float(max(round(rate), _FEWEST_USERS)) for rate in rates]
    known = list(tried)
    return [
        rate
        for rate in dict.fromkeys(rates)
        if all(abs(rate - other) > _SAME * top for other in known)
    ]
