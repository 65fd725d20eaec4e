"""The ranking's best under simulated load: what the closed forms pass is tried before it is shown.

Candidates are taken in order of price. One that misses a bound in the simulation comes back with
more replicas, at its new price, so that the list stays one of the cheapest ways that hold.
"""

from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf

from caudal.facts.model import ModelSpec
from caudal.plan.candidate import Candidate
from caudal.plan.gates import GateCount
from caudal.plan.misses import simulated_miss
from caudal.plan.ranking import Hosted, Key, Ranking
from caudal.simulate.compiled import is_compiled
from caudal.simulate.run import Simulation
from caudal.simulate.verify import verify_plan
from caudal.traffic.slo import Slo
from caudal.traffic.workload import Mode, Workload

REQUESTS = 10_000  # chosen: p95 within some 5 % of the long run's, in about 10 ms
RUNS_A_ROW = 3  # chosen: so many simulations are spent for each row shown


@dataclass(frozen=True, slots=True)
class Verified:
    """One way to serve, and how it did; without a simulation where none could be run."""

    hosted: Hosted
    simulation: Simulation | None


def verified(
    ranking: Ranking,
    *,
    model: ModelSpec,
    workload: Workload,
    slo: Slo,
    most: int,
    simulated: int,
    gate: GateCount,
) -> tuple[Verified, ...]:
    """Return at most `most` ways, cheapest first, each GPU, precision and provider once.

    The first `simulated` are tried under load. Batch work has nothing to verify; without the
    compiled simulator, and for the rest of a long list, the closed forms stand.
    """
    if workload.mode is Mode.BATCH or not is_compiled():
        return tuple(Verified(hosted, None) for hosted in islice(ranking.first_of_each(), most))
    tried = _tried(ranking, model, workload, slo, most=min(most, simulated), gate=gate)
    ways = sorted(tried.values(), key=lambda way: way.hosted.order)
    if len(ways) < simulated:  # what is missing did not hold
        return tuple(ways)
    last = ways[-1].hosted.order
    dearer = (
        Verified(hosted, None)
        for hosted in ranking.first_of_each()
        if hosted.key not in tried and hosted.order > last
    )
    return (*ways, *islice(dearer, most - len(ways)))


def _tried(
    ranking: Ranking,
    model: ModelSpec,
    workload: Workload,
    slo: Slo,
    *,
    most: int,
    gate: GateCount,
) -> dict[Key, Verified]:
    """Return the cheapest ways that hold under simulated load, in the order found."""
    waiting = [(hosted.order, at, hosted) for at, hosted in enumerate(ranking.hosted)]
    heapify(waiting)
    found: dict[Key, Verified] = {}
    runs: dict[tuple[int, str, int], Simulation] = {}
    last: tuple[Candidate, Simulation] | None = None
    while waiting and len(found) < most and len(runs) < RUNS_A_ROW * most:
        _, at, hosted = heappop(waiting)
        if hosted.key in found:
            continue
        candidate = hosted.candidate
        key = (id(candidate.shape), candidate.gpu.id, candidate.replicas)
        if key not in runs:
            runs[key] = verify_plan(
                model,
                candidate.shape.serving,
                candidate.gpu,
                replicas=candidate.replicas,
                workload=workload,
                slo=slo,
                requests=REQUESTS,
            )
        if holds(runs[key], slo):
            found[hosted.key] = Verified(hosted, runs[key])
            gate.reached += 1
            continue
        last = candidate, runs[key]
        more = candidate.with_more()
        again = hosted.with_candidate(more) if more is not None else None
        if again is not None:
            heappush(waiting, (again.order, at, again))
            continue
        _reject(gate, candidate, runs[key], slo)
    if last is not None and not found and waiting:  # the runs are spent, and none held
        _reject(gate, *last, slo)
    return found


def _reject(gate: GateCount, candidate: Candidate, simulation: Simulation, slo: Slo) -> None:
    gate.reached += 1
    gate.reject(
        1,
        score=worst_ratio(simulation, slo),
        describe=partial(simulated_miss, candidate, simulation, slo),
    )


def holds(simulation: Simulation, slo: Slo) -> bool:
    """Return whether every objective was kept; never where the queue grows without end."""
    return worst_ratio(simulation, slo) <= 1


def worst_ratio(simulation: Simulation, slo: Slo) -> float:
    """Return the largest simulated ÷ allowed, infinite where the queue grows without end."""
    if simulation.judgement is None:
        return inf
    measured = [
        (simulation.judgement.seconds_of(bound.metric, bound.percentile), bound.at_most_s)
        for bound in slo.objectives
    ]
    return max((got.value / most for got, most in measured if got is not None), default=0.0)
