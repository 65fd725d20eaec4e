from dataclasses import replace

import numpy as np
import pytest

from caudal.simulate.pace import replica_pace
from caudal.simulate.refusals import NoSpeedError
from caudal.simulate.setup import PAIR_SHIFT
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import decode_step_seconds, prefill_seconds
from caudal.speed.work import step_work
from simulated_deployments import gpu, model, serving

PACE = replica_pace(
    model(), serving().on(gpu()), gpu(), contexts=(1000.0, 1400.0), sequences=256, budget=8192
)


@pytest.mark.parametrize("batch", [1, 7, 100, 256])
@pytest.mark.parametrize("context", [1000, 1200, 1400])
def test_a_decode_step_is_that_of_the_speed_room(batch: int, context: int) -> None:
    work, columns = step_work(model(), serving().on(gpu())), GpuColumns.of([gpu()])
    expected = decode_step_seconds(work, columns, batch=batch, context_tokens=context)[0]

    step = int(PACE.times.decode[batch]) + int(PACE.times.context[batch]) * batch * context

    assert expected == pytest.approx(step * 1e-12, rel=max(PACE.error, 0.005))


@pytest.mark.parametrize("tokens", [1, 100, 3000, 8192])
@pytest.mark.parametrize("context", [0, 4000])
def test_a_prompt_step_is_that_of_the_speed_room(tokens: int, context: int) -> None:
    work, columns = step_work(model(), serving().on(gpu())), GpuColumns.of([gpu()])
    expected = prefill_seconds(work, columns, prompt_tokens=tokens, context_tokens=context)[0]

    half_pairs = tokens * (2 * context + tokens)
    step = int(PACE.times.prefill[tokens]) + (half_pairs * PACE.times.pair_q10 >> PAIR_SHIFT)

    assert expected == pytest.approx(step * 1e-12, rel=max(PACE.error, 0.02))


def test_steps_last_longer_the_more_is_in_them() -> None:
    assert np.all(np.diff(PACE.times.prefill) >= 0)
    assert np.all(np.diff(PACE.times.decode + PACE.times.context * np.arange(257) * 1200) >= 0)


def test_a_gpu_without_published_rates_has_no_steps() -> None:
    silent = replace(
        gpu(), dense_bf16_flop_per_s=None, dense_fp8_flop_per_s=None, dense_int8_flop_per_s=None
    )

    with pytest.raises(NoSpeedError, match="no rate"):
        replica_pace(
            model(), serving().on(gpu()), silent, contexts=(1.0, 2.0), sequences=4, budget=8
        )
