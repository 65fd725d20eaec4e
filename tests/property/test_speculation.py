from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speed_cases as cases
from caudal.facts.gpus import gpu_catalogue
from caudal.fit.serving import Serving
from caudal.fit.speculation import Speculation
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import capacity_curve
from caudal.speed.steps import Floats, decode_step_seconds
from caudal.speed.work import step_work

GPUS = GpuColumns.of([gpu_catalogue().get(name) for name in ("h100-sxm", "mi300x", "rtx-4090")])
MODELS = (
    cases.model(),
    cases.model(mixer=cases.attention(window=1024)),
    cases.model(feed_forward=cases.mixture()),
)
SERVINGS = (cases.serving(), cases.serving(weights="fp8"), cases.serving(tensor=2))
servings = st.sampled_from(SERVINGS)
shares = st.floats(0, 1)
drafts = st.integers(0, 16)
batches = st.integers(1, 1024)


def token_s(model: int, serving: Serving, batch: int, speculation: Speculation | None) -> Floats:
    work = step_work(MODELS[model], replace(serving, speculation=speculation))
    return decode_step_seconds(work, GPUS, batch=batch, context_tokens=2000)


@given(model=st.integers(0, 2), serving=servings, batch=batches, k=drafts, share=shares)
def test_drafts_that_are_never_kept_never_help(
    model: int, serving: Serving, batch: int, k: int, share: float
) -> None:
    drafted = Speculation(acceptance=0.0, draft_tokens=k, draft_share=share)

    assert (
        token_s(model, serving, batch, drafted)
        >= token_s(model, serving, batch, None) * (1 - 1e-12)
    ).all()


@given(model=st.integers(0, 2), serving=servings, batch=batches, acceptance=shares)
def test_no_drafts_change_nothing(
    model: int, serving: Serving, batch: int, acceptance: float
) -> None:
    drafted = Speculation(acceptance=acceptance, draft_tokens=0)

    assert np.allclose(
        token_s(model, serving, batch, None), token_s(model, serving, batch, drafted), rtol=1e-12
    )


@given(model=st.integers(0, 2), serving=servings, batch=batches, k=drafts, low=shares, high=shares)
def test_more_acceptance_is_never_slower(
    model: int, serving: Serving, batch: int, k: int, low: float, high: float
) -> None:
    low, high = sorted((low, high))
    slow, fast = (
        token_s(model, serving, batch, Speculation(acceptance=each, draft_tokens=k))
        for each in (low, high)
    )

    assert (fast <= slow * (1 + 1e-12)).all()


@given(acceptance=st.floats(0, 0.999), k=drafts)
def test_tokens_a_step_are_those_of_the_paper(acceptance: float, k: int) -> None:
    expected = (1 - acceptance ** (k + 1)) / (1 - acceptance)

    drafted = Speculation(acceptance=acceptance, draft_tokens=k)

    assert expected == pytest.approx(drafted.tokens_per_step)
    assert 1 <= drafted.tokens_per_step <= k + 1


@given(batch=batches, k=st.integers(1, 16))
def test_a_token_never_takes_less_than_a_step_shared_by_all_that_it_yields(
    batch: int, k: int
) -> None:
    drafted = Speculation(acceptance=1.0, draft_tokens=k)

    assert (
        token_s(0, SERVINGS[0], batch, drafted)
        >= token_s(0, SERVINGS[0], batch, None) / (k + 1) * (1 - 1e-12)
    ).all()


@given(acceptance=shares, k=drafts)
def test_a_larger_batch_still_carries_more(acceptance: float, k: int) -> None:
    drafted = Speculation(acceptance=acceptance, draft_tokens=k)
    work = step_work(MODELS[0], replace(SERVINGS[0], speculation=drafted))
    curve = capacity_curve(
        work, GPUS, input_tokens=1000, output_tokens=300, batches=[1, 8, 64, 512]
    )

    assert (np.diff(curve.tpot_s, axis=1) >= 0).all()
    assert np.allclose(curve.request_rate * 300, curve.output_tok_s)
