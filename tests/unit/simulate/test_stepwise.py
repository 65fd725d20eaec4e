from collections.abc import Callable

import pytest

from caudal.simulate.compiled import is_compiled, run_compiled
from caudal.simulate.outcome import Outcome, gap_bin, gap_bin_middles
from caudal.simulate.refusals import NothingServesError, RunTooLongError
from caudal.simulate.setup import Action, Control, EngineSetup
from caudal.simulate.stepwise import run_stepwise
from caudal.traffic.requests import RequestTable
from simulator_cases import MILLISECOND, pool, requests, setup, step_times

Engine = Callable[[EngineSetup, RequestTable], Outcome]
ENGINES: list[Engine] = [run_stepwise, *([run_compiled] if is_compiled() else [])]
engines = pytest.mark.parametrize("run", ENGINES)


def one(prompt: int, output: int) -> RequestTable:
    table = requests(1)
    table.arrival[0], table.prompt[0], table.output[0] = 0, prompt, output
    return table


@engines
def test_a_lone_request_takes_its_prompt_and_its_steps(run: Engine) -> None:
    outcome = run(setup(), one(10, 4))

    record = outcome.records[0]
    prompt = round(8.5 * MILLISECOND) + 10 * 10 * 500 // 2
    step = round(10.02 * MILLISECOND)
    assert record["first"] == prompt
    assert record["finish"] == prompt + 3 * step + 30_000 * (11 + 12 + 13)
    assert outcome.steps == 4


@engines
def test_a_long_prompt_is_cut_where_the_budget_ends(run: Engine) -> None:
    limits = pool(budget=8, blocks=100)
    outcome = run(setup(limits), one(20, 1))

    assert outcome.steps == 3
    assert outcome.prefill_tokens == 20


@engines
def test_the_last_to_come_is_preempted_and_computed_anew(run: Engine) -> None:
    table = requests(2)
    table.arrival[:] = 0
    table.prompt[:] = 16
    table.output[:] = 20
    limits = pool(blocks=12)

    outcome = run(setup(limits), table)

    assert [0, 1] == outcome.records["preempted"].tolist()
    assert outcome.records["finish"][0] < outcome.records["finish"][1]
    assert outcome.prefill_tokens > 32


def lost_for_good() -> EngineSetup:
    return setup(controls=(Control(MILLISECOND, 0, Action.KILL),))


@engines
def test_a_request_that_nobody_will_serve_is_an_error(run: Engine) -> None:
    with pytest.raises(NothingServesError, match="requests wait"):
        run(lost_for_good(), requests(3))


@engines
def test_a_run_beyond_the_clock_is_an_error(run: Engine) -> None:
    slow = step_times(sequences=1, budget=64, decode_ms=1e9)
    limits = pool(sequences=1, blocks=10_000, longest=40_000, times=slow)

    with pytest.raises(RunTooLongError, match="92 days"):
        run(setup(limits), one(10, 30))


def test_bins_of_gaps_are_narrow_and_in_order() -> None:
    middles = gap_bin_middles()

    for gap in (0, 1, 63, 64, 65, 127, 128, 1000, 10**9, 10**12, 10**15):
        middle = middles[gap_bin(gap)] * 1e12
        assert gap == pytest.approx(middle, rel=0.01, abs=1)
    assert all(gap_bin(gap) <= gap_bin(gap + 1) for gap in range(1000))
