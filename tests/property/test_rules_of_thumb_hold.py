from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.fit.rules_of_thumb import (
    PricedMemory,
    cheapest_holding,
    fewest_gpus,
    largest_model_parameters,
    nominal_weight_bytes,
    prudent_parameters,
)
from caudal.plan.budget import DailyDemand, daily_budget
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, TokensPerSecond

MEMORY = st.integers(min_value=10**9, max_value=10**13)
WIDTHS = st.sampled_from([2.0, 1.0, 0.6, 0.5])
CHOICES = st.lists(
    st.builds(
        PricedMemory,
        name=st.text(max_size=3),
        memory_bytes=MEMORY.map(Bytes),
        price=st.decimals(min_value=0, max_value=10**6, places=2),
    ),
    max_size=8,
)
DEMANDS = st.builds(
    DailyDemand,
    requests_per_day=st.floats(min_value=1, max_value=1e7),
    input_tokens=st.floats(min_value=1, max_value=1e5),
    output_tokens=st.floats(min_value=1, max_value=1e4),
    input_tokens_per_s=st.floats(min_value=10, max_value=1e6).map(TokensPerSecond),
    output_tokens_per_s=st.floats(min_value=1, max_value=1e5).map(TokensPerSecond),
    price_usd_per_gpu_hour=st.decimals(min_value="0.01", max_value="20", places=2).map(UsdPerHour),
    spare_nodes=st.integers(min_value=0, max_value=3),
    gpus_per_node=st.sampled_from([1, 2, 4, 8]),
)


@given(memory=MEMORY, width=WIDTHS)
def test_the_largest_model_fits_into_its_share(memory: int, width: float) -> None:
    parameters = prudent_parameters(largest_model_parameters(memory, bytes_per_parameter=width))

    if parameters:
        weights = nominal_weight_bytes(parameters, bytes_per_parameter=width)
        assert weights <= memory * 0.8 * (1 + 1e-9)


@given(less=MEMORY, more=MEMORY, width=WIDTHS)
def test_more_memory_never_holds_a_smaller_model(less: int, more: int, width: float) -> None:
    less, more = sorted((less, more))

    small = prudent_parameters(largest_model_parameters(less, bytes_per_parameter=width))
    large = prudent_parameters(largest_model_parameters(more, bytes_per_parameter=width))
    assert small <= large


@given(need=MEMORY, memory=MEMORY)
def test_one_gpu_fewer_would_not_hold_the_need(need: int, memory: int) -> None:
    gpus = fewest_gpus(need, memory_bytes=memory)

    assert (gpus - 1) * memory < need <= gpus * memory


@given(need=MEMORY, choices=CHOICES)
def test_nothing_that_holds_the_need_is_cheaper(need: int, choices: list[PricedMemory]) -> None:
    best = cheapest_holding(need, choices)

    holding = [choice for choice in choices if choice.memory_bytes >= need]
    assert (best is None) == (not holding)
    if best is not None:
        assert best in holding
        assert best.price == min(choice.price for choice in holding)


@given(demand=DEMANDS)
def test_rent_is_never_less_than_the_hours_worked(demand: DailyDemand) -> None:
    budget = daily_budget(demand)

    assert budget.rented_usd_per_day * (1 + Decimal("1e-9")) >= budget.busy_usd_per_day
    assert 0 < budget.utilisation <= 1 + 1e-9


@given(demand=DEMANDS, factor=st.floats(min_value=1, max_value=10))
def test_work_grows_with_the_requests(demand: DailyDemand, factor: float) -> None:
    more = replace(demand, requests_per_day=demand.requests_per_day * factor)

    before, after = daily_budget(demand), daily_budget(more)
    assert after.gpu_hours_per_day == pytest.approx(before.gpu_hours_per_day * factor)
    assert after.gpus >= before.gpus
