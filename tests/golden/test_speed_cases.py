"""What people measured of speed, beside ours; each with where it was told.

Out of scope, and why: an RX 6900 XT is not in the catalogue (no rows of its generation); experts in
main memory are placed but not timed; a drafter's gain needs its acceptance rate, which the case
does not tell; what another simulator gets wrong is no figure of ours.
"""

import pytest

from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import SteadyState, steady_state_closed
from caudal.speed.steps import decode_step_seconds
from caudal.speed.work import StepWork, step_work
from caudal.vocabulary.units import Tokens


def work_on(model: str, gpu: str, precision: str, name: str) -> tuple[StepWork, GpuColumns]:
    card = gpu_catalogue().get(gpu)
    serving = Serving(
        engine=engine(name), weight_format=weight_format(precision), kv_format=kv_format("bf16")
    )
    return step_work(resolve_model(model), serving.on(card)), GpuColumns.of([card])


def one_stream(model: str, gpu: str, precision: str, name: str) -> float:
    work, gpus = work_on(model, gpu, precision, name)
    return 1 / float(decode_step_seconds(work, gpus, batch=1.0, context_tokens=1000.0)[0])


def users(model: str, gpu: str, precision: str, *, count: int, lengths: int) -> SteadyState:
    work, gpus = work_on(model, gpu, precision, "vllm")
    return steady_state_closed(
        work, gpus, concurrency=float(count), input_tokens=lengths, output_tokens=lengths
    )


@pytest.mark.parametrize(
    ("model", "gpu", "precision", "name", "tok_s"),
    [
        # 2.7 tok/s for one user of a DGX Spark: case speed-spark-70b-fp8
        # (dendro-logic.com, NVIDIA DGX Spark concurrency benchmark).
        ("llama-3.1-70b", "gb10", "fp8", "vllm", 2.7),
        # llama.cpp on AMD Strix Halo, 50 tok/s: case speed-strix-gptoss (vllm-project/vllm#34579).
        ("gpt-oss-120b", "strix-halo-128g", "mxfp4_moe", "llama.cpp", 50),
    ],
)
def test_one_stream_is_as_fast_as_was_measured(
    model: str, gpu: str, precision: str, name: str, tok_s: float
) -> None:
    assert one_stream(model, gpu, precision, name) == pytest.approx(tok_s, rel=0.25)


def test_a_larger_batch_explains_the_vendors_figure() -> None:
    """Case speed-8b-a100-batch (NVIDIA/TensorRT-LLM#2648): 2,000 tok/s, 5,500 in a large batch."""
    small = users("llama-3-8b", "a100-80g-sxm", "fp16", count=32, lengths=128)
    large = users("llama-3-8b", "a100-80g-sxm", "fp16", count=256, lengths=128)

    assert float(small.output_tok_s[0]) == pytest.approx(2000, rel=0.25)
    assert float(large.output_tok_s[0]) == pytest.approx(5500, rel=0.25)


def test_gpt_oss_on_one_a100_is_as_slow_a_token_as_was_measured() -> None:
    """Case speed-gptoss120b-1xa100 (docs.gpustack.ai): TPOT 94.6 ms, 4,769 tok/s in and out."""
    state = users("gpt-oss-120b", "a100-80g-sxm", "mxfp4", count=256, lengths=205)

    assert float(state.tpot_s[0]) == pytest.approx(0.0946, rel=0.3)
    assert 2 * float(state.output_tok_s[0]) == pytest.approx(4768.75, rel=0.3)


def test_a_405b_on_one_h100_has_no_speed_because_it_does_not_fit() -> None:
    """Case speed-aic-405b-1xh100 (ai-dynamo/aiconfigurator#509): TPOT 460 ms was given for it."""
    answer = answer_fit_question(
        FitAsked(
            model=resolve_model("llama-3.1-405b"),
            gpus=("h100-sxm:1",),
            precision="native",
            context=Tokens(2048),
            concurrency=1,
        )
    )

    assert answer.error is not None
    assert answer.error.code == "does-not-fit"
