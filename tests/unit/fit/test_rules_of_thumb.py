from decimal import Decimal

import pytest

from caudal.fit.rules_of_thumb import (
    PricedMemory,
    cheapest_holding,
    envelope_bytes,
    fewest_gpus,
    largest_model_parameters,
    nominal_weight_bytes,
    prudent_parameters,
    sequences_that_fit,
)
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GB, Bytes


def card(name: str, *, gigabytes: int, price: str) -> PricedMemory:
    return PricedMemory(name=name, memory_bytes=Bytes(gigabytes * GB), price=Decimal(price))


def test_weights_are_parameters_times_bytes() -> None:
    assert nominal_weight_bytes(70e9, bytes_per_parameter=2) == 140 * GB


def test_the_envelope_adds_weights_cache_and_overhead() -> None:
    need = envelope_bytes(7e9, bytes_per_parameter=1, kv_bytes=3 * GB, overhead_bytes=Bytes(GB))

    assert need == (7 + 3 + 1) * GB


def test_the_largest_model_leaves_a_fifth_of_the_memory_free() -> None:
    assert largest_model_parameters(80 * GB, bytes_per_parameter=2) == pytest.approx(32e9)


@pytest.mark.parametrize(
    ("exact", "named"),
    [(0.9e9, 0), (9.6e9, 9), (10e9, 10), (19.2e9, 15), (99e9, 95), (100e9, 100), (256e9, 250)],
)
def test_prudent_sizes_are_rounded_down_more_coarsely_as_they_grow(
    exact: float, named: int
) -> None:
    assert prudent_parameters(exact) == named * 10**9


@pytest.mark.parametrize(("need", "gpus"), [(79, 1), (80, 1), (81, 2), (161, 3)])
def test_gpus_are_added_until_the_memory_suffices(need: int, gpus: int) -> None:
    assert fewest_gpus(need * GB, memory_bytes=80 * GB) == gpus


def test_the_cheapest_choice_that_holds_the_need_is_returned() -> None:
    small = card("small", gigabytes=24, price="1")
    dear = card("dear", gigabytes=80, price="9")
    cheap = card("cheap", gigabytes=48, price="5")

    assert cheapest_holding(30 * GB, [small, dear, cheap]) == cheap


def test_of_two_choices_at_one_price_the_larger_is_returned() -> None:
    smaller = card("smaller", gigabytes=48, price="5")
    larger = card("larger", gigabytes=80, price="5")

    assert cheapest_holding(30 * GB, [smaller, larger]) == larger


def test_no_choice_is_returned_where_none_holds_the_need() -> None:
    assert cheapest_holding(30 * GB, [card("small", gigabytes=24, price="1")]) is None


def test_only_whole_sequences_fit() -> None:
    assert sequences_that_fit(5.9 * GB, kv_bytes_per_sequence=2 * GB) == 2


def test_no_sequence_fits_into_less_than_nothing() -> None:
    assert sequences_that_fit(-1.0, kv_bytes_per_sequence=2 * GB) == 0


@pytest.mark.parametrize("parameters", [0, -1, float("nan")])
def test_a_model_without_parameters_is_refused(parameters: float) -> None:
    with pytest.raises(InvalidQuantityError, match="parameters must be more than zero"):
        nominal_weight_bytes(parameters, bytes_per_parameter=2)


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_outside_zero_to_one_is_refused(share: float) -> None:
    with pytest.raises(InvalidQuantityError, match="between 0 and 1"):
        largest_model_parameters(80 * GB, bytes_per_parameter=2, share=share)
