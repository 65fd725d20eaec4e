from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.offers.offer import Age, Term
from caudal.offers.query import OfferQuery
from caudal.plan.question import Traffic, Wishes
from caudal.plan.report import Gate
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens
from plan_cases import HEADLINE, HEADLINE_SLO, answer, few_gpus, question

HEADLINE_REPORT = answer(question())


def test_rows_are_ranked_by_the_months_price() -> None:
    prices = [row.price.usd_per_month for row in HEADLINE_REPORT.rows]

    assert prices
    assert sorted(prices) == prices
    assert [row.rank for row in HEADLINE_REPORT.rows] == list(range(1, len(prices) + 1))


def test_every_row_keeps_the_bounds_that_were_asked_for() -> None:
    for row in HEADLINE_REPORT.rows:
        asked = [latency for latency in row.operation.latencies if latency.at_most_s is not None]

        assert len(asked) == len(HEADLINE_SLO)
        assert all(latency.kept for latency in asked), row


def test_every_row_carries_the_load() -> None:
    for row in HEADLINE_REPORT.rows:
        assert row.operation.largest_rate.value >= 5.0
        assert row.operation.request_rate == pytest.approx(5.0)
        assert row.memory.concurrency.value >= row.operation.batch


def test_memory_terms_add_up_to_no_more_than_the_card() -> None:
    for row in HEADLINE_REPORT.rows:
        memory = row.memory
        used = memory.weights_bytes.value + memory.kv_pool_bytes.value + memory.other_bytes.value

        assert used <= memory.usable_bytes.value


def test_gates_count_every_candidate_once() -> None:
    reports = {report.gate: report for report in HEADLINE_REPORT.gates}

    assert reports[Gate.LAYOUT].reached == HEADLINE_REPORT.considered.candidates
    for before, after in (
        (Gate.LAYOUT, Gate.PRECISION),
        (Gate.PRECISION, Gate.FIT),
        (Gate.FIT, Gate.OFFER),
        (Gate.OFFER, Gate.SLO),
        (Gate.SLO, Gate.INSTANCE),
    ):
        assert reports[before].reached - reports[before].fell == reports[after].reached


def test_a_gate_at_which_something_fell_names_the_nearest_miss() -> None:
    for report in HEADLINE_REPORT.gates:
        assert (report.nearest is not None) == bool(report.fell)
        if report.nearest is not None:
            assert report.nearest.candidate
            assert report.nearest.reason
            assert report.nearest.mend


def test_an_impossible_bound_names_the_gate_that_binds() -> None:
    report = answer(question(objectives=(Objective(Metric.TTFT, 0.95, Seconds(0.001)),)))

    assert report.rows == ()
    assert report.binding_gate is not None
    assert report.binding_gate.gate is Gate.SLO
    assert report.binding_gate.nearest is not None


def test_a_card_too_small_falls_at_memory() -> None:
    wishes = Wishes(gpus=few_gpus("rtx-4090", counts=(1,)), precisions=("bf16",))

    report = answer(question(wishes=wishes))

    assert report.binding_gate is not None
    assert report.binding_gate.gate is Gate.FIT


def test_a_provider_without_the_card_falls_at_offers() -> None:
    wishes = Wishes(gpus=few_gpus("mi300x"), offers=OfferQuery(providers=frozenset({"gcp"})))

    report = answer(question(wishes=wishes))

    assert report.binding_gate is not None
    assert report.binding_gate.gate is Gate.OFFER


def test_a_small_budget_names_the_cheapest_that_would_do() -> None:
    report = answer(question(wishes=Wishes(budget_usd_per_month=Decimal(10))))

    assert report.binding_gate is not None
    assert report.binding_gate.gate is Gate.BUDGET
    assert report.binding_gate.nearest is not None
    assert "$" in report.binding_gate.nearest.mend


def test_a_budget_keeps_what_it_can_pay() -> None:
    budget = HEADLINE_REPORT.rows[1].price.usd_per_month

    report = answer(question(wishes=Wishes(budget_usd_per_month=budget)))

    assert [row.price.usd_per_month for row in report.rows] == [
        row.price.usd_per_month for row in HEADLINE_REPORT.rows if row.price.usd_per_month <= budget
    ]


def test_a_fixed_number_of_gpus_is_used_in_full() -> None:
    wishes = Wishes(gpus=few_gpus("h100-sxm", counts=(8,)))

    report = answer(question(wishes=wishes))

    assert report.rows
    assert {row.gpus for row in report.rows} == {8}


def test_too_few_gpus_for_the_load_says_how_many_it_takes() -> None:
    wishes = Wishes(gpus=few_gpus("h100-sxm", counts=(4,)))
    heavy = replace(HEADLINE, rate=RequestsPerSecond(50.0))

    report = answer(question(traffic=heavy, wishes=wishes))

    assert report.binding_gate is not None
    assert report.binding_gate.gate is Gate.SLO
    assert report.binding_gate.nearest is not None
    assert "replicas" in report.binding_gate.nearest.reason


def test_users_share_the_replicas_evenly() -> None:
    traffic = Traffic(users=40, context_tokens=Tokens(8192))

    report = answer(question(traffic=traffic, objectives=()))

    assert report.rows
    for row in report.rows:
        assert row.operation.batch == pytest.approx(40 / row.operation.replicas)


def test_batch_work_is_priced_at_the_tokens_of_the_day() -> None:
    traffic = Traffic(tokens_per_day=5e7, batch=True)

    report = answer(question("qwen3-32b", traffic=traffic, objectives=()))

    row = report.rows[0]
    hours = float(row.price.offer.month_hours)
    tokens = 5e7 / 24 * hours
    assert float(row.price.usd_per_million_tokens) == pytest.approx(
        float(row.price.usd_per_month) / tokens * 1e6, rel=1e-6
    )


def test_batch_work_without_an_amount_runs_at_full_load() -> None:
    report = answer(question("qwen3-32b", traffic=Traffic(batch=True), objectives=()))

    row = report.rows[0]
    assert row.operation.request_rate == pytest.approx(row.operation.largest_rate.value)


def test_prices_too_old_to_quote_are_not_quoted() -> None:
    assert all(row.price.age is not Age.HISTORICAL for row in HEADLINE_REPORT.rows)


def test_live_traffic_gets_no_spot_offer_unless_asked() -> None:
    asked = question(wishes=Wishes(offers=OfferQuery(terms=frozenset({Term.SPOT}))))

    spot = answer(asked)

    assert all(row.price.offer.term is not Term.SPOT for row in HEADLINE_REPORT.rows)
    assert all(row.price.offer.term is Term.SPOT for row in spot.rows)
    assert all(any("spot" in warning for warning in row.warnings) for row in spot.rows)


def test_the_same_question_gets_the_same_answer() -> None:
    assert answer(question()) == HEADLINE_REPORT
