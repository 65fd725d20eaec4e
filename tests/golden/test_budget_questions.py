"""Three questions about money, answered whole, each figure worked out by hand beside it.

How fast a GPU is comes from the speed room and moves with its calibration, so replicas are taken
from the answer; prices, tokens, hours and what follows from them are checked to the cent.
"""

from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.offers.offer import Term
from caudal.plan.break_even import BreakEven
from caudal.plan.budget_answer import plan_budget
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.question import Traffic, Wishes
from caudal.plan.use import Use
from caudal.vocabulary.units import GB, Bytes, RequestsPerSecond, Tokens
from plan_cases import HEADLINE, HEADLINE_SLO, TODAY, book, few_gpus, question


def budget(
    model: str,
    *,
    gpu: str,
    provider: str,
    term: Term,
    traffic: Traffic,
    use: Use,
    precision: str,
    money: BudgetWishes | None = None,
    slo: bool = False,
    counts: tuple[int, ...] | None = None,
) -> BudgetReport:
    wishes = Wishes(gpus=few_gpus(gpu, counts=counts), precisions=(precision,), use=use)
    asked = question(model, traffic=traffic, objectives=HEADLINE_SLO if slo else (), wishes=wishes)
    offers = replace(asked.offers, providers=frozenset({provider}), terms=frozenset({term}))
    return plan_budget(
        replace(asked, offers=offers),
        money or BudgetWishes(),
        book=book(),
        all_gpus=gpu_catalogue().all,
        today=TODAY,
    )


def even(report: BudgetReport, part: str) -> BreakEven:
    return next(item for item in report.break_evens if part in item.name)


def lines(report: BudgetReport) -> dict[str, Decimal]:
    return {item.name: item.usd for item in report.bill.price.items}


# 70B FP8, always on: H100 at gcp by the hour, 500 GB out a month, 19 % tax.


@lru_cache(maxsize=1)
def always_on() -> BudgetReport:
    return budget(
        "llama-3.1-70b",
        gpu="h100-sxm",
        provider="gcp",
        term=Term.HOURLY,
        traffic=HEADLINE,
        slo=True,
        precision="fp8",
        use=Use(data_out_bytes=Bytes(500 * GB), vat_percent=Decimal(19)),
    )


def test_70b_always_on_pays_730_hours_data_out_and_tax() -> None:
    report = always_on()
    gpus = report.bill.price.instances * report.bill.position.offer.gpu_count

    rent = gpus * Decimal("11.06125") * 730  # $11.06125 a GPU-hour in us-central1, 2026-08-03
    out = 500 * Decimal("0.12")  # nothing included, the first tier is $0.12/GB

    assert lines(report) == {
        "instances": rent,
        "data out": out,
        "VAT": (rent + out) * 19 / 100,
    }
    assert report.bill.price.usd == (rent + out) * Decimal("1.19")
    assert report.bill.price.usd_per_day * 365 == report.bill.price.usd_per_year
    assert report.bill.price.unknown == ()


def test_70b_always_on_turns_tokens_into_gpu_hours_and_money() -> None:
    report = always_on()
    bill, day = report.bill, report.bill.day
    gpus = bill.candidate.shape.serving.layout.gpus

    # 5/s x 86,400 s = 432,000 requests a day, of 2,000 tokens in and 300 out
    assert day.requests == pytest.approx(432_000)
    assert day.input_tokens == pytest.approx(864e6)
    assert day.output_tokens == pytest.approx(129.6e6)
    # worked GPU-hours = 432,000 / (what a replica carries x 3,600) x its GPUs
    worked = 432_000 / (bill.candidate.largest_rate * 3600) * gpus
    assert day.gpu_hours_worked == pytest.approx(worked)
    a_day = float(bill.price.usd) * 24 / 730
    assert bill.tokens.usd_per_million == pytest.approx(a_day / 993.6)
    both = bill.tokens.input_usd_per_million * 864 + bill.tokens.output_usd_per_million * 129.6
    assert both == pytest.approx(a_day)


def test_70b_always_on_against_an_api() -> None:
    report = always_on()
    api = even(report, "token API")

    # novita, 2026-11-09: $0.34 in, $0.39 out. 864 x 0.34 + 129.6 x 0.39 = $344.304 a day,
    # 730 / 24 days a month, so $10,472.58 for 30,222 M tokens: $0.346519 a million
    month = 344.304 * 730 / 24
    own = float(report.bill.price.usd) / 1.19  # API prices are without tax
    assert api.yours == pytest.approx(993.6e6 * 730 / 24)
    assert api.value == pytest.approx(own / (month / (993.6e6 * 730 / 24)))
    assert f"${month:,.0f} at the API" in api.sentence


