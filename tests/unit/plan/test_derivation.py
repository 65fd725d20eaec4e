import re

import pytest

from caudal.plan.derivation import explain_row
from caudal.plan.question import Traffic
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.units import GIB, Seconds
from plan_cases import answer, question

REPORT = answer(question())
ROW = REPORT.rows[0]
STEPS = {step.name: step for step in explain_row(REPORT, ROW)}


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*\.?\d*", text)]


def test_the_derivation_walks_from_memory_to_price() -> None:
    sections = list(dict.fromkeys(step.section for step in STEPS.values()))

    assert sections == ["memory", "speed", "load", "price"]


def test_the_kv_pool_follows_from_the_terms_printed() -> None:
    share, usable, weights, *rest = numbers(STEPS["KV pool"].formula)

    assert numbers(STEPS["KV pool"].result)[0] == pytest.approx(
        share * usable - weights - sum(rest), abs=0.05
    )
    assert numbers(STEPS["KV pool"].result)[0] == pytest.approx(
        ROW.memory.kv_pool_bytes.value / GIB, abs=0.01
    )


def test_the_months_price_follows_from_the_factors_printed() -> None:
    instances, gpus, rate, hours = numbers(STEPS["a month"].formula)

    assert float(ROW.price.usd_per_month) == pytest.approx(
        instances * gpus * rate * hours, rel=1e-4
    )


def test_the_price_of_a_million_tokens_follows_from_the_factors_printed() -> None:
    step = STEPS["a million tokens, input and output together"]
    usd, rate, tokens, hours, seconds, *_ = numbers(step.formula)

    assert numbers(step.result)[0] == pytest.approx(
        usd / (rate * tokens * hours * seconds) * 1e6, rel=1e-3
    )


def test_a_decode_step_is_the_sum_of_its_parts() -> None:
    step = next(step for name, step in STEPS.items() if name.startswith("decode step of"))

    assert numbers(step.result)[0] == pytest.approx(sum(numbers(step.formula)), abs=0.003)


def test_no_decode_step_is_faster_than_its_ceiling() -> None:
    ceiling = next(step for name, step in STEPS.items() if name.startswith("ceiling"))
    step = next(step for name, step in STEPS.items() if name.startswith("decode step of"))

    assert numbers(ceiling.result)[0] <= numbers(step.result)[0]


def test_the_ttft_is_its_wait_prompt_and_step() -> None:
    formula = STEPS["TTFT p95, closed form"].formula
    wait = float(re.findall(r"= (\d+) ms, with", formula)[0])
    prompt, step = (float(found) for found in re.findall(r"(?:prompt|step) (\d+) ms", formula))

    assert numbers(STEPS["TTFT p95, closed form"].result)[0] == pytest.approx(
        wait + prompt + step, abs=3
    )


@pytest.mark.parametrize(
    "traffic", [Traffic(users=4), Traffic(batch=True), Traffic(tokens_per_day=1e6)]
)
def test_every_kind_of_load_can_be_derived(traffic: Traffic) -> None:
    bounds = () if traffic.batch else (Objective(Metric.E2E, 0.9, Seconds(60.0)),)
    report = answer(question("qwen3-8b", traffic=traffic, objectives=bounds))

    steps = explain_row(report, report.rows[0])

    assert all(step.name and step.result for step in steps)
