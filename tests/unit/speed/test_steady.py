import numpy as np
import pytest

import speed_cases as cases
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import (
    all_at_once,
    capacity_curve,
    loaded_tpot,
    open_loop,
    static_batch_seconds,
    steady_state_closed,
)
from caudal.speed.steps import decode_step_seconds, pace_for
from caudal.speed.work import step_work

GPUS = GpuColumns.of([cases.gpu(), cases.gpu("h200-sxm", bandwidth_tb=4.8)])
WORK = step_work(cases.model(), cases.serving())
PACE = pace_for(WORK, GPUS)


def one(value: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([value])


def test_prefill_of_others_lengthens_every_token() -> None:
    alone = decode_step_seconds(WORK, GPUS, batch=8, context_tokens=1100)

    loaded, prefill = loaded_tpot(PACE, one(8), one(1000), one(200))

    assert (loaded[:, 0] > alone).all()
    assert (loaded[:, 0] <= alone + 8 * prefill[:, 0] / 200).all()


def test_the_rate_of_a_batch_follows_from_littles_law() -> None:
    curve = capacity_curve(WORK, GPUS, input_tokens=1000, output_tokens=200, batches=[1, 8, 64])

    assert curve.tpot_s.shape == (2, 3)
    assert (curve.request_rate * 200 * curve.tpot_s)[0].tolist() == pytest.approx([1, 8, 64])


def test_a_cached_prefix_raises_the_rate() -> None:
    plain = capacity_curve(WORK, GPUS, input_tokens=4000, output_tokens=100, batches=[32])
    cached = capacity_curve(
        WORK, GPUS, input_tokens=4000, output_tokens=100, batches=[32], cached_tokens=3000
    )

    assert (cached.request_rate > plain.request_rate).all()


def test_users_beyond_the_limit_wait_and_carry_no_more() -> None:
    free = steady_state_closed(
        WORK, GPUS, concurrency=16, input_tokens=500, output_tokens=100, limit=16
    )
    crowded = steady_state_closed(
        WORK, GPUS, concurrency=64, input_tokens=500, output_tokens=100, limit=16
    )

    assert (crowded.ttft_s > 2 * free.ttft_s).all()
    assert crowded.request_rate == pytest.approx(free.request_rate)


def test_states_have_one_entry_a_gpu_or_one_a_gpu_and_argument() -> None:
    single = steady_state_closed(WORK, GPUS, concurrency=4, input_tokens=500, output_tokens=100)
    several = steady_state_closed(
        WORK, GPUS, concurrency=[1, 4], input_tokens=500, output_tokens=100
    )

    assert single.tpot_s.shape == (2,)
    assert several.tpot_s[:, 1].tolist() == pytest.approx(single.tpot_s.tolist())


def test_a_light_open_load_is_carried_whole() -> None:
    state = open_loop(PACE, one(0.5), one(500), one(100), one(256))

    assert state.request_rate.ravel().tolist() == pytest.approx([0.5, 0.5])
    assert state.batch.ravel().tolist() == pytest.approx(
        (0.5 * 100 * state.tpot_s).ravel().tolist(), rel=1e-3
    )


def test_a_saturated_open_load_yields_what_the_limit_carries() -> None:
    state = open_loop(PACE, one(1e6), one(500), one(100), one(64))

    assert (state.batch == 64).all()
    assert (state.request_rate < 1e6).all()


def test_requests_at_once_wait_longer_the_more_they_are() -> None:
    few = all_at_once(PACE, one(10), one(500), one(100), one(64))
    many = all_at_once(PACE, one(1000), one(500), one(100), one(64))

    assert (few.ttft_s < many.ttft_s).all()
    assert (many.batch == 64).all()


def test_a_static_batch_beyond_the_limit_runs_in_rounds() -> None:
    whole = static_batch_seconds(PACE, one(64), one(500), one(100), one(64))
    twice = static_batch_seconds(PACE, one(128), one(500), one(100), one(64))

    assert twice == pytest.approx(2 * whole)


def test_a_batch_that_prompts_cannot_feed_stands_at_the_largest_that_they_can() -> None:
    curve = capacity_curve(
        WORK, GPUS, input_tokens=WORK.chunk_tokens, output_tokens=16, batches=[8, 16, 64]
    )

    assert (curve.request_rate[:, 1] == curve.request_rate[:, 2]).all()
    assert (curve.request_rate[:, 0] < curve.request_rate[:, 1]).all()
