from dataclasses import replace

import numpy as np
import pytest

from caudal.simulate.compiled import is_compiled
from caudal.simulate.deployment import (
    Autoscaling,
    DecodePool,
    Interruptions,
    Outage,
    prepare,
)
from caudal.simulate.run import simulate
from caudal.traffic.arrivals import UserArrivals
from caudal.traffic.load import PART
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.vocabulary.errors import DoesNotFitError
from caudal.vocabulary.units import BytesPerSecond, Seconds
from simulated_deployments import deployment, gpu, load, model, serving

FEW = 1_500
SLO = Slo((Objective(Metric.TTFT, 0.95, Seconds(1.0)),))


def test_a_calm_deployment_is_judged() -> None:
    run = simulate(deployment(), load(5.0), requests=FEW, slo=SLO)

    assert not run.saturated
    assert run.judgement is not None
    assert run.judgement.request_rate == pytest.approx(5.0, rel=0.1)
    assert run.label == "simulated, 1,500 requests, seed 7"
    assert run.rejected == 0
    assert 0 < run.utilisation <= 1


def test_a_growing_queue_has_no_percentiles_but_a_limit() -> None:
    run = simulate(deployment(), load(200.0), requests=4 * FEW)

    assert run.saturated
    assert run.judgement is None
    assert run.sustainable_rate is not None
    assert 5 < run.sustainable_rate < 200


def test_a_closed_loop_never_saturates() -> None:
    run = simulate(deployment(), load(arrivals=UserArrivals(40)), requests=FEW)

    assert not run.saturated
    assert run.offered_rate is None
    assert run.mean_running + run.mean_waiting == pytest.approx(40, rel=0.1)


def test_the_servers_own_time_is_in_the_first_token() -> None:
    prepared = prepare(deployment(), mean_tokens=(1000.0, 200.0))

    run = simulate(deployment(), load(0.1), requests=200, keep_records=True)

    assert run.records is not None
    assert run.records.queue_s.min() == pytest.approx(prepared.paces[0].first_s, rel=1e-6)


def test_a_request_beyond_the_context_is_refused_and_counted() -> None:
    run = simulate(deployment(context=4096), load(2.0), requests=FEW)

    assert 0 < run.rejected < FEW / 5
    assert run.judgement is not None


def test_a_model_that_leaves_no_room_is_refused() -> None:
    small = replace(deployment(), gpu=gpu("t4"), serving=serving(context=2048))

    with pytest.raises(DoesNotFitError, match="no request"):
        simulate(small, load(1.0), requests=FEW)


def test_an_outage_costs_its_time_and_restarts_its_requests() -> None:
    lost = Outage(replica=0, at_s=Seconds(30.0), lasts_s=Seconds(20.0))
    calm = simulate(deployment(replicas=2), load(10.0), requests=FEW)

    run = simulate(replace(deployment(replicas=2), outages=(lost,)), load(10.0), requests=FEW)

    assert calm.judgement is not None
    assert run.judgement is not None
    hours = calm.replica_hours * run.span_s / calm.span_s
    assert hours - 20 / 3600 == pytest.approx(run.replica_hours, rel=0.02)
    assert run.judgement.mean_e2e_s > calm.judgement.mean_e2e_s


def test_notice_saves_requests_from_being_restarted() -> None:
    def restarted(notice_s: float) -> float:
        lost = Outage(
            replica=0, at_s=Seconds(150.0), lasts_s=Seconds(20.0), notice_s=Seconds(notice_s)
        )
        run = simulate(replace(deployment(replicas=3), outages=(lost,)), load(6.0), requests=FEW)
        assert run.judgement is not None
        return run.judgement.restarted_share

    assert restarted(60.0) == 0
    assert restarted(0.0) > 0


def test_chance_takes_each_replica_about_as_often_as_said() -> None:
    chance = Interruptions(mean_between_s=Seconds(100.0), lasts_s=Seconds(10.0))
    made = replace(deployment(replicas=4), interruptions=chance)

    controls = prepare(made, mean_tokens=(1000.0, 200.0), span_s=11_000.0).setup.controls

    assert 2 * 400 * 0.85 < len(controls) < 2 * 400 * 1.15
    assert sorted(each.time for each in controls) == [each.time for each in controls]


def test_autoscaling_pays_for_fewer_replicas_than_the_most() -> None:
    scaling = Autoscaling(least=1, most=4, target=10, start_s=Seconds(20.0))

    run = simulate(replace(deployment(), autoscaling=scaling), load(10.0), requests=2 * FEW)

    assert run.span_s / 3600 < run.replica_hours < 4 * run.span_s / 3600
    assert run.series.replicas.max() > 1


def test_a_pool_that_only_decodes_is_never_held_up_by_prompts() -> None:
    pool = DecodePool(
        serving=serving(), gpu=gpu(), replicas=1, link_bytes_per_s=BytesPerSecond(50e9)
    )
    together = simulate(deployment(replicas=2), load(20.0), requests=2 * FEW)

    apart = simulate(replace(deployment(), decode=pool), load(20.0), requests=2 * FEW)

    assert apart.judgement is not None
    assert together.judgement is not None
    assert apart.itl_s[0.99] < together.itl_s[0.99]


@pytest.mark.parametrize("name", ["sglang", "llama.cpp"])
def test_other_engines_schedule_in_their_own_way(name: str) -> None:
    setup = prepare(deployment(name=name), mean_tokens=(1000.0, 200.0)).setup

    run = simulate(deployment(name=name), load(1.0), requests=500)

    assert (name == "sglang") == setup.pools[0].prefill_first
    whole = setup.pools[0].max_sequences * setup.pools[0].longest_tokens
    assert (name == "llama.cpp") == (setup.pools[0].blocks == whole)
    assert run.judgement is not None


@pytest.mark.skipif(not is_compiled(), reason="no C compiler built the engine")
def test_a_long_run_stops_once_its_intervals_are_narrow() -> None:
    seen: list[tuple[int, int]] = []
    run = simulate(
        deployment(),
        load(5.0),
        requests=8 * PART,
        slo=SLO,
        narrow=0.1,
        progress=lambda done, total: seen.append((done, total)),
    )

    assert run.requests < 8 * PART
    assert run.judgement is not None
    measured = run.judgement.seconds_of(Metric.TTFT, 0.95)
    assert measured is not None
    assert measured.relative_width <= 0.1
    assert seen[-1] == (run.requests, 8 * PART)


def test_the_series_covers_the_run() -> None:
    run = simulate(deployment(), load(5.0), requests=FEW)

    assert run.series.time_s[-1] <= run.span_s
    assert run.series.running.mean() == pytest.approx(run.mean_running, rel=0.05)
    assert np.all(run.series.kv_share <= 1)


def test_models_are_told_apart_by_what_they_are() -> None:
    assert model() is model()
