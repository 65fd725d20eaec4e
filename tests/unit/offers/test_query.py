from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from caudal.facts.regions import UnknownRegionError
from caudal.offers.offer import Age, Offer, Term
from caudal.offers.query import OfferQuery, filters_of
from caudal.offers.table import MadeTable
from caudal.vocabulary.money import UsdPerHour
from offer_cases import PLAIN, TODAY, offer_of

USD3 = UsdPerHour(Decimal(3))


def passes(query: OfferQuery, offer: Offer) -> bool:
    table = MadeTable([offer])
    return all(condition.test(table)[0] for condition in filters_of(query, today=TODAY))


@pytest.mark.parametrize(
    ("query", "within", "without"),
    [
        (OfferQuery(gpu_ids=frozenset({"l4"})), offer_of(1, "1", gpu_id="l4"), PLAIN),
        (OfferQuery(counts=frozenset({8})), offer_of(8, "1"), PLAIN),
        (OfferQuery(terms=frozenset({Term.SPOT})), replace(PLAIN, term=Term.SPOT), PLAIN),
        (OfferQuery(regions=("eu", "us-east-1")), replace(PLAIN, country="DE"), PLAIN),
        (OfferQuery(regions=("us",)), PLAIN, replace(PLAIN, region="", country=None)),
        (OfferQuery(providers=frozenset({"OCI"})), replace(PLAIN, provider="oci"), PLAIN),
        (OfferQuery(providers=frozenset({"shop"})), replace(PLAIN, via="shop"), PLAIN),
        (
            OfferQuery(without_providers=frozenset({"Oracle Cloud"})),
            PLAIN,
            replace(PLAIN, provider="oci"),
        ),
        (OfferQuery(max_usd_per_gpu_hour=USD3), offer_of(8, "3"), offer_of(1, "3.01")),
        (OfferQuery(max_usd_per_hour=USD3), offer_of(2, "1.5"), offer_of(2, "1.51")),
        (OfferQuery(), PLAIN, replace(PLAIN, observed_on=date(2025, 11, 29))),
        (OfferQuery(oldest=Age.FRESH), PLAIN, replace(PLAIN, observed_on=date(2026, 10, 1))),
        (OfferQuery(max_age_days=29), PLAIN, replace(PLAIN, observed_on=date(2026, 10, 31))),
        (OfferQuery(fractions=False), PLAIN, offer_of(1, "1", gpu_fraction="0.5")),
        (OfferQuery(opening_later=False), PLAIN, replace(PLAIN, opens_later=True)),
        (OfferQuery(in_stock_only=True), offer_of(2, "1", stock=2), offer_of(2, "1", stock=1)),
    ],
    ids=lambda value: next(iter(names(value)), "") if isinstance(value, OfferQuery) else "",
)
def test_each_filter_lets_in_and_keeps_out(
    query: OfferQuery, within: Offer, without: Offer
) -> None:
    if query.regions == ("eu", "us-east-1"):
        without = replace(without, region="us-west-2", country="US")

    assert passes(query, within)
    assert not passes(query, without)


def names(query: OfferQuery) -> list[str]:
    return [condition.name for condition in filters_of(query, today=TODAY)]


def test_a_query_that_asks_for_nothing_still_drops_prices_too_old_to_quote() -> None:
    assert ["price seen within 365 days"] == names(OfferQuery())


def test_prices_of_any_age_can_be_asked_for() -> None:
    query = OfferQuery(oldest=Age.HISTORICAL)

    assert [] == names(query)
    assert passes(query, replace(PLAIN, observed_on=date(2023, 10, 1)))


def test_filters_are_named_as_they_were_asked_for() -> None:
    query = OfferQuery(
        gpu_ids=frozenset({"l4", "h100-sxm"}),
        counts=frozenset({8, 1}),
        providers=frozenset({"aws"}),
        without_providers=frozenset({"gcp"}),
        regions=("eu",),
        max_usd_per_gpu_hour=USD3,
    )

    assert [
        "GPU h100-sxm, l4",
        "price seen within 365 days",
        "GPUs in the instance: 1, 8",
        "provider aws, not gcp",
        "region eu",
        "price per GPU-hour at most $3",
    ] == names(query)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (OfferQuery(counts=frozenset({8})), offer_of(6, "9"), offer_of(1, "1")),
        (OfferQuery(max_usd_per_hour=USD3), offer_of(1, "4"), offer_of(4, "2")),
        (OfferQuery(max_age_days=1), PLAIN, replace(PLAIN, observed_on=date(2026, 10, 1))),
    ],
)
def test_a_filter_knows_which_offer_is_nearer(query: OfferQuery, near: Offer, far: Offer) -> None:
    asked = filters_of(query, today=TODAY)[0 if query.max_age_days is not None else -1]

    nearer, farther = asked.distance(MadeTable([near, far]))

    assert nearer < farther


def test_an_unknown_region_is_an_error() -> None:
    with pytest.raises(UnknownRegionError) as caught:
        names(OfferQuery(regions=("us-esat-1",)))

    assert "us-east-1" in caught.value.remedy
