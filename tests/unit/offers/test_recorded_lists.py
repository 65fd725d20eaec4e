from decimal import Decimal

import pytest

from caudal.offers.offer import Offer, Term
from caudal.offers.sources.files import InvalidListError
from caudal.offers.sources.list_formats import UnknownListFormatError, Wanted
from caudal.vocabulary.units import GB, Bytes, BytesPerSecond
from list_cases import read_recorded, read_text, reasons


def one(name: str, **fields: object) -> Offer:
    found = [
        offer
        for offer in read_recorded(name).offers
        if all(getattr(offer, key) == value for key, value in fields.items())
    ]
    assert len(found) == 1, found
    return found[0]


def test_skypilot_takes_the_card_that_its_instance_is_known_to_hold() -> None:
    offer = one("aws/vms.csv", instance="p5.48xlarge", term=Term.HOURLY)

    assert ("aws", "h100-sxm", 8) == (offer.provider, offer.gpu_id, offer.gpu_count)
    assert Decimal("7.6875") == offer.price_usd_per_gpu_hour
    assert 192 == offer.vcpus


def test_skypilot_rows_that_differ_by_zone_alone_are_one_offer() -> None:
    batch = read_recorded("aws/vms.csv")

    spot = [offer.price for offer in batch.offers if offer.term is Term.SPOT]
    assert [Decimal("22.75"), Decimal("21.5")] == spot
    assert 2 == batch.ignored  # a zone's repetition and an instance without a GPU


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("aws/vms.csv", "'H100' may be any of h100-pcie, h100-sxm"),
        ("aws/vms.csv", "the GPU 'Q900' is not in the catalogue"),
        ("aws/vms.csv", "the row says 22.0 GiB"),
        ("aws/vms.csv", "at most 16 NVIDIA L4, the row says 40"),
        ("lambdalabs.csv", "the spot 'maybe' is neither yes nor no"),
        ("vastai.json", "dph_total is 'cheap', no number"),
        ("vastai.json", "'Q RTX 8000' is not in the catalogue"),
        ("runpod.json", "fits neither an hour nor the term"),
        ("shadeform.json", "it is sold in no region"),
        ("dstack.json", "it holds different GPUs: L4, T4"),
        ("quotes.csv", "line 6: Acme 1 L4 hourly =HYPERLINK"),
        ("quotes.csv", "is a formula, which is not evaluated"),
        ("quotes.csv", "price is -0.5, below zero"),
        ("quotes.csv", "line 9: Acme 1 H100 SXM hourly 210: $210 per GPU-hour is"),
        ("quotes.csv", "the term 'fortnightly' is none"),
        ("quotes.csv", "it was seen on 2027-11-01, after the day it was read"),
        ("quotes.csv", "line 12: Acme 1 L40S hourly 0.79: the same offer stands above"),
        ("quotes.csv", "it has 6 cells under 20 columns"),
    ],
)
def test_a_row_that_cannot_be_read_is_listed_with_its_reason(name: str, reason: str) -> None:
    assert reason in reasons(read_recorded(name))


def test_vast_prices_the_whole_offer_without_the_disk() -> None:
    offer = one("vastai.json", instance="machine 71", term=Term.HOURLY)

    assert Decimal("0.33") == offer.price_usd_per_gpu_hour
    assert ("SE", "eu") == (offer.country, offer.area)
    assert Decimal("0.15") == (offer.storage_usd_per_byte_hour or 0) * GB * 720
    assert Decimal("0.004") == (offer.egress_usd_per_byte or 0) * GB
    assert (0.9971, True, "PCIe") == (offer.reliability, offer.verified, offer.interconnect)
    assert Bytes(128_920_000_000) == offer.ram_bytes
    assert BytesPerSecond(101_550_000.0) == offer.network_bytes_per_s


def test_vast_offers_that_are_rented_are_no_offers() -> None:
    assert not [o for o in read_recorded("vastai.json").offers if o.instance == "machine 73"]


