from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.offers.hosting import hosting_cost, hosting_problem
from caudal.offers.offer import Term
from caudal.vocabulary.errors import InfeasibleError
from offer_cases import offer_of


def test_whole_instances_are_paid() -> None:
    price = hosting_cost(offer_of(8, "2"), gpus_per_replica=3, replicas=3)

    assert 2 == price.replicas_per_instance
    assert 2 == price.instances
    assert 16 == price.gpus_paid
    assert 7 == price.gpus_idle
    assert Decimal(32) == price.usd_per_hour


def test_a_metered_month_has_730_hours() -> None:
    price = hosting_cost(offer_of(1, "2"), gpus_per_replica=1, replicas=1)

    assert Decimal(1460) == price.usd_per_month == price.usd_per_mean_month


def test_a_term_shows_both_months() -> None:
    monthly = replace(offer_of(1, "2"), term=Term.MONTHLY)

    price = hosting_cost(monthly, gpus_per_replica=1, replicas=1)

    assert Decimal(1440) == price.usd_per_month
    assert Decimal(1460) == price.usd_per_mean_month


@pytest.mark.parametrize(("stock", "exceeds"), [(None, False), (8, False), (7, True)])
def test_stock_is_compared_with_all_gpus_paid(stock: int | None, *, exceeds: bool) -> None:
    price = hosting_cost(offer_of(4, "2", stock=stock), gpus_per_replica=4, replicas=2)

    assert exceeds is price.exceeds_stock


def test_a_replica_stays_in_one_instance() -> None:
    with pytest.raises(InfeasibleError, match="holds 4 GPUs, a replica needs 8"):
        hosting_cost(offer_of(4, "2"), gpus_per_replica=8, replicas=1)


def test_a_part_of_a_gpu_hosts_no_replica() -> None:
    problem = hosting_problem(offer_of(1, "2", gpu_fraction="0.1667"), gpus_per_replica=1)

    assert problem is not None
    assert "0.1667 of a GPU" in problem
