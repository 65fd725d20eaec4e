from dataclasses import replace
from functools import lru_cache

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.plan.budget_answer import plan_budget
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.comparisons import busy_hours_per_day, rents_of
from caudal.plan.question import Question, Traffic, Wishes
from caudal.plan.redundancy import FailureRates
from caudal.plan.spot_tier import SpotRisk
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens
from plan_cases import TODAY, answer, book, few_gpus, question

LITTLE = Traffic(input_tokens=Tokens(500), output_tokens=Tokens(100), rate=RequestsPerSecond(0.2))


def asked(traffic: Traffic = LITTLE) -> Question:
    wishes = Wishes(gpus=few_gpus("h100-sxm", "l4"), precisions=("bf16",), top=8)
    base = question("llama-3.1-8b", traffic=traffic, objectives=(), wishes=wishes)
    return replace(base, offers=replace(base.offers, providers=frozenset({"gcp", "aws"})))


def budget(which: Question, row: int = 1) -> BudgetReport:
    return plan_budget(
        which, BudgetWishes(row=row), book=book(), all_gpus=gpu_catalogue().all, today=TODAY
    )


@lru_cache(maxsize=1)
def too_large() -> BudgetReport:
    row = next(row for row in answer(asked()).rows if row.gpu.id == "h100-sxm")
    return budget(asked(), row.rank)


def test_a_card_that_stays_half_empty_is_named_with_a_smaller_one() -> None:
    advice = {item.name: item.sentence for item in too_large().advice}

    assert "GiB a GPU are used" in advice["a card larger than needed"]
    assert "L4" in advice["a card larger than needed"]


def test_a_fast_link_that_one_gpu_never_uses_is_named() -> None:
    advice = {item.name: item.sentence for item in too_large().advice}

    assert "instead of" in advice["NVLink paid for nothing"]


def test_the_cheapest_card_gets_neither() -> None:
    names = {item.name for item in budget(asked()).advice}

    assert not names & {"a card larger than needed", "NVLink paid for nothing"}


def test_users_who_wait_are_busy_all_the_time() -> None:
    report = budget(asked(replace(LITTLE, rate=None, users=4)))

    assert busy_hours_per_day(report.bill) == 24
    assert report.bill.day.requests > 0
    assert not any("FP8 on" in even.name for even in report.break_evens)


def test_work_that_can_wait_is_busy_for_as_long_as_it_takes() -> None:
    work = Traffic(
        input_tokens=Tokens(500), output_tokens=Tokens(100), tokens_per_day=1e6, batch=True
    )
    report = budget(asked(work))

    worked = report.bill.day.gpu_hours_worked / report.bill.candidate.gpus
    assert busy_hours_per_day(report.bill) == pytest.approx(worked)


def test_a_card_without_an_hourly_offer_is_compared_with_another_that_has_one() -> None:
    bill = budget(asked()).bill
    rows = answer(asked()).rows

    rents = rents_of(bill, (), rows)

    assert rents.same_card_hourly is None
    assert rents.hourly is not None
    assert "by the hour" in rents.hourly.name
    assert rents_of(bill, (), ()).hourly is None


def test_failures_and_lives_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(InvalidQuantityError):
        FailureRates(failure_hours=0, repair_hours=1, region_availability=1, basis="")
    with pytest.raises(InvalidQuantityError):
        SpotRisk(life_s=Seconds(0.0))
