import numpy as np
import pytest

from caudal.traffic.queueing import tpot_quantile_s, wait_mean_s, wait_quantile_s


def one(value: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([value])


def test_exponential_service_waits_as_in_an_mm1_queue() -> None:
    # M/M/1: W = rho S / (1 - rho); here 0.8 * 0.5 / 0.2.
    wait = wait_mean_s(utilisation=one(0.8), service_s=one(0.5), variation=1.0)

    assert pytest.approx(2.0) == wait[0]


def test_constant_service_waits_half_as_long() -> None:
    wait = wait_mean_s(utilisation=one(0.8), service_s=one(0.5), variation=0.0)

    assert pytest.approx(1.0) == wait[0]


def test_a_saturated_queue_waits_without_bound() -> None:
    wait = wait_mean_s(utilisation=one(1.0), service_s=one(0.5), variation=1.0)

    assert np.inf == wait[0]


def test_the_percentile_of_an_mm1_queue_is_exact() -> None:
    # M/M/1: P(W > t) = rho exp(-(1 - rho) t / S), so t = S / (1 - rho) * ln(rho / (1 - p)).
    quantile = wait_quantile_s(0.95, utilisation=one(0.8), service_s=one(0.5), variation=1.0)

    assert pytest.approx(0.5 / 0.2 * np.log(0.8 / 0.05)) == quantile[0]


@pytest.mark.parametrize("load", [0.0, 0.01, 0.05])
def test_most_arrivals_at_an_idle_server_do_not_wait(load: float) -> None:
    quantile = wait_quantile_s(0.95, utilisation=one(load), service_s=one(0.5), variation=1.0)

    assert quantile[0] == 0.0


def test_the_tpot_median_is_its_mean() -> None:
    tpot = tpot_quantile_s(
        0.5,
        tpot_s=one(0.02),
        request_rate=one(2.0),
        prefill_s=one(0.1),
        output_tokens=300.0,
        step_growth=one(1e-4),
        batch=one(12.0),
        variation=1.0,
    )

    assert pytest.approx(0.02) == tpot[0]


def test_the_tpot_tail_grows_with_prefill_and_with_the_batch() -> None:
    def tail(prefill_s: float, growth: float, variation: float = 0.0) -> float:
        return float(
            tpot_quantile_s(
                0.95,
                tpot_s=one(0.02),
                request_rate=one(2.0),
                prefill_s=one(prefill_s),
                output_tokens=300.0,
                step_growth=one(growth),
                batch=one(12.0),
                variation=variation,
            )[0]
        )

    assert tail(0.1, 0.0) < tail(0.2, 0.0) < tail(0.2, 1e-3)
    assert tail(0.1, 0.0) < tail(0.1, 0.0, 1.0)