def test_runpod_terms_are_read_by_the_hour_or_by_the_term() -> None:
    monthly = one("runpod.json", term=Term.MONTHLY, gpu_count=8)
    quarterly = one("runpod.json", term=Term.QUARTERLY, gpu_count=1)

    assert Decimal("2.75") == monthly.price_usd_per_gpu_hour
    assert Decimal(5300) == quarterly.price


def test_shadeform_prices_are_cents() -> None:
    offer = one("shadeform.json", region="canada-1")

    assert Decimal("19.2") == offer.price
    assert ("hyperstack", "shadeform") == (offer.provider, offer.via)
    assert (600.0, "NVLink", None) == (offer.cold_start_s, offer.interconnect, offer.stock)
    assert 0 == one("shadeform.json", region="norway-1").stock


def test_dstack_counts_one_entry_a_gpu() -> None:
    offer = one("dstack.json", provider="runpod")

    assert (2, Decimal("0.86")) == (offer.gpu_count, offer.price_usd_per_gpu_hour)


def test_a_get_plan_reply_of_dstack_reads_alike() -> None:
    text = (
        '{"job_plans": [{"offers": [{"backend": "gcp", "region": "us-central1", "price": 0.7,'
        ' "instance": {"name": "g2-standard-4", "resources": {"cpus": 4, "memory_mib": 16384,'
        ' "gpus": [{"name": "L4", "memory_mib": 24576}], "spot": false}}}]}]}'
    )

    (offer,) = read_text("plan.json", text).offers

    assert ("gcp", "g2-standard-4", "l4") == (offer.provider, offer.instance, offer.gpu_id)


def test_a_quote_sheet_knows_terms_currencies_and_slices() -> None:
    monthly = one("quotes.csv", term=Term.MONTHLY)
    yearly = one("quotes.csv", term=Term.YEARLY)
    part = one("quotes.csv", instance="mig-1")

    assert Decimal(2) == monthly.price_usd_per_gpu_hour
    assert (Decimal(250), 2, Bytes(20 * 10**12)) == (
        monthly.setup_usd,
        monthly.stock,
        monthly.included_egress_bytes,
    )
    assert ("EUR", Decimal("4380.00")) == (yearly.currency, yearly.price)
    assert ("3g.40gb", Decimal("0.5000")) == (part.mig_slice, part.gpu_fraction)
    assert Decimal("0.79") == one("quotes.csv", gpu_id="l40s", term=Term.HOURLY).price


def test_a_misspelt_column_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(InvalidListError) as caught:
        read_text("q.csv", "gpu,gpus,term,price,regoin\nL4,1,hourly,0.5,x\n")

    assert "regoin" in caught.value.problem
    assert "region" in caught.value.remedy


def test_a_format_that_does_not_exist_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownListFormatError) as caught:
        read_text("q.csv", "a,b\n1,2\n", Wanted(format="skypilt"))

    assert "skypilot" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.csv", "a,b\n1,2\n", "no list that Caudal knows"),
        (
            "aws/vms.csv",
            "InstanceType,AcceleratorName\nx,L4\n",
            "lacks the columns AcceleratorCount",
        ),
        ("v.json", '{"offers": [{"gpu_name": 1, "num_gpus":, "gpu_ram"', "no JSON"),
        ("v.json", '["gpu_name", "num_gpus", "gpu_ram"' + "[" * 100_000, "no JSON"),
    ],
)
def test_a_list_that_cannot_be_read_at_all_is_refused(name: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidListError, match=problem):
        read_text(name, text)


def test_the_user_may_say_which_card_a_name_means() -> None:
    from caudal.offers.known import import_facts, with_own_names  # noqa: PLC0415

    facts = with_own_names(import_facts(), {"H100": "h100-nvl"})

    assert "h100-nvl" == facts.own_names["h100"]


def test_an_open_quotation_mark_costs_one_line_only() -> None:
    text = 'gpu,gpus,term,price\nL4,1,hourly,"0.5\nL4,1,hourly,0.6\n'

    batch = read_text("q.csv", text)

    assert [Decimal("0.6")] == [offer.price for offer in batch.offers]
    assert "a quotation mark is not closed" in reasons(batch)
