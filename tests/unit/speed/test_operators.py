import numpy as np
import pytest

import speed_cases as cases
from caudal.speed.efficiency import Machine, Parameter
from caudal.speed.operators import (
    attention_pairs,
    cache_bytes,
    exchange_seconds,
    larger,
    matrix_floor_seconds,
    matrix_seconds,
    touched_share,
)
from caudal.speed.terms import work_terms
from caudal.speed.work import step_work

MACHINE = Machine(*(np.array(value) for value in (1e12, 1e15, 2e15, 1e11)))
IDEAL = {
    name: np.array(0.0 if name in {Parameter.HALF, Parameter.SKEW} else 1.0) for name in Parameter
}


def test_the_larger_time_counts_and_a_little_more_where_both_are_alike() -> None:
    times = larger(np.array([1.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]))

    assert times.tolist() == pytest.approx([1.0, 2**0.25, 2 * (1 + 0.5**4) ** 0.25])


def test_one_token_touches_its_experts_and_many_touch_all() -> None:
    share = touched_share(np.array(64.0), np.array(4.0), np.array([0.0, 1.0, 2.0, 1e6]))

    assert share.tolist() == pytest.approx([0, 4 / 64, 1 - (60 / 64) ** 2, 1])


@pytest.mark.parametrize(
    ("tokens", "context", "window", "pairs"),
    [
        (10, 0, np.inf, 50),
        (10, 100, np.inf, 1050),
        (10, 100, 50, 500),
        (100, 0, 10, 50 + 90 * 10),
        (10, 45, 50, 5 * 45 + 12.5 + 5 * 50),
    ],
)
def test_each_token_sees_what_came_before_within_its_window(
    tokens: float, context: float, window: float, pairs: float
) -> None:
    found = attention_pairs(np.array([tokens]), np.array([context]), np.array([window]))

    assert found.tolist() == pytest.approx([pairs])


def test_a_window_bounds_what_decode_reads() -> None:
    model = cases.model(layers=1, mixer=cases.attention(window=1024))
    terms = work_terms([step_work(model, cases.serving())])

    read = cache_bytes(terms, np.array(3.0), np.array([100.0, 5000.0]))

    assert read.tolist() == pytest.approx([3 * 100 * 4096, 3 * 1024 * 4096])


def test_at_full_shares_a_product_takes_its_floor() -> None:
    terms = work_terms([step_work(cases.model(), cases.serving())])

    reached = matrix_seconds(terms, MACHINE, IDEAL, np.array([1.0, 4096.0]))
    floor = matrix_floor_seconds(terms, MACHINE, np.array([1.0, 4096.0]))

    assert reached == pytest.approx(floor, rel=0.01)


def test_a_lone_gpu_exchanges_nothing_even_without_a_link() -> None:
    terms = work_terms([step_work(cases.model(), cases.serving())])
    unlinked = Machine(*(np.array(value) for value in (1e12, 1e15, 2e15, np.nan)))

    assert exchange_seconds(terms, unlinked, IDEAL, np.array(8.0)) == 0


def test_an_all_reduce_moves_twice_the_payload_less_ones_own_share() -> None:
    terms = work_terms([step_work(cases.model(layers=1), cases.serving(tensor=4))])
    silent = {**IDEAL, Parameter.LATENCY: np.array(0.0)}

    seconds = exchange_seconds(terms, MACHINE, silent, np.array(100.0))

    assert float(seconds) == pytest.approx(2 * (2 * 3 / 4 * 100 * 4096 * 2) / 1e11)


def test_experts_spread_whole_wait_for_the_fullest_gpu() -> None:
    model = cases.model(feed_forward=cases.mixture())
    spread = work_terms([step_work(model, cases.serving(), data=8)])
    skewed = {**IDEAL, Parameter.SKEW: np.array(1.0)}

    even = matrix_seconds(spread, MACHINE, IDEAL, np.array(16.0))
    uneven = matrix_seconds(spread, MACHINE, skewed, np.array(16.0))

    assert even < uneven
