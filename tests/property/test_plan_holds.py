from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.plan.question import Wishes
from caudal.plan.report import PlanReport
from caudal.traffic.slo import Objective
from caudal.vocabulary.units import RequestsPerSecond, Seconds
from plan_cases import HEADLINE, HEADLINE_SLO, answer, few_gpus, question

GPUS = few_gpus("h100-sxm", "mi300x")


def ask(rate: float, slack: float) -> PlanReport:
    bounds = tuple(
        Objective(bound.metric, bound.percentile, Seconds(bound.at_most_s * slack))
        for bound in HEADLINE_SLO
    )
    return answer(
        question(
            traffic=replace(HEADLINE, rate=RequestsPerSecond(rate)),
            objectives=bounds,
            wishes=Wishes(gpus=GPUS, precisions=("fp8",)),
        )
    )


def cheapest(report: PlanReport) -> float:
    return float(report.rows[0].price.usd_per_month) if report.rows else float("inf")


@settings(max_examples=15, deadline=None)
@given(rate=st.floats(0.01, 40), more=st.floats(1.0, 4.0))
def test_more_traffic_never_costs_less(rate: float, more: float) -> None:
    assert cheapest(ask(rate, 1.0)) <= cheapest(ask(rate * more, 1.0))


@settings(max_examples=15, deadline=None)
@given(rate=st.floats(0.01, 40), slack=st.floats(0.2, 1.0), more=st.floats(1.0, 4.0))
def test_a_looser_slo_never_costs_more(rate: float, slack: float, more: float) -> None:
    assert cheapest(ask(rate, slack * more)) <= cheapest(ask(rate, slack))
