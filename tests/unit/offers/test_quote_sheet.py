from decimal import Decimal

import pytest

from caudal.offers.batch import OfferBatch
from caudal.offers.offer import Term
from caudal.offers.sources.quote_sheet import offers_of_sheet, read_quote_sheet
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import TB
from offer_cases import FACTS

HEAD = """
provider = "acme"
title = "Acme"
currency = "USD"
observed_on = 2026-09-01
[source]
where = "a page"
read_on = 2026-09-01
licence = "facts only"
[terms]
included_egress_tb_per_month = 20
egress_usd_per_tb = 4
"""
DISCOUNTS = """
[[discount]]
from_gpus = 2
percent = 5
[[rounding]]
from_gpus = 8
step = 10
"""
REGIONS = """
[[region]]
name = "DFW-1"
[[region]]
name = "IAD-1"
"""
L4 = """
[[gpu]]
gpu_id = "l4"
title = "L4"
monthly = 250
"""


def read(*parts: str) -> OfferBatch:
    return offers_of_sheet(read_quote_sheet("\n".join([HEAD, *parts]), where="acme.toml"), FACTS)


def test_every_count_in_every_region_is_offered() -> None:
    offers = read(REGIONS, L4).offers

    assert {(gpus, region) for gpus in range(1, 9) for region in ("DFW-1", "IAD-1")} == {
        (offer.gpu_count, offer.region) for offer in offers
    }


def test_counts_and_regions_can_be_restricted() -> None:
    offers = read(REGIONS, L4, "minimum_gpus = 2\nmaximum_gpus = 3\nregions = ['IAD-1']").offers

    assert [(2, "IAD-1", 2), (3, "IAD-1", 2)] == [
        (offer.gpu_count, offer.region, offer.minimum_gpus) for offer in offers
    ]


def test_discounts_and_rounding_make_the_price() -> None:
    prices = {offer.gpu_count: offer.price for offer in read(DISCOUNTS, L4).offers}

    assert Decimal(250) == prices[1]
    assert Decimal(475) == prices[2]
    assert Decimal(1900) == prices[8]


def test_a_printed_price_wins() -> None:
    printed = '[[printed]]\ngpu_id = "l4"\ngpus = 4\nterm = "monthly"\nprice = 777'

    prices = {offer.gpu_count: offer.price for offer in read(L4, printed).offers}

    assert (Decimal(750), Decimal(777)) == (prices[3], prices[4])


def test_each_term_has_its_hours() -> None:
    offers = read(L4, "weekly = 84\nhourly = 1.5\nspot = 0.5\nmaximum_gpus = 1").offers

    assert {
        Term.HOURLY: Decimal("1.5"),
        Term.SPOT: Decimal("0.5"),
        Term.WEEKLY: Decimal("0.5"),
        Term.MONTHLY: Decimal(250) / 720,
    } == {offer.term: offer.price_usd_per_gpu_hour for offer in offers}


def test_what_a_week_includes_is_unknown() -> None:
    offers = read(L4, "weekly = 84\nmaximum_gpus = 1").offers

    assert {Term.WEEKLY: None, Term.MONTHLY: 20 * TB} == {
        offer.term: offer.included_egress_bytes for offer in offers
    }


def test_stock_is_known_by_region_or_over_all() -> None:
    of_region = read(REGIONS, L4, 'maximum_gpus = 1\nstock_by_region = {"DFW-1" = 6}').offers
    of_all = read(REGIONS, L4, "maximum_gpus = 1\nstock = 63").offers

    assert {"DFW-1": 6, "IAD-1": None} == {offer.region: offer.stock for offer in of_region}
    assert {63} == {offer.stock for offer in of_all}


def test_notes_say_what_the_page_leaves_open() -> None:
    notes = {offer.gpu_count: offer.note for offer in read(L4, "stock = 4").offers}

    assert "" == notes[1]
    assert "That the cards share one node is not stated." == notes[4]
    assert "The list has 4 in stock." in notes[8]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (L4.replace('"l4"', '"l44"'), "not in the catalogue"),
        (L4.replace("250", "0"), "no price above zero"),
        (f"{L4}\nmaximum_gpus = 17", "at most 16"),
    ],
)
def test_an_impossible_entry_is_set_aside(entry: str, reason: str) -> None:
    batch = read(entry)

    assert () == batch.offers
    (aside,) = batch.set_aside
    assert reason in aside.reason


def test_a_currency_without_a_rate_is_set_aside() -> None:
    sheet = read_quote_sheet((HEAD + L4).replace("USD", "XXX", 1), where="acme.toml")

    (aside,) = offers_of_sheet(sheet, FACTS).set_aside

    assert "there is no exchange rate for 'XXX'" == aside.reason


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("provider = ", "is no TOML"),
        (HEAD.replace('title = "Acme"', ""), "title is missing"),
        (HEAD.replace('"Acme"', "3"), "title is 3"),
        (HEAD.replace("observed_on = 2026-09-01", 'observed_on = "May"'), "observed_on is 'May'"),
        (HEAD.replace("= 4", "= -4"), "egress_usd_per_tb is -4"),
        (HEAD.replace("= 4", "= true"), "egress_usd_per_tb is True"),
        (HEAD.replace("[source]", "[origin]"), "there is no field 'origin'"),
        (f"{HEAD}{L4}montly = 3", "there is no field 'montly'"),
        (f"{HEAD}{L4}regions = [1]", "regions is [1]"),
        (f"{HEAD}{L4}minimum_gpus = 1.5", "minimum_gpus is Decimal('1.5')"),
        (f"{HEAD}{L4}eight_in_a_node = 1", "eight_in_a_node is 1"),
        (f"{HEAD}\n[[discount]]\npercent = 5", "from_gpus is missing"),
        (f"{HEAD}\n[[discount]]\nfrom_gpus = 2", "percent is missing"),
        (f"gpu = 3\n{HEAD}", "gpu is 3"),
        (
            f'{HEAD}\n[[printed]]\ngpu_id = "l4"\ngpus = 1\nterm = "yearly"\nprice = 1',
            "term is 'yearly'",
        ),
    ],
)
def test_a_broken_sheet_names_file_and_field(broken: str, problem: str) -> None:
    with pytest.raises(InvalidFactError) as caught:
        read_quote_sheet(broken, where="acme.toml")

    assert "acme.toml" in caught.value.problem
    assert problem in caught.value.problem
