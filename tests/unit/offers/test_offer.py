from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from caudal.offers.offer import Age, AgeLimits, Term
from offer_cases import PLAIN, TODAY, offer_of


@pytest.mark.parametrize(
    ("days", "age"),
    [(0, Age.FRESH), (45, Age.FRESH), (46, Age.STALE), (365, Age.STALE), (366, Age.HISTORICAL)],
)
def test_a_price_ages_in_three_classes(days: int, age: Age) -> None:
    offer = replace(PLAIN, observed_on=TODAY - timedelta(days=days))

    assert age is offer.age(TODAY)


def test_the_limits_of_age_can_be_chosen() -> None:
    offer = replace(PLAIN, observed_on=TODAY - timedelta(days=10))

    assert Age.HISTORICAL is offer.age(TODAY, AgeLimits(fresh_days=1, stale_days=9))


def test_a_part_of_a_gpu_is_priced_by_the_whole_one() -> None:
    sixth = offer_of(1, "3", gpu_fraction="0.5")

    assert sixth.is_fraction
    assert Decimal("0.5") == sixth.total_gpus
    assert Decimal("1.5") == sixth.usd_per_hour


@pytest.mark.parametrize(
    ("term", "hours"),
    [(Term.HOURLY, 730), (Term.SPOT, 730), (Term.WEEKLY, 720), (Term.MONTHLY, 720)],
)
def test_a_month_is_730_hours_metered_and_720_termed(term: Term, hours: int) -> None:
    assert hours == replace(PLAIN, term=term).month_hours


@pytest.mark.parametrize(("stock", "short"), [(None, False), (7, True), (8, False)])
def test_unknown_stock_is_not_short(stock: int | None, *, short: bool) -> None:
    assert short is offer_of(8, "2", stock=stock).is_short_of_stock
