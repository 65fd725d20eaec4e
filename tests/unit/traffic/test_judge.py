import numpy as np
import pytest

from caudal.traffic.judge import Judge, Measured, gap_percentiles, within
from caudal.traffic.records import RECORD, Records
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.vocabulary.units import Seconds

SECOND = 10**12
SLO = Slo((Objective(Metric.TTFT, 0.95, Seconds(1.5)), Objective(Metric.TPOT, 0.9, Seconds(0.2))))


def records(count: int, *, seed: int = 1) -> Records:
    rng = np.random.default_rng(seed)
    rows = np.zeros(count, RECORD)
    rows["id"] = np.arange(count)
    rows["arrival"] = np.arange(count) * SECOND
    rows["started"] = rows["arrival"] + (rng.exponential(0.1, count) * SECOND).astype(np.int64)
    rows["first"] = rows["started"] + (rng.exponential(1.0, count) * SECOND).astype(np.int64)
    rows["output"] = 11
    rows["prompt"] = 100
    rows["cached"] = 25
    rows["finish"] = rows["first"] + (rng.exponential(1.0, count) * SECOND).astype(np.int64)
    return Records(rows)


def judged(found: Records, **more: float) -> Judge:
    judge = Judge(expected=len(found), slo=SLO, exact=int(more.get("exact", 10**6)), warm_up=0.1)
    for part in np.array_split(found.rows, 3):
        judge.add(Records(part))
    return judge


def test_percentiles_are_those_of_the_sample_after_the_warm_up() -> None:
    found = records(10_000)

    judgement = judged(found).judgement()

    measured = judgement.seconds_of(Metric.TTFT, 0.95)
    assert measured is not None
    assert np.quantile(found.ttft_s[1000:], 0.95) == pytest.approx(measured.value)
    assert measured.low < measured.value < measured.high
    assert judgement.requests == 9_000
    assert judgement.cached_share == 0.25


def test_binned_percentiles_are_near_the_exact_ones() -> None:
    found = records(20_000)
    exact = judged(found).judgement()

    binned = judged(found, exact=0).judgement()

    for first, second in zip(exact.percentiles, binned.percentiles, strict=True):
        assert first.seconds.value == pytest.approx(second.seconds.value, rel=0.005)
        assert first.seconds.relative_width == pytest.approx(
            second.seconds.relative_width, rel=0.2, abs=0.002
        )
    assert exact.mean_ttft_s == binned.mean_ttft_s
    assert exact.goodput == binned.goodput


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    truth = float(-np.log(0.05))  # the p95 of an exponential of mean 1
    covered = 0
    for seed in range(60):
        found = records(4_000, seed=seed)
        found.rows["started"] = found.rows["arrival"]
        found.rows["first"] = found.rows["arrival"] + (
            np.random.default_rng(seed).exponential(1.0, 4_000) * SECOND
        ).astype(np.int64)
        measured = judged(found).judgement().seconds_of(Metric.TTFT, 0.95)
        assert measured is not None
        covered += measured.low <= truth <= measured.high

    assert 50 <= covered <= 60


def test_goodput_counts_requests_that_keep_every_objective() -> None:
    found = records(2_000)
    good = (found.ttft_s <= 1.5) & (found.tpot_s <= 0.2)

    np.testing.assert_array_equal(good, within(found, SLO))
    judgement = judged(found).judgement()
    assert good[200:].sum() / 1799 == pytest.approx(judgement.goodput)


def test_a_single_token_has_no_time_per_token_to_miss() -> None:
    found = records(10)
    found.rows["output"] = 1
    found.rows["first"] = found.rows["arrival"]

    assert within(found, SLO).all()
    judge = Judge(expected=10, slo=SLO, warm_up=0.0)
    judge.add(found)
    assert judge.judgement().mean_tpot_s is None
    assert judge.judgement().seconds_of(Metric.TPOT, 0.9) is None


def test_refused_requests_are_not_judged() -> None:
    found = records(100)
    found.rows["finish"][::2] = -1

    judge = Judge(expected=100, slo=SLO, warm_up=0.0)
    judge.add(found)

    assert judge.counted == 50
    assert len(found.answered) == 50


def test_waits_are_told_batch_by_batch() -> None:
    found = records(1_000)
    found.rows["started"] = found.rows["arrival"] + np.arange(1_000) * SECOND

    waits = judged(found).waits_s()

    assert len(waits) == 20
    assert np.all(np.diff(waits) > 0)


def test_a_record_states_its_times() -> None:
    record = records(3).record(1)

    assert record.arrival_s == 1.0
    assert record.ttft_s == record.first_token_s - 1.0
    assert record.tpot_s == pytest.approx((record.e2e_s - record.ttft_s) / 10)
    assert record.input_tokens == 100


def test_gaps_are_read_off_their_histogram() -> None:
    counts = np.array([0, 98, 1, 1])
    middles = np.array([0.5, 1.5, 2.5, 3.5])

    assert gap_percentiles(counts, middles, (0.5, 0.99, 1.0)) == {0.5: 1.5, 0.99: 2.5, 1.0: 3.5}
    assert gap_percentiles(counts * 0, middles) == {}


def test_the_width_of_nothing_is_nothing() -> None:
    assert Measured(0.0, 0.0, 0.0).relative_width == 0.0
    assert Measured(2.0, 1.0, 3.0).relative_width == 0.5
