import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import speed_cases as cases
from caudal.facts.gpus import gpu_catalogue
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import capacity_curve, steady_state_closed
from caudal.speed.steps import decode_step_seconds, prefill_seconds
from caudal.speed.work import StepWork, step_work

GPUS = GpuColumns.of(gpu_catalogue().all)
KNOWN = np.isfinite(GPUS.bf16_flop_per_s) & np.isfinite(GPUS.link_bytes_per_s)
WORKS = [
    step_work(cases.model(), cases.serving()),
    step_work(cases.model(), cases.serving(weights="fp8", name="sglang")),
    step_work(cases.model(), cases.serving(weights="int4", tensor=2)),
    step_work(cases.model(), cases.serving(weights="q4_k_m", pipeline=2, name="llama.cpp")),
    step_work(cases.model(mixer=cases.attention(window=1024)), cases.serving(tensor=4)),
    step_work(cases.model(mixer=cases.latent()), cases.serving(tensor=8, name="tensorrt-llm")),
    step_work(cases.model(feed_forward=cases.mixture()), cases.serving(weights="fp8")),
    step_work(cases.model(feed_forward=cases.mixture()), cases.serving(), data=8),
]
works = st.sampled_from(WORKS)
tokens = st.integers(1, 100_000)
batches = st.integers(1, 2048)


def best_rate(work: StepWork) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the fastest arithmetic that any matrix of the work may use on each GPU."""
    plain = (GPUS.bf16_flop_per_s * GPUS.half_accumulate_gain)[KNOWN]
    return np.fmax(plain, GPUS.native_rate(work.arithmetic)[KNOWN])


@given(work=works, batch=batches, context=tokens)
def test_a_decode_step_never_beats_the_memory(work: StepWork, batch: int, context: int) -> None:
    part = batch / work.microbatches
    weights = sum(
        matrix.weight_bytes * (1 - (1 - matrix.chosen / matrix.experts) ** part)
        if matrix.experts
        else matrix.weight_bytes
        for matrix in work.matrices
    )
    read = weights + part * sum(
        each.kv_bytes_per_token * min(context, each.window_tokens) for each in work.attention
    )

    seconds = decode_step_seconds(work, GPUS, batch=batch, context_tokens=context)

    assert (seconds[KNOWN] >= 0.999 * (read / GPUS.memory_bytes_per_s)[KNOWN]).all()


@given(work=works, batch=batches)
def test_a_decode_step_never_beats_the_arithmetic(work: StepWork, batch: int) -> None:
    flop = sum(matrix.flop_per_token for matrix in work.matrices) * batch / work.microbatches

    seconds = decode_step_seconds(work, GPUS, batch=batch, context_tokens=1)

    assert (seconds[KNOWN] >= 0.999 * flop / best_rate(work)).all()


@given(work=works, prompt=tokens)
def test_a_prefill_never_beats_the_arithmetic(work: StepWork, prompt: int) -> None:
    flop = sum(matrix.flop_per_token for matrix in work.matrices) * prompt / work.pipeline

    seconds = prefill_seconds(work, GPUS, prompt_tokens=prompt)

    assert (seconds[KNOWN] >= 0.999 * flop / best_rate(work)).all()


@given(work=works, batch=batches, more=st.integers(1, 500), context=tokens)
def test_a_larger_batch_never_steps_faster(
    work: StepWork, batch: int, more: int, context: int
) -> None:
    few, many = decode_step_seconds(
        work, GPUS, batch=[batch, batch + more], context_tokens=context
    )[KNOWN].T

    assert (few <= many * (1 + 1e-9)).all()


@given(work=works, batch=batches, context=tokens, more=tokens)
def test_a_longer_context_never_steps_faster(
    work: StepWork, batch: int, context: int, more: int
) -> None:
    short, long = decode_step_seconds(
        work, GPUS, batch=batch, context_tokens=[context, context + more]
    )[KNOWN].T

    assert (short <= long * (1 + 1e-9)).all()


@given(work=works, prompt=tokens, more=tokens)
def test_a_longer_prompt_never_prefills_faster(work: StepWork, prompt: int, more: int) -> None:
    short, long = prefill_seconds(work, GPUS, prompt_tokens=[prompt, prompt + more])[KNOWN].T

    assert (short <= long * (1 + 1e-9)).all()


@given(work=works, prompt=st.integers(1, 8000), output=st.integers(2, 2000))
def test_a_larger_batch_carries_a_higher_rate_at_a_longer_tpot(
    work: StepWork, prompt: int, output: int
) -> None:
    curve = capacity_curve(
        work, GPUS, input_tokens=prompt, output_tokens=output, batches=[1, 4, 16, 64, 256]
    )

    assert (np.diff(curve.tpot_s[KNOWN], axis=1) >= 0).all()
    assert np.allclose(curve.request_rate * output, curve.output_tok_s, equal_nan=True)


@given(work=works, users=st.integers(1, 1000), prompt=st.integers(1, 8000))
def test_no_more_sequences_decode_than_there_are_users(
    work: StepWork, users: int, prompt: int
) -> None:
    state = steady_state_closed(
        work, GPUS, concurrency=users, input_tokens=prompt, output_tokens=200
    )

    assert (state.batch[KNOWN] <= users * (1 + 1e-9)).all()
    held = state.request_rate * (state.ttft_s + 200 * state.tpot_s)
    assert (held[KNOWN] <= users * 1.3 + 1).all()
