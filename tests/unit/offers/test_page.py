from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from caudal.offers.bundled import bundled_offers
from caudal.offers.offer import AgeLimits
from caudal.offers.page import StoredTable, write_page
from caudal.offers.query import OfferQuery, filters_of
from caudal.offers.table import DERIVED, MadeTable
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds
from offer_cases import PLAIN, TODAY, offer_of

FULL = replace(
    PLAIN,
    mig_slice="1g.10gb",
    interconnect="NVLink",
    local_disk_bytes=Bytes(2 * 10**12),
    billing_unit_s=Seconds(1.0),
    minimum_s=Seconds(60.0),
    setup_s=Seconds(3600.0),
    setup_usd=Decimal("19.99"),
    cold_start_s=Seconds(90.0),
    storage_usd_per_byte_hour=Decimal("1.4E-13"),
    stopped_usd_per_hour=Decimal("0.02"),
    network_bytes_per_s=BytesPerSecond(1.25e9),
    reliability=0.995,
    verified=False,
    stock=0,
)


def test_every_offer_comes_back_from_its_page_as_it_was() -> None:
    offers = [*bundled_offers(today=TODAY).offers, FULL]

    table = StoredTable(write_page(offers))

    assert offers == [table.offer(row) for row in range(table.size)]


@pytest.mark.parametrize("offers", [[], [PLAIN], [PLAIN, PLAIN]], ids=len)
def test_short_pages_come_back_too(offers: list[object]) -> None:
    table = StoredTable(write_page([PLAIN] * len(offers)))

    assert [PLAIN] * len(offers) == [table.offer(row) for row in range(table.size)]


def test_a_page_answers_queries_as_the_offers_do() -> None:
    offers = [FULL, *bundled_offers(today=TODAY).offers[:300]]
    made, stored = MadeTable(offers), StoredTable(write_page(offers))
    query = OfferQuery(
        regions=("us", "aws:eu-west-1"),
        max_usd_per_hour=UsdPerHour(Decimal(3)),
        native_fp8=True,
        in_stock_only=True,
        max_billing_unit_s=Seconds(3600),
    )

    for condition in filters_of(query, today=TODAY):
        assert condition.test(made).tolist() == condition.test(stored).tolist(), condition.name
    for name in DERIVED:
        assert str(made.derived(name).tolist()) == str(stored.derived(name).tolist()), name
    assert made.keys().tolist() == stored.keys().tolist()


def test_the_limits_of_a_source_are_those_of_its_offers() -> None:
    limits = AgeLimits(fresh_days=1, stale_days=14)

    table = StoredTable(write_page([PLAIN]), age_limits=limits)

    assert limits == table.offer(0).age_limits
    assert [14.0] == table.number("stale_days").tolist()


def test_offers_without_a_name_have_no_key() -> None:
    offers = [replace(PLAIN, region=""), replace(PLAIN, instance=""), PLAIN, offer_of(2, "1")]

    keys = MadeTable(offers).keys().tolist()

    assert [0, 0] == keys[:2]
    assert len({0, *keys}) == 3


def test_foreign_bytes_are_refused() -> None:
    with pytest.raises(InvalidFactError, match="another version"):
        StoredTable(b"PK\x03\x04 something else")


def test_the_day_of_the_source_is_kept_apart_from_the_day_of_the_price() -> None:
    older = replace(PLAIN, observed_on=date(2023, 10, 1))

    assert older == StoredTable(write_page([older])).offer(0)
