from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.plan.cards import card_break_even, hourly_offers
from caudal.plan.pareto import merits_of, pareto_front
from caudal.plan.position import Position, bill_of, settled
from caudal.plan.question import Traffic, Wishes
from caudal.plan.report import PlanRow
from caudal.plan.single import candidate_of, replicas_for
from caudal.plan.token_money import day_of, token_prices
from caudal.plan.use import Use
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.errors import ContradictoryOptionsError
from caudal.vocabulary.units import RequestsPerSecond, Tokens
from plan_cases import answer, book, few_gpus, question

ASKED = question(wishes=Wishes(gpus=few_gpus("h100-sxm", "a100-80g-sxm", "l40s"), top=8))
ROWS = answer(ASKED).rows
OPEN = Workload(
    input_tokens=Tokens(1000),
    output_tokens=Tokens(100),
    mode=Mode.OPEN,
    rate=RequestsPerSecond(4.0),
)


def position_of(row: PlanRow) -> Position:
    return Position(
        model=ASKED.model,
        serving=row.serving,
        gpu=row.gpu,
        offer=row.price.offer,
        workload=ASKED.workload,
        slo=ASKED.slo,
        use=Use(),
    )


@pytest.mark.parametrize("row", ROWS[:6], ids=lambda row: f"{row.gpu.id}-{row.rank}")
def test_one_serving_alone_is_what_the_search_found(row: PlanRow) -> None:
    candidate = candidate_of(
        ASKED.model, row.serving, row.gpu, workload=ASKED.workload, slo=ASKED.slo
    )

    assert candidate is not None
    assert row.operation.replicas == candidate.replicas
    assert row.operation.largest_rate.value == pytest.approx(
        candidate.largest_rate * candidate.replicas
    )


@pytest.mark.parametrize("row", ROWS[:6], ids=lambda row: f"{row.gpu.id}-{row.rank}")
def test_the_bill_of_a_row_is_what_the_plan_says(row: PlanRow) -> None:
    bill = bill_of(position_of(row))

    assert bill is not None
    assert float(row.price.usd_per_month) == pytest.approx(bill.usd, abs=0.01)


def test_a_settled_bill_is_never_dearer() -> None:
    row = ROWS[0]
    bill = bill_of(position_of(row))
    best = settled(position_of(row), ())

    assert bill is not None
    assert best is not None
    assert best.usd <= bill.usd


def test_replicas_carry_the_load_at_the_share_that_is_allowed() -> None:
    assert replicas_for(OPEN, batch=8, largest_rate=2.0, share=1.0) == 2
    assert replicas_for(OPEN, batch=8, largest_rate=2.0, share=0.8) == 3  # 4 / 1.6
    users = replace(OPEN, mode=Mode.CLOSED, rate=None, users=30)
    assert replicas_for(users, batch=8.9, largest_rate=2.0, share=1.0) == 4  # 30 / 8


def test_a_days_bill_is_divided_by_the_time_that_each_kind_of_token_takes() -> None:
    bill = bill_of(position_of(ROWS[0]))
    assert bill is not None
    day = bill.day

    prices = token_prices(240.0, day)

    # 5 requests/s of 2,000 and 300 tokens: 864 M in and 129.6 M out a day
    assert day.input_tokens == pytest.approx(864e6)
    assert day.output_tokens == pytest.approx(129.6e6)
    both = prices.input_usd_per_million * 864 + prices.output_usd_per_million * 129.6
    assert both == pytest.approx(240.0)
    assert prices.usd_per_million == pytest.approx(240.0 / 993.6)
    assert prices.input_usd_per_million == pytest.approx(240 * day.prefill_share / 864)


def test_gpu_hours_are_requests_by_what_a_gpu_does_in_an_hour() -> None:
    bill = bill_of(position_of(ROWS[0]))
    assert bill is not None
    candidate, day = bill.candidate, bill.day

    each = candidate.largest_rate * 3600 / candidate.shape.serving.layout.gpus

    assert day.gpu_hours_worked == pytest.approx(5 * 86400 / each)
    assert day.utilisation == pytest.approx(day.gpu_hours_worked / day.gpu_hours_rented)


def test_batch_work_without_an_amount_has_no_day() -> None:
    bill = bill_of(position_of(ROWS[0]))
    assert bill is not None
    work = replace(OPEN, mode=Mode.BATCH, rate=None)

    with pytest.raises(ContradictoryOptionsError):
        day_of(bill.candidate, work, utilisation=1.0, hours_per_day=24.0, gpu_hours_rented=24.0)


def test_no_row_of_the_front_is_beaten_by_any_other() -> None:
    front = pareto_front(ROWS)

    assert ROWS[0] in front  # nothing is cheaper
    for row in front:
        mine = merits_of(row)
        for other in ROWS:
            theirs = merits_of(other)
            beaten = theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True))
            assert not beaten
    for row in [row for row in ROWS if row not in front]:
        assert any(
            all(a <= b for a, b in zip(merits_of(other), merits_of(row), strict=True))
            for other in front
        )


def test_a_newer_card_is_compared_with_twice_as_many_older_ones() -> None:
    offers = book().select(ASKED.offers)
    contenders = hourly_offers(tuple(offers), tuple(spec for w in ASKED.gpus for spec in w.specs))

    found = list(card_break_even(position_of(ROWS[0]), contenders))

    for even in found:
        assert "FP8 on" in even.name
        assert even.value is not None
        assert even.value > 0


def test_hours_squeeze_a_days_tokens_into_a_higher_rate() -> None:
    traffic = Traffic(
        input_tokens=Tokens(900), output_tokens=Tokens(100), tokens_per_day=86_400_000.0
    )
    all_day = question(traffic=traffic)
    half = question(
        traffic=traffic, wishes=Wishes(gpus=few_gpus(), use=Use(hours_per_day=Decimal(12)))
    )

    assert all_day.workload.rate == pytest.approx(1.0)
    assert half.workload.rate == pytest.approx(2.0)
    assert half.workload.mean_rate == pytest.approx(1.0)
