from dataclasses import replace

import pytest

from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.answer import USUAL_COUNTS, FitQuestion, answer_fit
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import InvalidLayoutError, InvalidQuantityError
from caudal.vocabulary.units import GIB, Bytes, Tokens

H100 = gpu_catalogue().get("h100-sxm")
T4 = gpu_catalogue().get("t4")
LLAMA = FitQuestion(
    model=resolve_model("llama-3.1-70b"),
    gpus=(H100,),
    counts=None,
    layout=None,
    weight_format=weight_format("fp8"),
    kv_format=kv_format("bf16"),
    engine=engine("vllm"),
    context_tokens=Tokens(8192),
    concurrency=32,
)


def test_the_usual_numbers_of_one_node_are_tried() -> None:
    report = answer_fit(LLAMA)

    assert USUAL_COUNTS == tuple(row.gpus for row in report.rows)
    assert report.smallest is not None
    assert report.smallest.gpus == 4


def test_only_the_numbers_asked_for_are_tried() -> None:
    report = answer_fit(replace(LLAMA, counts=(1, 2)))

    assert [row.gpus for row in report.rows] == [1, 2]
    assert report.smallest is None


def test_a_layout_asked_for_decides_the_number() -> None:
    report = answer_fit(replace(LLAMA, layout=Layout(tensor=2, pipeline=2)))

    assert [row.gpus for row in report.rows] == [4]


def test_what_does_not_fit_is_told_what_would_help() -> None:
    row = answer_fit(replace(LLAMA, counts=(2,))).rows[0]

    assert row.mends
    assert row.mends[0].verdict is Verdict.FITS
    assert not row.flags


def test_what_fits_is_told_how_to_start_the_engine() -> None:
    row = answer_fit(replace(LLAMA, counts=(4,))).rows[0]

    assert not row.mends
    assert "--tensor-parallel-size 4" in row.flags


def test_a_card_in_use_holds_less() -> None:
    whole = answer_fit(LLAMA).rows[2]
    part = answer_fit(replace(LLAMA, free_bytes=Bytes(40 * GIB))).rows[2]

    assert whole.memory is not None
    assert part.memory is not None
    assert part.memory.kv_pool_bytes.value < whole.memory.kv_pool_bytes.value


def test_a_format_that_does_not_run_never_fits() -> None:
    report = answer_fit(replace(LLAMA, gpus=(T4,), weight_format=weight_format("nvfp4")))

    assert all(not row.fits for row in report.rows)


def test_a_number_without_a_legal_layout_is_said_to_have_none() -> None:
    single = replace(LLAMA, engine=engine("tensorrt-llm"), counts=(7,))

    row = answer_fit(single).rows[0]

    assert row.layout is None or row.layout.gpus == 7
    assert row.verdict is not Verdict.FITS or row.layout is not None


def test_an_illegal_layout_asked_for_is_an_error() -> None:
    with pytest.raises(InvalidLayoutError, match="64 attention heads"):
        answer_fit(replace(LLAMA, layout=Layout(tensor=3)))


def test_a_context_beyond_the_models_own_is_an_error() -> None:
    with pytest.raises(InvalidQuantityError, match="131,072"):
        answer_fit(replace(LLAMA, context_tokens=Tokens(200_000)))


def test_slots_of_llama_cpp_are_as_many_as_asked() -> None:
    question = replace(
        LLAMA,
        engine=engine("llama.cpp"),
        weight_format=weight_format("q4_k_m"),
        counts=(1,),
        concurrency=2,
    )

    few = answer_fit(question).rows[0]
    many = answer_fit(replace(question, concurrency=8)).rows[0]

    assert few.memory is not None
    assert many.memory is not None
    assert few.memory.kv_needed_bytes < many.memory.kv_needed_bytes
