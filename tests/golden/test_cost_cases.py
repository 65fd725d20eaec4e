"""The cost and spot questions that people asked in public, each with its evidenced answer."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from caudal.facts.api_prices import ApiPrice, ApiPrices
from caudal.facts.source import Source
from caudal.offers.offer import Age, Term
from caudal.offers.price import (
    api_usd,
    break_even_tokens,
    usd_per_gpu_hour,
    usd_per_million_at_rate,
)
from caudal.plan.break_even import own_against_api, spot_against_on_demand
from caudal.plan.cost import full_price
from caudal.plan.spot_tier import SpotRisk
from caudal.plan.tornado import PRICE_FACTORS
from caudal.plan.use import Use, rent_terms
from caudal.vocabulary.money import UsdPerMillionTokens
from caudal.vocabulary.units import GB, Bytes, Seconds
from documents import ROOT
from offer_cases import PLAIN

_LINES = (ROOT / "tests/data/cost_cases.jsonl").read_text(encoding="utf-8").splitlines()
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in map(json.loads, _LINES)}

# Questions about starting machines, which no price answers: what is listed may not be in stock,
# and where to try again after a loss. They are for the room that launches.
ABOUT_LAUNCHING = {"spot-same-region-loop", "spot-runpod-15-offers"}
MONTH = Decimal(730)


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = CASES[case]["expect"]
    return found


def given(case: str) -> dict[str, Any]:
    found: dict[str, Any] = CASES[case]["inputs"]
    return found


def test_every_case_is_judged_here_or_is_about_launching() -> None:
    source = (ROOT / "tests/golden/test_cost_cases.py").read_text(encoding="utf-8")

    assert [case for case in CASES if source.count(f'"{case}"') == 0] == []


def test_break_even_is_in_tokens_not_in_thousands_of_them() -> None:
    case = "cost-breakeven-1000x"

    tokens = break_even_tokens(
        Decimal(given(case)["gpu_month_usd"]), api=Decimal(given(case)["api_usd_per_m"])
    )

    assert expected(case)["tokens_per_month"] == tokens  # $4,608 / $10 x 10^6


def test_a_mid_tier_api_against_one_card() -> None:
    case = "cost-api-2400-vs-1200"
    asked, truth = given(case), expected(case)
    price = ApiPrice(
        provider="mid-tier",
        model_id="x",
        listed_as="x",
        input_usd_per_million=UsdPerMillionTokens(Decimal(asked["api_in"])),
        cached_input_usd_per_million=None,
        output_usd_per_million=UsdPerMillionTokens(Decimal(asked["api_out"])),
        observed_on=date(2026, 1, 1),
        source=Source(CASES[case]["source"], date(2026, 11, 30)),
    )

    even = own_against_api(
        own_usd=asked["gpu_month_usd"],
        prices=ApiPrices(prices=(price,), is_same_model=True, model_class=""),
        input_tokens=asked["input_m"] * 1e6,
        output_tokens=asked["output_m"] * 1e6,
        capacity_tokens=1e9,
    )

    api = api_usd(
        input_tokens=asked["input_m"] * 10**6,
        output_tokens=asked["output_m"] * 10**6,
        input_price=Decimal(asked["api_in"]),
        output_price=Decimal(asked["api_out"]),
    )
    assert truth["api_usd"] == api  # 300 x $3 + 100 x $15
    assert even is not None
    assert even.value == pytest.approx(200e6)  # 1,200 / 2,400 of 400 M
    assert "your own GPUs are cheaper" in even.sentence
    assert truth["usd_per_hour"] == pytest.approx(asked["gpu_month_usd"] / asked["hours"], rel=0.02)
    output = asked["output_m"] * 1e6 / (asked["hours"] * 3600)
    assert truth["avg_out_tok_s"] == pytest.approx(output, rel=truth["tol"])


def test_batching_changes_the_price_of_a_token_fiftyfold() -> None:
    case = "cost-concurrency-50x"
    single = sum(given(case)["tok_s_single"]) / 2
    full = sum(given(case)["tok_s_saturated"]) / 2

    ratio = usd_per_million_at_rate(Decimal(2), tokens_per_s=single) / usd_per_million_at_rate(
        Decimal(2), tokens_per_s=full
    )

    assert expected(case)["factor"] == pytest.approx(float(ratio), rel=expected(case)["tol"])


def test_stopping_doubles_the_price_of_a_pods_disk() -> None:
    case = "cost-runpod-storage"
    size = Bytes(given(case)["gb"] * GB)
    hour = 1 / MONTH / GB
    terms = replace(
        rent_terms(PLAIN),
        storage_usd_per_byte_hour=Decimal("0.10") * hour,
        stopped_storage_usd_per_byte_hour=Decimal("0.20") * hour,
    )

    running = full_price(PLAIN, Use(disk_bytes=size), terms=terms)
    half = full_price(PLAIN, Use(disk_bytes=size, hours_per_day=Decimal(12)), terms=terms)

    lines = {item.name: float(item.usd) for item in half.items}
    assert float(running.usd - 1460) == pytest.approx(expected(case)["running_usd"])  # 50 x $0.10
    assert lines["disk"] == pytest.approx(expected(case)["running_usd"] / 2)  # half of the month
    assert lines["disk at rest"] == pytest.approx(expected(case)["stopped_usd"] / 2)


def test_a_catalogue_without_a_date_was_a_third_too_high() -> None:
    case = "cost-runpod-h100-stale"
    truth = expected(case)
    old = replace(PLAIN, observed_on=date(2024, 7, 1))

    assert truth["err"] == pytest.approx(truth["wrong"] / truth["usd"] - 1, abs=0.001)
    assert old.age(date(2026, 11, 30)) is Age.HISTORICAL
    assert float(PRICE_FACTORS[1]) >= truth["wrong"] / truth["usd"]  # the bar of price holds it


def test_rental_rates_rise_and_the_bar_of_price_reaches_as_far() -> None:
    truth = expected("cost-rental-rates-2026")

    rises = {card: truth["new"][card] / truth["old"][card] for card in truth["new"]}

    assert rises["H200"] == pytest.approx(1.41, abs=0.01)
    assert rises["B200"] == pytest.approx(1.42, abs=0.01)
    assert rises["H100"] == pytest.approx(1.12, abs=0.01)
    assert float(PRICE_FACTORS[1]) == pytest.approx(max(rises.values()), abs=0.01)


@pytest.mark.parametrize(
    ("case", "term"), [("cost-vast-disk-in-price", Term.HOURLY), ("spot-vast-disk", Term.SPOT)]
)
def test_the_disk_is_a_part_of_the_price_on_every_term(case: str, term: Term) -> None:
    offer = replace(PLAIN, term=term, storage_usd_per_byte_hour=Decimal("0.0002") / GB)

    without = full_price(offer, Use())
    with_disk = full_price(offer, Use(disk_bytes=Bytes(100 * GB)))

    assert CASES[case]["expect"]
    assert with_disk.usd - without.usd == Decimal("14.6")  # 100 GB x 730 h x $0.0002


def test_a_cheaper_bid_with_a_dearer_disk_can_cost_more() -> None:
    bid = replace(PLAIN, term=Term.SPOT, storage_usd_per_byte_hour=Decimal("0.02") / GB)
    dearer = replace(
        bid,
        price_usd_per_gpu_hour=type(bid.price_usd_per_gpu_hour)(Decimal("2.5")),
        storage_usd_per_byte_hour=Decimal("0.001") / GB,
    )
    use = Use(disk_bytes=Bytes(100 * GB))

    assert full_price(bid, Use()).usd < full_price(dearer, Use()).usd
    assert full_price(bid, use).usd > full_price(dearer, use).usd


def test_the_price_of_a_node_is_not_that_of_a_gpu() -> None:
    case = "spot-runpod-bid-8x"
    truth, count = expected(case), given(case)["count"]
    node = usd_per_gpu_hour(
        Decimal(str(truth["shown"])), hours_per_unit=Decimal(1), gpus=count, usd_per_unit=Decimal(1)
    )
    each = Decimal(str(truth["shown"]))

    meant = replace(PLAIN, gpu_count=count, price_usd_per_gpu_hour=node)
    billed = replace(PLAIN, gpu_count=count, price_usd_per_gpu_hour=type(node)(each))

    assert truth["shown"] == pytest.approx(float(meant.usd_per_hour))
    assert truth["usd"] == pytest.approx(float(billed.usd_per_hour))
    assert truth["ratio"] == billed.usd_per_hour / meant.usd_per_hour


def test_an_interruptible_card_at_half_the_price_saves_half_less_what_is_lost() -> None:
    case = "spot-vast-minbid"
    usd = expected(case)["usd"]

    even = spot_against_on_demand(
        on_demand_usd_per_hour=usd["on_demand"],
        spot_usd_per_hour=usd["spot"],
        risk=SpotRisk(restart_s=Seconds(480.0)),
    )

    # 480 s lost at each interruption; 0.12 / (1 - 480 / L) = 0.24 at L = 960 s
    assert even.value == pytest.approx(960 / 3600)


def test_no_notice_is_counted_on() -> None:
    assert expected("spot-aws-hibernate")["hibernate_notice_s"] == SpotRisk().drain_s


def test_a_wake_takes_minutes_not_the_time_to_load_weights() -> None:
    truth = expected("spot-wake-8min")

    assert truth["minutes"] * 60 == SpotRisk().restart_s
    assert SpotRisk().restart_s > max(truth["weight_load_s"])


def test_what_is_about_launching_is_in_the_list() -> None:
    assert set(CASES) >= ABOUT_LAUNCHING
