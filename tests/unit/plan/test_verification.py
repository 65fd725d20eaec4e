from dataclasses import replace

import pytest

from caudal.plan.gates import Gates
from caudal.plan.question import Traffic, Wishes
from caudal.plan.ranking import rank
from caudal.plan.report import Gate
from caudal.plan.search import GpuRow, Search
from caudal.plan.verification import verified
from caudal.simulate.compiled import is_compiled
from caudal.simulate.verify import verify_plan
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.vocabulary.units import RequestsPerSecond, Seconds
from plan_cases import HEADLINE, HEADLINE_SLO, answer, book, few_gpus, question

pytestmark = pytest.mark.skipif(
    not is_compiled(), reason="without a C compiler the closed forms stand: nothing to verify"
)
WISHES = Wishes(gpus=few_gpus("h100-sxm", "mi300x"), precisions=("fp8",), top=3)


def test_every_row_says_how_it_was_simulated() -> None:
    report = answer(question(wishes=WISHES))

    assert report.rows
    assert {row.operation.simulated for row in report.rows} == {
        "simulated, 10,000 requests, seed 7"
    }


def test_the_latency_of_a_row_is_what_the_simulator_finds() -> None:
    asked = question(wishes=WISHES)
    row = answer(asked).rows[0]

    again = verify_plan(
        asked.model,
        row.serving,
        row.gpu,
        replicas=row.operation.replicas,
        workload=asked.workload,
        slo=asked.slo,
        requests=10_000,
    )

    assert again.judgement is not None
    for latency in row.operation.latencies:
        measured = again.judgement.seconds_of(latency.metric, latency.percentile)
        assert measured is not None
        assert latency.seconds.value == pytest.approx(measured.value)


def test_what_fails_in_the_simulation_comes_back_with_more_replicas() -> None:
    """A bound that the closed form just keeps and the simulation does not."""
    one = Wishes(gpus=few_gpus("h100-sxm"), precisions=("fp8",), kv_precisions=("bf16",), top=1)
    tight = tuple(
        Objective(bound.metric, bound.percentile, Seconds(bound.at_most_s * scale))
        for bound, scale in zip(HEADLINE_SLO, (1.0, 0.8), strict=True)
    )

    for rate in (3.0, 5.0, 7.0):
        traffic = replace(HEADLINE, rate=RequestsPerSecond(rate))
        report = answer(question(traffic=traffic, objectives=tight, wishes=one))

        assert all(latency.kept for row in report.rows for latency in row.operation.latencies)


def test_what_no_allowed_number_of_gpus_mends_is_told() -> None:
    asked = question(wishes=Wishes(gpus=few_gpus("h100-sxm", counts=(4,)), precisions=("fp8",)))
    gates = Gates()
    search = Search(asked, gates, tuple(GpuRow(s, (4,), 2.0) for s in asked.gpus[0].specs))
    search.run()
    ranking = rank(search.found, book().select(asked.offers), gates=gates, budget_usd=None)
    impossible = Slo((Objective(Metric.TTFT, 0.95, Seconds(0.001)),))

    ways = verified(
        ranking,
        model=asked.model,
        workload=asked.workload,
        slo=impossible,
        most=1,
        simulated=1,
        gate=gates[Gate.SIMULATION],
    )

    told = gates[Gate.SIMULATION].report()
    assert ways == ()
    assert told.fell == told.reached > 0
    assert told.nearest is not None
    assert "simulated" in told.nearest.reason


def test_batch_work_is_not_simulated() -> None:
    report = answer(
        question("qwen3-8b", traffic=Traffic(tokens_per_day=5e6, batch=True), objectives=())
    )

    assert {row.operation.simulated for row in report.rows} == {None}


def test_runs_that_are_spent_without_a_row_name_a_miss() -> None:
    asked = question(wishes=Wishes(gpus=few_gpus("h100-sxm"), precisions=("fp8",)))
    gates = Gates()
    search = Search(asked, gates, tuple(GpuRow(s, None, 2.0) for s in asked.gpus[0].specs))
    search.run()
    ranking = rank(search.found, book().select(asked.offers), gates=gates, budget_usd=None)

    ways = verified(
        ranking,
        model=asked.model,
        workload=asked.workload,
        slo=Slo((Objective(Metric.TTFT, 0.95, Seconds(0.001)),)),
        most=1,
        simulated=1,
        gate=gates[Gate.SIMULATION],
    )

    told = gates[Gate.SIMULATION].report()
    assert ways == ()
    assert told.fell == told.reached > 0
