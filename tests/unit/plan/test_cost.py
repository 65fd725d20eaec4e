from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.offers.offer import Offer, Term
from caudal.offers.price import Discount, EgressPrice, EgressTier
from caudal.plan.cost import FullPrice, full_price
from caudal.plan.use import RentTerms, Use, rent_terms, repriced
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GB, Bytes, BytesPerSecond, Seconds
from offer_cases import PLAIN

KNOWN = RentTerms(
    billing_unit_s=Seconds(1.0),
    minimum_s=Seconds(60.0),
    setup_s=None,
    setup_usd=None,
    start_s=Seconds(0.0),
    included_disk_bytes=None,
    storage_usd_per_byte_hour=None,
    stopped_storage_usd_per_byte_hour=None,
    stopped_usd_per_hour=Decimal(0),
    egress=None,
    egress_is_per_instance=False,
)
MONTHLY = replace(PLAIN, term=Term.MONTHLY, price=Decimal(1440), hours_per_unit=Decimal(720))
WEEKLY = replace(PLAIN, term=Term.WEEKLY, price=Decimal(336), hours_per_unit=Decimal(168))


def items(price: FullPrice) -> dict[str, Decimal]:
    return {item.name: round(item.usd, 6) for item in price.items}


def test_always_on_is_the_price_an_hour_times_the_month() -> None:
    price = full_price(PLAIN, Use())

    assert Decimal(1460) == price.usd  # $2 x 730 h
    assert price.unknown == ()


def test_a_termed_month_shows_both_bases() -> None:
    price = full_price(MONTHLY, Use())

    assert Decimal(1440) == price.usd_per_month  # $2 x 720 h
    assert Decimal(1460) == price.usd_per_mean_month  # $2 x 730 h
    assert any("720 h" in note for note in price.notes)


def test_time_is_rounded_up_to_the_billing_unit_at_each_start() -> None:
    terms = replace(KNOWN, billing_unit_s=Seconds(3600.0))

    price = full_price(
        PLAIN, Use(days=Decimal(1), hours_per_day=Decimal("1.5"), starts=1), terms=terms
    )

    # 1.5 h used, 2 h billed
    assert items(price) == {"instances": 3, "rounding up, minimum": 1, "stopped": 0}


def test_a_start_is_charged_the_minimum() -> None:
    terms = replace(KNOWN, minimum_s=Seconds(3600.0))
    use = Use(days=Decimal(1), hours_per_day=Decimal(1), starts=4)

    price = full_price(PLAIN, use, terms=terms)

    assert round(price.usd, 6) == 8  # four starts of a quarter hour, an hour each at $2


def test_the_model_is_downloaded_at_each_start() -> None:
    use = Use(
        days=Decimal(10),
        hours_per_day=Decimal(12),
        download_bytes=Bytes(180 * GB),
        download_bytes_per_s=BytesPerSecond(GB / 10),
    )

    price = full_price(PLAIN, use, terms=replace(KNOWN, start_s=Seconds(1800.0)))

    # 180 GB at 0.1 GB/s are 1,800 s, with the machine's own 1,800 s an hour; ten starts at $2
    assert items(price)["starting"] == 20


def test_starting_lies_within_the_time_of_a_machine_that_is_always_on() -> None:
    use = Use(download_bytes=Bytes(180 * GB), download_bytes_per_s=BytesPerSecond(GB / 10))

    assert Decimal(1460) == full_price(PLAIN, use, terms=KNOWN).usd


def test_a_term_is_paid_whole_if_the_use_ends_before() -> None:
    price = full_price(MONTHLY, Use(days=Decimal(7)))

    assert Decimal(1440) == price.usd
    assert items(price) == {"instances": 336, "term paid, not used": 1104}


def test_weeks_are_counted_whole() -> None:
    assert Decimal(672) == full_price(WEEKLY, Use(days=Decimal(8))).usd  # 2 weeks of $336


def test_a_week_that_goes_on_is_priced_by_its_share_of_the_month() -> None:
    assert Decimal(1440) == full_price(WEEKLY, Use()).usd  # 720 / 168 weeks of $336


def test_a_term_costs_the_same_however_few_hours_are_used() -> None:
    assert full_price(MONTHLY, Use()).usd == full_price(MONTHLY, Use(hours_per_day=Decimal(3))).usd


def test_stopped_time_and_disk_are_lines_of_their_own() -> None:
    terms = replace(
        KNOWN,
        stopped_usd_per_hour=Decimal("0.1"),
        included_disk_bytes=Bytes(50 * GB),
        storage_usd_per_byte_hour=Decimal("0.0001") / GB,
        stopped_storage_usd_per_byte_hour=Decimal("0.0002") / GB,
    )
    use = Use(days=Decimal(10), hours_per_day=Decimal(12), disk_bytes=Bytes(150 * GB))

    price = full_price(PLAIN, use, terms=terms)

    assert items(price) == {
        "instances": 240,  # 120 h at $2
        "stopped": 12,  # 120 h at $0.10
        "disk": Decimal("1.2"),  # 100 GB x 120 h x $0.0001
        "disk at rest": Decimal("2.4"),  # at twice that
    }


