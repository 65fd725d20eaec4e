from dataclasses import replace
from decimal import Decimal

import pytest

from caudal.facts.models import resolve_model
from caudal.offers.offer import Term
from caudal.offers.query import OfferQuery
from caudal.plan.question import (
    MLPERF_SERVER_SLO,
    TYPICAL_INPUT_TOKENS,
    TYPICAL_OUTPUT_TOKENS,
    Traffic,
    Wishes,
    workload_of,
)
from caudal.traffic.slo import Metric, Objective
from caudal.traffic.workload import Mode
from caudal.vocabulary.errors import (
    ContradictoryOptionsError,
    InvalidQuantityError,
    UnknownPrecisionError,
)
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens
from plan_cases import HEADLINE, HEADLINE_SLO, question

MODEL = resolve_model("llama-3.1-70b")
RATE = RequestsPerSecond(5.0)


def test_a_rate_with_lengths_needs_no_assumption() -> None:
    workload = workload_of(HEADLINE, MODEL)

    assert workload.assumptions == ()
    assert (workload.mode, workload.rate, workload.sequence_tokens) == (Mode.OPEN, 5.0, 2300)


def test_lengths_not_given_come_from_a_public_trace_and_are_written_down() -> None:
    workload = workload_of(Traffic(rate=RATE), MODEL)

    assert (workload.input_tokens, workload.output_tokens) == (
        TYPICAL_INPUT_TOKENS,
        TYPICAL_OUTPUT_TOKENS,
    )
    assert sum("Azure" in sentence for sentence in workload.assumptions) == 2


def test_users_of_a_context_fill_it() -> None:
    workload = workload_of(Traffic(users=40, context_tokens=Tokens(8192)), MODEL)

    assert workload.sequence_tokens == 8192
    assert (workload.mode, workload.users) == (Mode.CLOSED, 40)


def test_tokens_a_day_become_a_rate_of_whole_requests() -> None:
    traffic = Traffic(
        input_tokens=Tokens(900), output_tokens=Tokens(100), tokens_per_day=86_400_000.0
    )

    workload = workload_of(traffic, MODEL)

    assert workload.rate == pytest.approx(1.0)


def test_a_peak_factor_raises_what_must_be_carried_but_not_what_is_paid_for() -> None:
    traffic = Traffic(
        input_tokens=Tokens(900),
        output_tokens=Tokens(100),
        tokens_per_day=86_400_000.0,
        peak_factor=3.0,
    )

    workload = workload_of(traffic, MODEL)

    assert workload.rate == pytest.approx(3.0)
    assert workload.mean_rate == pytest.approx(1.0)


@pytest.mark.parametrize(
    "traffic",
    [
        Traffic(rate=RATE, users=3),
        Traffic(rate=RATE, tokens_per_day=1e6),
        Traffic(),
        Traffic(users=3, batch=True),
        Traffic(rate=RATE, peak_factor=2.0),
        Traffic(tokens_per_day=1e6, batch=True, peak_factor=2.0),
        Traffic(
            rate=RATE,
            input_tokens=Tokens(900),
            output_tokens=Tokens(200),
            context_tokens=Tokens(1000),
        ),
    ],
)
def test_loads_that_contradict_or_lack_each_other_are_refused(traffic: Traffic) -> None:
    with pytest.raises(ContradictoryOptionsError) as refused:
        workload_of(traffic, MODEL)

    assert refused.value.remedy


@pytest.mark.parametrize(
    "traffic",
    [
        Traffic(rate=RequestsPerSecond(0.0)),
        Traffic(rate=RequestsPerSecond(float("nan"))),
        Traffic(users=0),
        Traffic(rate=RATE, input_tokens=Tokens(-1)),
        Traffic(rate=RATE, input_tokens=Tokens(200_000)),
    ],
)
def test_amounts_that_cannot_be_meant_are_refused(traffic: Traffic) -> None:
    with pytest.raises(InvalidQuantityError) as refused:
        workload_of(traffic, MODEL)

    assert refused.value.remedy


def test_live_traffic_without_bounds_gets_mlperfs_and_says_so() -> None:
    asked = question(objectives=())

    assert asked.slo == MLPERF_SERVER_SLO
    assert any("MLPerf" in sentence for sentence in asked.assumptions)


def test_batch_work_takes_no_latency_bound() -> None:
    traffic = Traffic(tokens_per_day=5e7, batch=True)

    with pytest.raises(ContradictoryOptionsError):
        question(traffic=traffic, objectives=HEADLINE_SLO)


def test_batch_work_looks_at_spot_offers_and_live_traffic_does_not() -> None:
    batch = question(traffic=Traffic(tokens_per_day=5e7, batch=True), objectives=())
    live = question()

    assert batch.offers.terms is None
    assert live.offers.terms is not None
    assert Term.SPOT not in live.offers.terms


def test_terms_that_were_asked_for_are_kept() -> None:
    wishes = Wishes(offers=OfferQuery(terms=frozenset({Term.SPOT})))

    assert question(wishes=wishes).offers.terms == frozenset({Term.SPOT})


def test_native_precision_is_the_checkpoints() -> None:
    asked = question("deepseek-v3", wishes=Wishes(precisions=("native", "fp8-block")))

    assert asked.weight_formats == ("fp8-block",)


def test_an_unknown_precision_names_the_nearest() -> None:
    with pytest.raises(UnknownPrecisionError) as refused:
        question(wishes=Wishes(precisions=("fp9",)))

    assert "fp8" in refused.value.nearest


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_bound_that_nothing_or_everything_meets_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidQuantityError):
        question(objectives=(Objective(Metric.TTFT, 0.95, Seconds(seconds)),))


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidQuantityError):
        question(wishes=replace(Wishes(), budget_usd_per_month=Decimal(0)))
