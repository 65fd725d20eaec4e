from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

import pytest

from caudal.facts.api_prices import api_prices, prices_for, size_class
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import model_catalogue, resolve_model
from caudal.offers.offer import Term
from caudal.plan.break_even import (
    Contender,
    newer_against_older,
    own_against_api,
    spot_against_on_demand,
    term_against_hourly,
    zero_against_always_on,
)
from caudal.plan.budget import DailyDemand, daily_budget
from caudal.plan.budget_answer import plan_budget
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.comparisons import busy_hours_per_day
from caudal.plan.currency import offers_at
from caudal.plan.daily import with_daily_tokens
from caudal.plan.question import Question, Traffic, Wishes
from caudal.plan.redundancy import failure_rates, redundancies, redundancy_sentence
from caudal.plan.spot_tier import SpotRisk, mix_of
from caudal.plan.use import Use
from caudal.vocabulary.errors import (
    ContradictoryOptionsError,
    InfeasibleError,
    InvalidInputError,
    InvalidQuantityError,
)
from caudal.vocabulary.units import Seconds, Tokens, TokensPerSecond
from offer_cases import PLAIN
from plan_cases import TODAY, answer, book, few_gpus, question

GPUS = few_gpus("h100-sxm", "a100-80g-sxm", "l40s", "l4")


def asked(use: Use | None = None, traffic: Traffic | None = None) -> Question:
    wishes = Wishes(gpus=GPUS, use=use or Use())
    base = question(wishes=wishes) if traffic is None else question(traffic=traffic, wishes=wishes)
    return replace(base, offers=replace(base.offers, providers=frozenset({"gcp", "aws"})))


def budget(which: Question, wishes: BudgetWishes | None = None) -> BudgetReport:
    return plan_budget(
        which, wishes or BudgetWishes(), book=book(), all_gpus=gpu_catalogue().all, today=TODAY
    )


@lru_cache(maxsize=1)
def usual() -> BudgetReport:
    return budget(asked())


def test_the_budget_is_about_the_plans_first_row() -> None:
    row = answer(replace(asked(), top=1)).rows[0]

    assert usual().row.gpu == row.gpu
    assert float(row.price.usd_per_month) == pytest.approx(usual().bill.usd, abs=0.01)


def test_the_gpu_hours_are_those_of_the_five_step_method() -> None:
    """The method that the golden figures of the guide run is the one that a budget follows."""
    bill = usual().bill
    day, workload = bill.day, bill.position.workload
    requests_per_s = day.requests_per_gpu_hour / 3600  # of one GPU, prompts and answers in turn
    answering = 1 - day.prefill_share

    by_steps = daily_budget(
        DailyDemand(
            requests_per_day=day.requests,
            input_tokens=workload.input_tokens,
            output_tokens=workload.output_tokens,
            input_tokens_per_s=TokensPerSecond(
                requests_per_s * workload.input_tokens / day.prefill_share
            ),
            output_tokens_per_s=TokensPerSecond(
                requests_per_s * workload.output_tokens / answering
            ),
            price_usd_per_gpu_hour=bill.position.offer.price_usd_per_gpu_hour,
        )
    )

    assert by_steps.gpu_hours_per_day == pytest.approx(day.gpu_hours_worked)
    assert by_steps.tokens_per_day == pytest.approx(day.input_tokens + day.output_tokens)


def test_every_bar_holds_the_bill_as_asked() -> None:
    for bar in usual().tornado.bars:
        assert bar.least_usd <= usual().bill.usd <= bar.most_usd, bar.name


def test_the_longest_bar_is_named() -> None:
    tornado = usual().tornado
    swings = [bar.swing_usd for bar in tornado.bars]

    assert swings == sorted(swings, reverse=True)
    assert tornado.sentence.lower().startswith(tornado.bars[0].name)
    assert sum(tornado.share(bar) for bar in tornado.bars) == pytest.approx(1.0)


def test_the_tornado_varies_what_people_misjudge() -> None:
    names = {bar.name for bar in usual().tornado.bars}

    assert names >= {"context", "output length", "rate", "utilisation", "precision", "price"}
    assert "spot loss" in names  # gcp sells these cards on spot too


def test_half_full_replicas_cost_at_least_as_much() -> None:
    half = budget(asked(), BudgetWishes(utilisation=0.5))

    assert half.bill.usd >= usual().bill.usd
    assert half.bill.day.gpu_hours_worked > usual().bill.day.gpu_hours_worked


def test_more_of_what_can_wait_never_costs_more() -> None:
    costs = [mix.mix_usd_per_month for mix in usual().mix_curve]

    assert costs == sorted(costs, reverse=True)


