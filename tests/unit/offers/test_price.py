from decimal import Decimal

import pytest

from caudal.offers.price import (
    Discount,
    EgressPrice,
    EgressTier,
    Rounding,
    api_usd,
    break_even_hours,
    break_even_tokens,
    discount_percent,
    discounted,
    egress_usd,
    hourly_bases,
    round_to,
    tokens_within,
    usd_per_gb,
    usd_per_gpu_hour,
    usd_per_million_at_rate,
    usd_per_million_tokens,
)
from caudal.vocabulary.units import GB, Bytes

STEPS = (
    Discount(from_gpus=2, percent=Decimal(5)),
    Discount(from_gpus=4, percent=Decimal(8)),
    Discount(from_gpus=8, percent=Decimal(10)),
)
TIERED = EgressPrice(
    included_bytes=Bytes(100 * GB),
    tiers=(
        EgressTier(up_to_bytes=Bytes(1000 * GB), usd_per_byte=Decimal("0.10") / GB),
        EgressTier(up_to_bytes=None, usd_per_byte=Decimal("0.05") / GB),
    ),
)


def test_a_gpu_hour_divides_the_instance_by_hours_and_gpus_and_converts() -> None:
    price = usd_per_gpu_hour(
        Decimal(1440), hours_per_unit=Decimal(720), gpus=2, usd_per_unit=Decimal("0.5")
    )

    assert Decimal("0.5") == price


def test_a_month_has_two_lengths() -> None:
    bases = hourly_bases(Decimal(525600))

    assert (Decimal(730), Decimal(720)) == (bases.termed, bases.metered)


@pytest.mark.parametrize(
    ("gpus", "percent"), [(1, 0), (2, 5), (3, 5), (4, 8), (7, 8), (8, 10), (16, 10)]
)
def test_the_highest_step_reached_counts(gpus: int, percent: int) -> None:
    assert percent == discount_percent(gpus, STEPS)


def test_only_lists_that_round_are_rounded() -> None:
    exact = discounted(Decimal(1690), gpus=8, discounts=STEPS)
    printed = discounted(
        Decimal(1690),
        gpus=8,
        discounts=STEPS,
        roundings=[Rounding(from_gpus=8, step=Decimal(10))],
    )

    assert Decimal(12168) == exact
    assert Decimal(12170) == printed


def test_rounding_starts_at_its_number_of_gpus() -> None:
    price = discounted(
        Decimal("990.5"),
        gpus=2,
        discounts=STEPS,
        roundings=[Rounding(from_gpus=8, step=Decimal(10))],
    )

    assert Decimal("1881.95") == price


def test_halves_are_rounded_up() -> None:
    assert Decimal(20) == round_to(Decimal(15), Decimal(10))


@pytest.mark.parametrize(
    ("sent_gb", "usd"), [(0, 0), (100, 0), (101, "0.10"), (1100, 100), (1200, 105)]
)
def test_egress_uses_what_is_included_then_fills_the_tiers(sent_gb: int, usd: str | int) -> None:
    assert Decimal(usd) == egress_usd(Bytes(sent_gb * GB), TIERED)


def test_egress_prices_must_have_no_end() -> None:
    ending = EgressPrice(included_bytes=Bytes(0), tiers=TIERED.tiers[:1])

    with pytest.raises(AssertionError, match="without end"):
        egress_usd(Bytes(2000 * GB), ending)


def test_a_price_per_byte_reads_per_gb() -> None:
    assert Decimal("0.05") == usd_per_gb(TIERED.tiers[1].usd_per_byte)


def test_traffic_carries_whole_tokens() -> None:
    assert 9 == tokens_within(Bytes(999), bytes_per_token=100)


def test_a_term_pays_from_the_hours_that_cost_the_same() -> None:
    assert Decimal(500) == break_even_hours(Decimal(1000), hourly=Decimal(2))


def test_an_api_is_even_where_its_tokens_cost_the_same() -> None:
    # cost-breakeven-1000x of the published cases: a page prints 0.46 M, a thousand times too few.
    assert 460_800_000 == break_even_tokens(Decimal(4608), api=Decimal(10))


def test_input_and_output_tokens_have_their_own_price() -> None:
    # cost-api-2400-vs-1200 of the published cases: $900 + $1,500.
    asked = api_usd(
        input_tokens=300_000_000,
        output_tokens=100_000_000,
        input_price=Decimal(3),
        output_price=Decimal(15),
    )

    assert Decimal(2400) == asked


def test_a_million_tokens_cost_what_their_share_of_the_month_costs() -> None:
    assert Decimal(25) == usd_per_million_tokens(Decimal(250), tokens=10_000_000)


def test_a_million_tokens_cost_less_at_a_higher_rate() -> None:
    # cost-concurrency-50x: 40 tok/s alone against 2,000 saturated.
    alone = usd_per_million_at_rate(Decimal(2), tokens_per_s=40)
    saturated = usd_per_million_at_rate(Decimal(2), tokens_per_s=2000)

    assert Decimal(50) == alone / saturated
