"""Simulations and capacity searches of a scenario in JSON, with the fields of a scenario file."""

from collections.abc import Callable, Mapping

from caudal.documents.simulation import (
    CapacityDocument,
    SimulateDocument,
    capacity_document,
    run_document,
)
from caudal.facts.model import ModelSpec
from caudal.simulate.run import Simulation, simulate
from caudal.simulate.scenario import Scenario, read_scenario
from caudal.simulate.search import find_capacity
from caudal.traffic.trace import Trace
from caudal.vocabulary.errors import InvalidInputError

Progress = Callable[[int, int], None]  # how much is done, and of how much
USUAL_TRIALS = 22  # how many runs a search takes, about


def scenario_of(document: Mapping[str, object], *, resolve: Callable[[str], ModelSpec]) -> Scenario:
    """Return the scenario that a JSON object states.

    Raises:
        InvalidScenarioError: a field is missing, unknown or out of range.
        InvalidInputError: it names a trace, which would be a file of this machine.
    """
    return read_scenario(document, name="scenario", resolve=resolve, read_trace=_no_trace)


def run_scenario(scenario: Scenario, progress: Progress | None = None) -> SimulateDocument:
    """Return how a scenario went."""
    run = simulate(
        scenario.deployment,
        scenario.load,
        requests=scenario.requests,
        seed=scenario.seed,
        slo=scenario.slo,
        warm_up=scenario.warm_up,
        narrow=scenario.narrow,
        progress=progress,
    )
    return SimulateDocument(runs=(run_document(scenario, run),))


def search_capacity(scenario: Scenario, progress: Progress | None = None) -> CapacityDocument:
    """Return the most that a scenario's deployment carries within its SLO."""

    def tried(runs: int, _: Simulation) -> None:
        if progress is not None:
            progress(runs, max(runs, USUAL_TRIALS))

    found = find_capacity(
        scenario.deployment,
        scenario.load,
        scenario.slo,
        requests=scenario.requests,
        seed=scenario.seed,
        on_trial=tried,
    )
    return capacity_document(scenario, found)


def _no_trace(name: str) -> Trace:
    raise InvalidInputError(
        f"The trace {name[:60]!r} would be a file of the server.",
        remedy="State rates and lengths, or run caudal simulate where the file is.",
    )