def test_fewer_hours_never_cost_more_by_the_hour() -> None:
    by_hour = asked(Use(hours_per_day=Decimal(8)))
    metered = replace(by_hour, offers=replace(by_hour.offers, terms=frozenset({Term.HOURLY})))

    report = budget(metered)

    assert report.bill.usd < usual().bill.usd
    assert "how long a start takes" in report.not_known


def test_a_row_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        budget(asked(), BudgetWishes(row=1000))


def test_nothing_to_rent_is_said_with_the_gate() -> None:
    nowhere = replace(asked(), offers=replace(asked().offers, providers=frozenset({"oci"})))
    nothing = replace(nowhere, offers=replace(nowhere.offers, terms=frozenset({Term.WEEKLY})))

    with pytest.raises(InfeasibleError, match="Nothing serves"):
        budget(nothing)


def test_traffic_that_peaks_is_busy_for_a_part_of_the_day() -> None:
    traffic = Traffic(
        input_tokens=Tokens(1000), output_tokens=Tokens(200), tokens_per_day=2e7, peak_factor=6.0
    )

    report = budget(asked(traffic=traffic))

    assert busy_hours_per_day(report.bill) == pytest.approx(4.0)


def test_a_term_is_worth_its_price_in_hours() -> None:
    even = term_against_hourly(
        term="monthly", term_usd=1440, term_hours=720, hourly_usd_per_hour=3, used_hours=500
    )

    assert even.value == 480
    assert "67% of its 720 h" in even.sentence
    assert even.sentence.endswith("monthly is cheaper.")


def test_a_term_dearer_than_all_its_hours_is_never_worth_it() -> None:
    even = term_against_hourly(
        term="monthly", term_usd=3000, term_hours=720, hourly_usd_per_hour=3, used_hours=720
    )

    assert "by the hour is always cheaper" in even.sentence


def test_spot_that_is_dearer_never_breaks_even() -> None:
    even = spot_against_on_demand(
        on_demand_usd_per_hour=1.0, spot_usd_per_hour=1.2, risk=SpotRisk()
    )

    assert even.value is None
    assert "not cheaper" in even.sentence


def test_spot_that_lives_shorter_than_a_restart_does_no_work() -> None:
    even = spot_against_on_demand(
        on_demand_usd_per_hour=1.0,
        spot_usd_per_hour=0.3,
        risk=SpotRisk(life_s=Seconds(300.0), restart_s=Seconds(480.0)),
    )

    assert "no work" in even.sentence


def test_cached_input_lowers_what_an_api_asks() -> None:
    prices = prices_for(resolve_model("gpt-oss-120b"))

    plain, cached = (
        own_against_api(
            own_usd=500,
            prices=prices,
            input_tokens=9e8,
            output_tokens=1e8,
            capacity_tokens=1e10,
            cached_share=share,
        )
        for share in (0.0, 0.8)
    )

    assert plain is not None
    assert cached is not None
    assert plain.value is not None
    assert cached.value is not None
    assert cached.value > plain.value


def test_sleeping_pays_up_to_the_hours_that_always_on_costs() -> None:
    even = zero_against_always_on(
        usd_per_hour=2.0,
        always_usd_per_month=730.0,  # $24 a day, twelve hours at $2
        busy_hours_per_day=4,
        starts_per_day=6,
        cold_start_s=600,
    )

    assert even.value == pytest.approx(11.0)  # 12 h less 6 starts of ten minutes
    assert "scaling to zero is cheaper" in even.sentence
    assert f"${5 * 2 * 730 / 24:,.0f}" in even.sentence  # 4 h and 1 h of starts


def test_a_newer_card_wins_below_the_price_at_which_both_do_as_much() -> None:
    newer = Contender(name="new", usd_per_hour=4.0, gpus=1, largest_rate=6.0)
    older = Contender(name="old", usd_per_hour=3.0, gpus=2, largest_rate=3.0)

    even = newer_against_older(newer, older, rate=6.0, name="x")

    assert even.value == 6.0  # $3 x 6 / 3 for one GPU
    assert even.yours == 4.0
    assert "new is cheaper" in even.sentence  # $2,920 against two of $2,190


def test_a_spare_is_a_matter_of_the_binomial() -> None:
    rates = failure_rates(8, failure_s=Seconds(99 * 3600.0), repair_s=Seconds(3600.0))
    rows = redundancies(2, replace(rates, region_availability=1.0), usd_each=100.0)

    # up 99 % each: both 0.9801; of three at least two 3 x 0.99² x 0.01 + 0.99³
    assert rows[0].availability == pytest.approx(0.9801)
    assert rows[1].availability == pytest.approx(3 * 0.9801 * 0.01 + 0.970299)
    assert rows[3].availability == pytest.approx(1 - 0.0199**2)
    assert "$100 more a month" in redundancy_sentence(rows, period="a month", days=730 / 24)


