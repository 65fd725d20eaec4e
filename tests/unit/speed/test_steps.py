import numpy as np
import pytest

import speed_cases as cases
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import decode_step_seconds, prefill_seconds, spread
from caudal.speed.work import step_work
from caudal.vocabulary.estimate import Basis

GPUS = GpuColumns.of([cases.gpu(), cases.gpu("h200-sxm", bandwidth_tb=4.8)])


def test_numbers_give_one_result_a_gpu_and_arrays_one_a_gpu_and_entry() -> None:
    work = step_work(cases.model(), cases.serving())

    assert decode_step_seconds(work, GPUS, batch=8, context_tokens=1000).shape == (2,)
    assert decode_step_seconds(work, GPUS, batch=[1, 8, 64], context_tokens=1000).shape == (2, 3)
    assert prefill_seconds(work, GPUS, prompt_tokens=[100, 200]).shape == (2, 2)


def test_more_bandwidth_decodes_faster() -> None:
    work = step_work(cases.model(), cases.serving())

    slow, fast = decode_step_seconds(work, GPUS, batch=1, context_tokens=100)

    assert fast < slow


def test_a_gpu_without_a_published_rate_has_no_time() -> None:
    unknown = cases.gpu("mystery", bf16_tflops=float("nan"))
    work = step_work(cases.model(), cases.serving())

    seconds = prefill_seconds(work, GpuColumns.of([unknown]), prompt_tokens=100)

    assert np.isnan(seconds).all()


def test_eight_bit_weights_decode_faster_than_sixteen() -> None:
    plain = step_work(cases.model(), cases.serving())
    quantised = step_work(cases.model(), cases.serving(weights="fp8"))

    assert (
        decode_step_seconds(quantised, GPUS, batch=1, context_tokens=100)
        < decode_step_seconds(plain, GPUS, batch=1, context_tokens=100)
    ).all()


def test_a_long_prompt_on_a_cached_prefix_costs_less_than_the_whole() -> None:
    work = step_work(cases.model(), cases.serving())

    whole = prefill_seconds(work, GPUS, prompt_tokens=4000)
    rest = prefill_seconds(work, GPUS, prompt_tokens=1000, context_tokens=3000)

    assert (rest < whole).all()


def test_an_engine_and_gpu_never_measured_rest_on_the_roofline_alone() -> None:
    strange = GpuColumns.of([cases.gpu("strange-gpu")])
    work = step_work(cases.model(), cases.serving(name="sglang"))

    factor, basis = spread(work, strange, "tpot")

    assert factor[0] >= 1
    assert basis[0] in {Basis.CALIBRATED, Basis.ROOFLINE}


def test_prefill_of_twice_the_prompt_takes_about_twice_as_long() -> None:
    work = step_work(cases.model(), cases.serving())

    one = prefill_seconds(work, GPUS, prompt_tokens=4096)
    two = prefill_seconds(work, GPUS, prompt_tokens=8192)

    assert two == pytest.approx(2 * one, rel=0.2)
