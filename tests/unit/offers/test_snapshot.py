from datetime import date
from decimal import Decimal

import pytest

from caudal.offers.batch import OfferBatch
from caudal.offers.offer import Term
from caudal.offers.sources.snapshot import COLUMNS, SnapshotList, read_snapshot
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GIB
from offer_cases import FACTS

SOUND = {
    "provider": "Oracle Cloud",
    "via": "",
    "instance": "BM.GPU.H100.8",
    "gpu_id": "h100-sxm",
    "gpu_raw": "H100",
    "gpu_count": "8",
    "gpu_fraction": "1",
    "vram_gb_each": "80",
    "vcpus": "112",
    "ram_gib": "2048",
    "region": "us-ashburn-1",
    "price_ondemand": "80.0",
    "price_spot": "",
    "currency": "USD",
    "source": "a list",
    "licence": "MIT",
    "as_of": "2026-09-06",
}
LISTING = SnapshotList(name="test", title="Test", licence="MIT")


def read(*rows: str, listing: SnapshotList = LISTING) -> OfferBatch:
    return read_snapshot("\n".join([",".join(COLUMNS), *rows]), listing=listing, facts=FACTS)


def row(**changes: str) -> str:
    return ",".join({**SOUND, **changes}.values())


def test_a_row_becomes_an_offer_on_the_common_basis() -> None:
    (offer,) = read(row()).offers

    assert ("oci", "BM.GPU.H100.8", 8, Term.HOURLY) == (
        offer.provider,
        offer.instance,
        offer.gpu_count,
        offer.term,
    )
    assert Decimal(10) == offer.price_usd_per_gpu_hour
    assert Decimal(80) == offer.price == offer.usd_per_hour
    assert ("US", "us") == (offer.country, offer.area)
    assert (112, 2048 * GIB) == (offer.vcpus, offer.ram_bytes)
    assert ("a list", "MIT", date(2026, 9, 6)) == (
        offer.source.where,
        offer.source.licence,
        offer.observed_on,
    )


def test_a_spot_price_makes_a_second_offer() -> None:
    on_demand, spot = read(row(price_spot="20")).offers

    assert (Term.HOURLY, Term.SPOT) == (on_demand.term, spot.term)
    assert Decimal("2.5") == spot.price_usd_per_gpu_hour


def test_a_sixth_of_a_gpu_is_not_priced_as_a_whole_one() -> None:
    (offer,) = read(
        row(gpu_id="a10", gpu_count="1", gpu_fraction="0.1667", vram_gb_each="4",
            price_ondemand="0.454")
    ).offers  # fmt: skip

    assert Decimal("2.72") == offer.price_usd_per_gpu_hour.quantize(Decimal("0.01"))


def test_an_offer_keeps_its_own_currency() -> None:
    (offer,) = read(row(currency="CNY", price_ondemand="728.07")).offers

    assert ("CNY", Decimal("728.07")) == (offer.currency, offer.price)
    assert Decimal("12.5") == offer.price_usd_per_gpu_hour.quantize(Decimal("0.0001"))


def test_a_range_of_cores_is_unknown() -> None:
    (offer,) = read(row(vcpus="4-6", ram_gib="")).offers

    assert offer.vcpus is None
    assert offer.ram_bytes is None


def test_a_place_that_is_not_known_stays_unknown() -> None:
    (offer,) = read(row(region="moon-1")).offers

    assert (None, None) == (offer.country, offer.area)


def test_government_regions_say_so() -> None:
    (offer,) = read(row(provider="aws", region="us-gov-west-1")).offers

    assert "for US government customers only" == offer.note


def test_a_list_may_be_older_than_its_rows_say() -> None:
    listing = SnapshotList(
        name="test", title="Test", licence="MIT", observed_on=date(2023, 10, 1), note="old"
    )

    (offer,) = read(row(), listing=listing).offers

    assert (date(2023, 10, 1), "old") == (offer.observed_on, offer.note)
    assert date(2026, 9, 6) == offer.source.read_on


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gpu_id": "", "gpu_raw": "K80 (12 GB)"}, "the GPU 'K80 (12 GB)' is not"),
        ({"gpu_id": "h900"}, "the GPU 'h900' is not"),
        ({"gpu_count": "12"}, "at most 8"),
        ({"gpu_count": "many"}, "cannot be read"),
        ({"vram_gb_each": "22"}, "the row says 22 GB"),
        ({"currency": "XXX"}, "no exchange rate for 'XXX'"),
        ({"price_ondemand": "free"}, "cannot be read"),
        ({"price_ondemand": "-1"}, "no price above zero"),
        ({"price_ondemand": "NaN"}, "no price above zero"),
        ({"price_ondemand": "0"}, "no price above zero"),
        ({"price_ondemand": "5500"}, "$687.5 per GPU-hour is not credible"),
        ({"price_spot": "0.01"}, "per GPU-hour is not credible"),
        ({"price_ondemand": ""}, "no price above zero"),
        ({"as_of": "yesterday"}, "cannot be read"),
        ({"as_of": "2026-09-06,"}, "18 columns instead of 17"),
    ],
)
def test_a_bad_row_is_set_aside_with_its_line_and_reason(
    changes: dict[str, str], reason: str
) -> None:
    batch = read(row(), row(**changes))

    assert 1 == len(batch.offers)
    (aside,) = batch.set_aside
    assert "line 3" == aside.where
    assert reason in aside.reason


def test_a_row_that_stands_twice_is_offered_once() -> None:
    batch = read(row(), row())

    assert 1 == len(batch.offers)
    assert ["the same row stands above"] == [aside.reason for aside in batch.set_aside]


def test_a_list_of_other_columns_is_refused() -> None:
    with pytest.raises(InvalidFactError, match="has the columns"):
        read_snapshot("a,b\n1,2", listing=LISTING, facts=FACTS)
