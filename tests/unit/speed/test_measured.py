from dataclasses import replace

import pytest

from caudal.facts.engines import engine
from caudal.facts.layout import Layout
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.speed.measured import MeasuredQuestion, nearest_measured

# A row of the silicon sample: 16 concurrent on one H200, 8192 / 1024 named, 0.9 of it run.
QUESTION = MeasuredQuestion(
    model_id="meta-llama/Llama-3.1-70B",
    gpu_id="h200-sxm",
    serving=Serving(
        engine=engine("vllm"), weight_format=weight_format("fp8"), kv_format=kv_format("bf16")
    ),
    concurrency=16.0,
    input_tokens=7372.8,
    output_tokens=921.6,
)


def test_the_row_of_the_very_point_is_found() -> None:
    row = nearest_measured(QUESTION)

    assert row is not None
    assert "inferencex-aic-d6cf82dc33" == row.id


@pytest.mark.parametrize("name", ["concurrency", "input_tokens", "output_tokens"])
@pytest.mark.parametrize(("factor", "near"), [(1.14, True), (1 / 1.14, True), (1.16, False)])
def test_loads_within_fifteen_per_cent_are_near(*, name: str, factor: float, near: bool) -> None:
    moved = replace(QUESTION, **{name: getattr(QUESTION, name) * factor})

    assert near == (nearest_measured(moved) is not None)


def test_another_engine_precision_layout_or_kv_is_another_question() -> None:
    serving = QUESTION.serving
    others = (
        replace(serving, engine=engine("sglang")),
        replace(serving, weight_format=weight_format("bf16")),
        replace(serving, layout=Layout(pipeline=2)),
        replace(serving, layout=Layout(tensor=2, expert=True)),
    )

    assert [None] * 4 == [nearest_measured(replace(QUESTION, serving=each)) for each in others]


def test_the_nearer_of_two_rows_is_taken() -> None:
    wider = replace(QUESTION, serving=replace(QUESTION.serving, layout=Layout(tensor=2)))
    row = nearest_measured(replace(wider, concurrency=30.0))

    assert row is not None
    assert 32.0 == row.concurrency