def test_70b_always_on_never_gains_by_stopping() -> None:
    zero = even(always_on(), "scale to zero")

    # always on and by the hour are one price, so 8 starts of 480 s, 1.067 h, are what is lost
    assert zero.yours == 24
    assert zero.value == pytest.approx(24 - 8 * 480 / 3600)
    assert "always on is cheaper" in zero.sentence


def test_70b_on_spot_pays_from_a_life_of_minutes() -> None:
    spot = even(always_on(), "spot")

    # p_spot / (1 - lost / L) = p  =>  L = lost · p / (p - p_spot); lost is 480 s and half an
    # answer
    p, p_spot = (float(line.points[-1][1]) for line in reversed(spot.lines))
    assert p > p_spot
    assert spot.value is not None
    assert 480 / 3600 < spot.value < 2


# 8B, bursty: 2 M tokens a day, the busy hour eight times the mean, RTX 3090 by the month.


@lru_cache(maxsize=1)
def bursty() -> BudgetReport:
    return budget(
        "llama-3.1-8b",
        gpu="rtx-3090",
        provider="gpu-rent-hub",
        term=Term.MONTHLY,
        traffic=Traffic(
            input_tokens=Tokens(1000),
            output_tokens=Tokens(250),
            tokens_per_day=2e6,
            peak_factor=8.0,
        ),
        precision="bf16",
        use=Use(),
    )


def test_8b_bursty_pays_the_month_whole() -> None:
    report = bursty()
    price = report.bill.price

    assert price.instances == 1
    each = {1: 230, 2: 450}  # the quote sheet of 2026-09-01: one card $230 a month
    if report.bill.position.offer.gpu_count in each:
        assert price.usd_per_month == each[report.bill.position.offer.gpu_count]
    assert price.usd_per_mean_month == price.usd_per_month * 730 / 720
    # 1,600 requests a day: 1.6 M tokens in, 0.4 M out
    assert report.bill.day.requests == pytest.approx(1600)


def test_8b_bursty_belongs_to_an_api() -> None:
    api = even(bursty(), "token API")
    own = float(bursty().bill.price.usd)

    # groq, 2026-11-09: $0.05 in, $0.08 out: 1.6 x 0.05 + 0.4 x 0.08 = $0.112 for 2 M tokens,
    # $3.36 in 30 days
    assert api.value == pytest.approx(own / 0.056e-6)
    assert api.yours == pytest.approx(60e6)
    assert "$3 at the API" in api.sentence
    reasons = [advice.name for advice in bursty().advice]
    assert "below the API's break-even" in reasons
    assert "bursty traffic on a termed card" in reasons


def test_8b_bursty_could_sleep() -> None:
    report = bursty()
    advice = next(item for item in report.advice if "bursty" in item.name)

    # a peak of 8 means 24 / 8 = 3 busy hours; 21 of 24 are idle
    idle = float(report.bill.price.usd) * 21 / 24
    assert f"${idle:,.0f}" in advice.sentence


# 405B FP8 for a week: eight MI300X by the week, and what a month's term would do.


def week(term: Term) -> BudgetReport:
    return budget(
        "llama-3.1-405b",
        gpu="mi300x",
        provider="gpu-rent-hub",
        term=term,
        traffic=Traffic(
            input_tokens=Tokens(2000), output_tokens=Tokens(300), rate=RequestsPerSecond(0.3)
        ),
        precision="fp8",
        counts=(8,),
        use=Use(days=Decimal(7)),
    )


def test_405b_for_a_week_pays_one_week_of_each_node() -> None:
    report = week(Term.WEEKLY)
    price = report.bill.price

    assert report.bill.position.offer.gpu_count == 8
    assert price.usd == pytest.approx(price.instances * 3240)  # $3,240 a week, 2026-09-01
    assert float(price.usd_per_day) == pytest.approx(float(price.usd) / 7)


def test_405b_for_a_week_on_a_monthly_term_pays_the_month() -> None:
    price = week(Term.MONTHLY).bill.price
    nodes = price.instances

    assert price.usd == pytest.approx(nodes * 11450)  # $11,450 a month of 720 h
    named = {item.name: float(item.usd) for item in price.items}
    assert named["instances"] == pytest.approx(nodes * 11450 * 168 / 720)
    assert named["term paid, not used"] == pytest.approx(nodes * 11450 * 552 / 720)


def test_405b_for_a_week_against_an_api() -> None:
    report = week(Term.WEEKLY)
    api = even(report, "token API")

    # 0.3/s x 604,800 s x 2,300 tokens = 417.3 M tokens; together asks $3.50 for either kind
    assert api.yours == pytest.approx(417.312e6)
    assert api.value == pytest.approx(float(report.bill.price.usd) / 3.5e-6)
    assert "$1,461 at the API" in api.sentence
