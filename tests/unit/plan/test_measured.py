from dataclasses import replace

from caudal.cli.plan_text import report_text
from caudal.plan.question import Question, Traffic, Wishes
from caudal.plan.report import PlanReport
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.estimate import Basis
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens
from plan_cases import answer, few_gpus, question

USERS = Traffic(input_tokens=Tokens(7400), output_tokens=Tokens(920), users=16)
RATE = replace(USERS, users=None, rate=RequestsPerSecond(0.42))
SLO = (
    Objective(Metric.TTFT, 0.5, Seconds(5.0)),
    Objective(Metric.TPOT, 0.5, Seconds(0.1)),
    Objective(Metric.TPOT, 0.95, Seconds(0.2)),
)
WISHES = Wishes(
    gpus=few_gpus("h200-sxm", counts=(1,)), precisions=("fp8",), kv_precisions=("bf16",), top=1
)


def asked(traffic: Traffic) -> Question:
    return question(traffic=traffic, objectives=SLO, wishes=WISHES)


def bases(report: PlanReport) -> dict[str, Basis]:
    return {item.label: item.seconds.basis for item in report.rows[0].operation.latencies}


def test_a_percentile_that_was_measured_is_measured_and_its_row_is_named() -> None:
    report = answer(asked(USERS))
    points = {point.metric: point for point in report.rows[0].operation.measured}

    assert {
        "TTFT p50": Basis.MEASURED,
        "TPOT p50": Basis.MEASURED,
        "TPOT p95": Basis.CALIBRATED,
    } == bases(report)
    assert {"inferencex-aic-d6cf82dc33"} == {point.row_id for point in points.values()}
    predicted = points[Metric.TPOT].predicted_s
    assert predicted is not None
    assert predicted.basis is Basis.CALIBRATED


def test_ttft_of_a_closed_loop_is_not_told_of_random_arrivals() -> None:
    two = replace(WISHES, gpus=few_gpus("h200-sxm", counts=(2,)))
    report = answer(question(traffic=RATE, objectives=SLO, wishes=two))

    assert {Metric.TPOT} == {point.metric for point in report.rows[0].operation.measured}
    assert Basis.CALIBRATED is bases(report)["TTFT p50"]


def test_where_nobody_measured_nothing_is_said() -> None:
    report = answer(asked(replace(USERS, input_tokens=Tokens(3000))))

    assert () == report.rows[0].operation.measured
    assert "Measured by others" not in str(list(report_text(report, width=100)))


def test_the_row_is_named_under_the_table() -> None:
    sections = dict(report_text(answer(asked(USERS)), width=200))

    text = sections["Measured by others where a row runs"]
    assert "row 1: TPOT p50 47.5 ms, predicted " in text
    assert "(inferencex-aic-d6cf82dc33, Apache-2.0, 2025-10-29)" in text
