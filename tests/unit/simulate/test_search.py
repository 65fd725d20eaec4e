from dataclasses import replace

import pytest

from caudal.simulate.search import find_capacity, missed_objectives
from caudal.simulate.verify import verify_plan
from caudal.traffic.arrivals import UserArrivals
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens
from simulated_deployments import deployment, gpu, load, model, serving

FEW = 1_500
SLO = Slo((Objective(Metric.TTFT, 0.95, Seconds(0.6)), Objective(Metric.TPOT, 0.95, Seconds(0.03))))


def test_the_best_rate_keeps_the_slo_and_the_next_does_not() -> None:
    trials: list[int] = []

    found = find_capacity(
        deployment(), load(), SLO, requests=FEW, curve=4, on_trial=lambda n, _: trials.append(n)
    )

    assert found.best is not None
    assert found.limit is not None
    assert found.best.keeps
    assert not found.limit.keeps
    assert found.best.rate < found.limit.rate <= found.best.rate * 1.02
    assert found.limit.rate <= found.sustainable_rate * 1.05
    assert trials == list(range(1, len(found.points) + 1))


def test_a_looser_bound_carries_no_less() -> None:
    loose = Slo(
        tuple(replace(each, at_most_s=Seconds(2 * each.at_most_s)) for each in SLO.objectives)
    )

    first = find_capacity(deployment(), load(), SLO, requests=FEW, curve=0)
    second = find_capacity(deployment(), load(), loose, requests=FEW, curve=0)

    assert first.best is not None
    assert second.best is not None
    assert first.best.rate <= second.best.rate


def test_users_are_sought_in_whole_numbers() -> None:
    asked = load(arrivals=UserArrivals(1))

    found = find_capacity(deployment(), asked, SLO, requests=FEW, curve=3)

    assert found.by_users
    assert found.best is not None
    assert found.limit is not None
    assert found.best.rate == int(found.best.rate)
    assert found.best.rate + 1 == found.limit.rate


def test_an_impossible_bound_is_kept_by_no_rate() -> None:
    never = Slo((Objective(Metric.TPOT, 0.95, Seconds(1e-6)),))

    found = find_capacity(deployment(), load(), never, requests=FEW, curve=2)

    assert found.best is None
    assert found.points[0].missed == never.objectives


def workload(**more: float) -> Workload:
    rate = more.get("rate")
    users = more.get("users")
    mode = Mode.OPEN if rate else Mode.CLOSED if users else Mode.BATCH
    return Workload(
        input_tokens=Tokens(1000),
        output_tokens=Tokens(200),
        mode=mode,
        rate=RequestsPerSecond(rate) if rate else None,
        users=int(users) if users else None,
        context_tokens=Tokens(int(more["context"])) if "context" in more else None,
    )


@pytest.mark.parametrize(
    "more", [{"rate": 5.0}, {"users": 20.0}, {}], ids=["open", "closed", "batch"]
)
def test_a_plans_row_is_verified(more: dict[str, float]) -> None:
    run = verify_plan(
        model(), serving(), gpu(), replicas=1, workload=workload(**more), slo=SLO, requests=FEW
    )

    assert run.judgement is not None
    assert run.label == "simulated, 1,500 requests, seed 7"
    assert run.rejected == 0


def test_the_verification_is_the_same_each_time() -> None:
    first, second = (
        verify_plan(
            model(), serving(), gpu(), replicas=2, workload=workload(rate=8.0), slo=SLO,
            requests=FEW,
        )
        for _ in range(2)
    )  # fmt: skip

    assert first.judgement == second.judgement


def test_a_context_that_leaves_no_room_takes_lengths_as_fixed() -> None:
    asked = workload(rate=2.0, context=1300)

    run = verify_plan(model(), serving(), gpu(), replicas=1, workload=asked, slo=SLO, requests=FEW)

    assert run.rejected == 0
    assert run.judgement is not None
    p50, p99 = (run.judgement.seconds_of(Metric.E2E, each) for each in (0.5, 0.99))
    assert p50 is not None
    assert p99 is not None
    assert p99.value < 1.5 * p50.value


def test_a_saturated_run_misses_everything() -> None:
    run = verify_plan(
        model(), serving(), gpu(), replicas=1, workload=workload(rate=500.0), slo=SLO,
        requests=4 * FEW,
    )  # fmt: skip

    assert run.saturated
    assert SLO.objectives == missed_objectives(run, SLO)
