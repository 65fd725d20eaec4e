from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.plan.budget import DailyDemand, daily_budget, sensitivity
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import TokensPerSecond

ZERO = Decimal(0)
# 25,000 requests of 1,600 + 400 tokens: 50 million tokens; 4,000 s of prompts, 10,000 s of answers.
DEMAND = DailyDemand(
    requests_per_day=25_000,
    input_tokens=1_600,
    output_tokens=400,
    input_tokens_per_s=TokensPerSecond(10_000),
    output_tokens_per_s=TokensPerSecond(1_000),
    price_usd_per_gpu_hour=UsdPerHour(Decimal("1.80")),
)


def test_tokens_of_a_day_hold_prompts_and_answers() -> None:
    assert DEMAND.tokens_per_day == 50_000_000


def test_gpu_hours_are_the_seconds_of_prompts_and_answers() -> None:
    assert daily_budget(DEMAND).gpu_hours_per_day == pytest.approx(14_000 / 3_600)


def test_busy_hours_cost_the_hourly_rate() -> None:
    assert daily_budget(DEMAND).busy_usd_per_day == pytest.approx(Decimal("7.00"))


def test_a_rented_gpu_is_paid_around_the_clock() -> None:
    budget = daily_budget(DEMAND)

    assert budget.rented_usd_per_day == Decimal("43.20")
    assert budget.rented_usd_per_month == Decimal("1296.00")


def test_a_million_tokens_costs_the_rent_over_what_it_serves() -> None:
    assert daily_budget(DEMAND).usd_per_million_tokens == Decimal("0.864")


def test_a_demand_beyond_one_gpu_takes_the_next_whole_one() -> None:
    budget = daily_budget(replace(DEMAND, requests_per_day=200_000))

    assert budget.gpus == 2
    assert budget.gpu_hours_per_day > 24


def test_a_spare_node_is_paid_and_lowers_utilisation() -> None:
    alone = daily_budget(DEMAND)
    spared = daily_budget(replace(DEMAND, spare_nodes=1))

    assert spared.gpus_with_spares == 2
    assert spared.rented_usd_per_day == 2 * alone.rented_usd_per_day
    assert spared.utilisation == pytest.approx(alone.utilisation / 2)


def test_gpus_come_in_whole_nodes() -> None:
    budget = daily_budget(replace(DEMAND, gpus_per_node=8, spare_nodes=1))

    assert budget.gpus == 8
    assert budget.gpus_with_spares == 16


def test_sensitivity_lists_the_largest_swing_first() -> None:
    swings = sensitivity(DEMAND)

    changes = [abs(swing.busy_usd_per_day_change) for swing in swings]
    assert changes == sorted(changes, reverse=True)
    assert len(swings) == 8


def test_twice_the_answers_costs_more_than_twice_the_prompts() -> None:
    by_name = {swing.what: swing for swing in sensitivity(DEMAND, factors=[2.0])}

    prompts, answers = by_name["input tokens"], by_name["output tokens"]
    assert answers.busy_usd_per_day_change > prompts.busy_usd_per_day_change > 0


def test_twice_the_throughput_halves_the_busy_cost() -> None:
    swing = next(s for s in sensitivity(DEMAND, factors=[2.0]) if s.what == "throughput")

    assert swing.budget.busy_usd_per_day == pytest.approx(Decimal("3.50"))


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("requests_per_day", lambda: replace(DEMAND, requests_per_day=0)),
        ("input_tokens_per_s", lambda: replace(DEMAND, input_tokens_per_s=TokensPerSecond(0))),
        (
            "price_usd_per_gpu_hour",
            lambda: replace(DEMAND, price_usd_per_gpu_hour=UsdPerHour(ZERO)),
        ),
        ("gpus_per_node", lambda: replace(DEMAND, gpus_per_node=0)),
    ],
)
def test_zero_where_there_must_be_some_is_refused(
    field: str, make: Callable[[], DailyDemand]
) -> None:
    with pytest.raises(InvalidQuantityError, match=field):
        make()


def test_a_negative_spare_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="cannot be negative"):
        replace(DEMAND, spare_nodes=-1)


def test_a_day_without_tokens_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="without tokens"):
        replace(DEMAND, input_tokens=0, output_tokens=0)
