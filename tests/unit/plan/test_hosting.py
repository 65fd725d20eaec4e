from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from caudal.offers.offer import Offer, Term
from caudal.offers.query import OfferQuery
from caudal.plan.hosting import OfferColumns, cheapest_of_groups, instances_needed
from caudal.vocabulary.money import UsdPerHour
from plan_cases import book

TEMPLATE = book().select(
    OfferQuery(gpu_ids=frozenset({"h100-sxm"}), terms=frozenset({Term.HOURLY}))
)[0]


def offer(gpus: int, usd: str, *, provider: str = "a", stock: int | None = None) -> Offer:
    return replace(
        TEMPLATE,
        provider=provider,
        gpu_count=gpus,
        gpu_fraction=Decimal(1),
        price_usd_per_gpu_hour=UsdPerHour(Decimal(usd)),
        stock=stock,
        minimum_gpus=1,
    )


def needed(offers: Sequence[Offer], *, gpus: int, replicas: int) -> list[float]:
    columns = OfferColumns.of(tuple(offers))
    result = instances_needed(
        columns, gpus=np.array([[float(gpus)]]), replicas=np.array([[float(replicas)]])
    )
    return [float(value) for value in result[0]]


def test_an_instance_carries_as_many_replicas_as_it_holds_whole() -> None:
    assert needed([offer(8, "2")], gpus=3, replicas=5) == [3.0]


def test_a_replica_never_spans_two_instances() -> None:
    assert needed([offer(4, "2")], gpus=8, replicas=1) == [np.inf]


def test_stock_that_does_not_suffice_is_no_offer() -> None:
    assert needed([offer(2, "2", stock=3)], gpus=2, replicas=2) == [np.inf]


def test_each_provider_and_term_gives_its_cheapest() -> None:
    columns = OfferColumns.of(
        (offer(8, "2"), offer(4, "2.5"), offer(4, "3", provider="b"), offer(8, "9", provider="b"))
    )

    usd, chosen, pairs = cheapest_of_groups(
        columns, gpus=np.array([[4.0]]), replicas=np.array([[1.0]])
    )

    assert usd[0].tolist() == [4 * 2.5 * 730, 4 * 3 * 730]
    assert [columns.offers[index].provider for index in chosen[0]] == ["a", "b"]
    assert pairs == 4