def test_data_out_is_free_first_and_then_goes_by_tier() -> None:
    tiers = (
        EgressTier(up_to_bytes=Bytes(1000 * GB), usd_per_byte=Decimal("0.10") / GB),
        EgressTier(up_to_bytes=None, usd_per_byte=Decimal("0.05") / GB),
    )
    terms = replace(KNOWN, egress=EgressPrice(included_bytes=Bytes(100 * GB), tiers=tiers))
    use = Use(data_out_bytes=Bytes(1500 * GB))

    account = full_price(PLAIN, use, instances=2, terms=terms)
    each = full_price(PLAIN, use, instances=2, terms=replace(terms, egress_is_per_instance=True))

    assert items(account)["data out"] == 120  # 1,000 GB at $0.10, 400 at $0.05
    assert items(each)["data out"] == 115  # 200 GB are free, so 300 at $0.05


def test_a_known_clouds_egress_list_is_used() -> None:
    aws = replace(PLAIN, provider="aws")

    price = full_price(aws, Use(data_out_bytes=Bytes(1100 * GB)))

    assert items(price)["data out"] == 90  # 100 GB free, 1,000 at $0.09


def test_discounts_count_on_instances_alone() -> None:
    terms = replace(KNOWN, discounts=(Discount(from_gpus=4, percent=Decimal(10)),))

    price = full_price(PLAIN, Use(discount_percent=Decimal(50)), instances=4, terms=terms)

    assert Decimal(2628) == price.usd  # 4 x 1,460 = 5,840; less 10 % 5,256; half of it


def test_tax_is_a_line_on_request() -> None:
    use = Use(vat_percent=Decimal(19))

    assert "VAT" not in items(full_price(PLAIN, Use()))
    assert items(full_price(PLAIN, use))["VAT"] == Decimal("277.4")  # 19 % of 1,460
    assert "VAT" not in items(full_price(replace(PLAIN, tax="included"), use))


def test_what_is_not_known_is_named_and_never_zero() -> None:
    use = Use(
        hours_per_day=Decimal(8),
        disk_bytes=Bytes(100 * GB),
        data_out_bytes=Bytes(100 * GB),
        download_bytes=Bytes(70 * GB),
    )

    price = full_price(PLAIN, use)

    assert [item.name for item in price.items] == ["instances"]
    said = "; ".join(price.unknown)
    for part in ("start takes", "to fetch", "rounded up", "shortest", "stopped", "disk", "out"):
        assert part in said, part


def test_another_rate_prices_an_offer_in_its_own_currency() -> None:
    euro = replace(PLAIN, currency="EUR", price=Decimal(10), gpu_count=2)

    assert Decimal("5.4") == repriced(euro, usd_per_unit=Decimal("1.08")).price_usd_per_gpu_hour


def test_the_offers_own_terms_come_before_its_providers() -> None:
    aws = replace(PLAIN, provider="aws")
    own = replace(aws, billing_unit_s=Seconds(3600.0))

    assert rent_terms(aws).billing_unit_s == Seconds(1.0)
    assert rent_terms(own).billing_unit_s == Seconds(3600.0)
    assert rent_terms(own).minimum_s == Seconds(60.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hours_per_day": Decimal(0)},
        {"hours_per_day": Decimal(25)},
        {"days": Decimal(0)},
        {"starts": 0},
        {"disk_bytes": Bytes(-1)},
        {"discount_percent": Decimal(100)},
        {"vat_percent": Decimal(-1)},
    ],
)
def test_a_use_that_cannot_be_meant_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidQuantityError):
        Use(**wrong)  # type: ignore[arg-type]  # one wrong field at a time


def test_fewer_than_one_instance_is_refused() -> None:
    with pytest.raises(InvalidQuantityError):
        full_price(PLAIN, Use(), instances=0)


def test_the_items_are_quantity_times_unit_price() -> None:
    offer: Offer = replace(PLAIN, provider="aws")
    use = Use(hours_per_day=Decimal(7), data_out_bytes=Bytes(3000 * GB), vat_percent=Decimal(21))

    price = full_price(offer, use, instances=3)

    for item in price.items:
        assert abs(item.quantity * item.usd_per_unit - item.usd) < Decimal("1e-9"), item
    assert price.usd == sum(item.usd for item in price.items)
    assert abs(sum(price.share_of(item) for item in price.items) - 1) < 1e-9