def test_failures_grow_with_the_gpus_of_an_instance() -> None:
    assert failure_rates(8).failure_hours == pytest.approx(failure_rates(1).failure_hours / 8)
    assert failure_rates(1).failure_hours == pytest.approx(50_677, abs=1)  # 16,384 x 54 x 24 / 419


def test_batch_work_fills_idle_instances_before_spot() -> None:
    mix = mix_of(
        batch_share=0.5,
        instances_of_work=1.4,
        on_demand_usd_per_hour=2.0,
        spot_usd_per_hour=1.0,
        risk=SpotRisk(life_s=Seconds(4800.0), restart_s=Seconds(480.0)),
    )

    # live 0.7 fits one instance, which takes 0.3 of the batch; 0.4 x 24 h / 0.9 on spot
    assert mix is not None
    assert mix.live_instances == 1
    assert mix.spot_instance_hours_per_day == pytest.approx(0.4 * 24 / 0.9)
    assert mix.all_on_demand_usd_per_month == 2920


def test_spot_without_time_for_work_is_no_mix() -> None:
    risk = SpotRisk(life_s=Seconds(60.0))

    assert (
        mix_of(
            batch_share=0.5,
            instances_of_work=1,
            on_demand_usd_per_hour=2,
            spot_usd_per_hour=1,
            risk=risk,
        )
        is None
    )


def test_daily_tokens_apart_make_a_request() -> None:
    traffic = with_daily_tokens(
        Traffic(output_tokens=Tokens(250)), input_per_day=40e6, output_per_day=10e6
    )

    assert traffic.input_tokens == 1000  # 40,000 requests of 250 out
    assert traffic.tokens_per_day == pytest.approx(50e6)


@pytest.mark.parametrize(
    ("traffic", "amounts"),
    [
        (Traffic(), (1e6, None)),
        (Traffic(tokens_per_day=1e6), (1e6, 1e6)),
        (Traffic(input_tokens=Tokens(10), output_tokens=Tokens(10)), (5e6, 1e6)),
    ],
)
def test_daily_tokens_that_contradict_are_refused(
    traffic: Traffic, amounts: tuple[float | None, float | None]
) -> None:
    with pytest.raises(ContradictoryOptionsError):
        with_daily_tokens(traffic, input_per_day=amounts[0], output_per_day=amounts[1])


def test_own_exchange_rates_move_only_their_currency() -> None:
    euro = replace(PLAIN, currency="EUR", price=Decimal(10))

    moved = offers_at((PLAIN, euro), {"EUR": Decimal("1.5")})

    assert [offer.price_usd_per_gpu_hour for offer in moved] == [2, 15]
    assert offers_at((PLAIN,), {}) == (PLAIN,)


@pytest.mark.parametrize(
    "wrong", [{"utilisation": 0.0}, {"batch_share": 1.5}, {"row": 0}, {"starts_per_day": -1.0}]
)
def test_wishes_that_cannot_be_meant_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidQuantityError):
        BudgetWishes(**wrong)  # type: ignore[arg-type]  # one wrong field at a time


def test_every_api_price_is_of_a_model_that_is_known() -> None:
    for price in api_prices():
        assert model_catalogue().find(price.model_id) is not None, price
        assert price.source.where
        assert 0 < price.input_usd_per_million <= price.output_usd_per_million
        cached = price.cached_input_usd_per_million
        assert cached is None or 0 < cached <= price.input_usd_per_million


def test_a_model_without_a_price_takes_those_of_its_class_and_says_so() -> None:
    same = prices_for(resolve_model("llama-3.1-70b"))
    other = prices_for(resolve_model("qwen2.5-14b"))

    assert same.is_same_model
    assert not other.is_same_model
    assert other.prices
    assert "none is listed for this one" in other.said
    assert size_class(8e9) == "up to 10B"
    assert size_class(671e9) == "above 130B"


def test_a_machine_that_rests_fetches_its_model_at_each_start() -> None:
    resting = question("llama-3.1-8b", wishes=Wishes(gpus=GPUS, use=Use(hours_per_day=Decimal(8))))
    always = question("llama-3.1-8b", wishes=Wishes(gpus=GPUS))

    assert resting.use.download_bytes == pytest.approx(16.06e9, rel=0.01)  # 8.03 G weights, 16 bit
    assert always.use.download_bytes == 0
    assert any("fetches the checkpoint" in said for said in resting.assumptions)
