from dataclasses import replace

import pytest

import speed_cases as cases
from caudal.calibrate.speed_cases import (
    engine_for,
    format_for,
    gpu_for,
    running_limit,
    speed_cases,
)
from caudal.calibrate.speed_rows import RowKind, SpeedRow
from caudal.fit.serving import Serving
from caudal.vocabulary.errors import InvalidFactError, UnknownGpuError

ROW = SpeedRow(
    id="row",
    kind=RowKind.SERVING,
    model="m",
    gpu="H100-SXM",
    gpus=4,
    engine="vLLM",
    engine_version="0.19.0",
    year=2026,
    precision="fp8",
    kv_format=None,
    tensor=4,
    pipeline=1,
    expert=1,
    data=1,
    disaggregated=False,
    input_tokens=1000.0,
    output_tokens=200.0,
    concurrency=16.0,
    request_rate=None,
    speculative=False,
    scenario="closed-loop",
    notes="",
    source="test",
    licence="MIT",
    quality="A",
    measured={},
)


def served(row: SpeedRow) -> Serving:
    return replace(cases.serving(), engine=engine_for(row)[0])


def test_a_stated_layout_is_taken_as_it_is() -> None:
    (case,) = speed_cases(ROW, cases.model())

    assert (case.work.tensor, case.work.pipeline, case.work.data) == (4, 1, 1)
    assert case.replicas == 1


def test_an_unstated_layout_may_be_any_that_divides_the_gpus() -> None:
    found = speed_cases(replace(ROW, tensor=None, pipeline=None), cases.model())

    assert {case.work.tensor for case in found} == {1, 2, 4}
    assert all(case.replicas * case.work.gpus == 4 for case in found)


def test_data_parallel_experts_share_the_sequences() -> None:
    row = replace(ROW, tensor=1, expert=4, data=4)

    (case,) = speed_cases(row, cases.model(feed_forward=cases.mixture()))

    assert case.work.data == 4
    assert case.replicas == 1


def test_separate_pools_are_read_from_the_notes() -> None:
    row = replace(
        ROW,
        gpus=20,
        disaggregated=True,
        notes="disaggregated: prefill 1w tp4 dp1 ep1, decode 2w tp8 dp1 ep8",
    )

    (case,) = speed_cases(row, cases.model(feed_forward=cases.mixture()))

    assert case.prefill_work is not None
    assert (case.prefill_work.tensor, case.work.tensor) == (4, 8)
    assert (case.prefill_replicas, case.replicas) == (1, 2)


def test_pools_of_unknown_layout_are_not_answered() -> None:
    with pytest.raises(InvalidFactError, match="unknown layout"):
        speed_cases(replace(ROW, disaggregated=True), cases.model())


def test_lengths_drawn_at_random_are_shorter_on_average() -> None:
    (case,) = speed_cases(replace(ROW, notes="random lengths about 0.8-1.0x"), cases.model())

    assert (case.input_tokens, case.output_tokens) == (900, 180)


def test_a_row_without_lengths_is_not_answered() -> None:
    with pytest.raises(InvalidFactError, match="has no lengths"):
        speed_cases(replace(ROW, input_tokens=None), cases.model())


def test_an_unknown_gpu_is_not_answered() -> None:
    with pytest.raises(UnknownGpuError):
        speed_cases(replace(ROW, gpu="Abacus 3000"), cases.model())


@pytest.mark.parametrize(
    ("engine", "year", "name", "era"),
    [
        ("vLLM", 2024, "vllm", "2024"),
        ("vLLM", 2026, "vllm", ""),
        ("TensorRT-LLM", 2025, "tensorrt-llm", "2025"),
        ("Ollama/llama.cpp", 2025, "llama.cpp", "2025"),
        (None, 2025, "tensorrt-llm", "2025"),
    ],
)
def test_engines_are_found_under_their_sources_names(
    engine: str | None, year: int, name: str, era: str
) -> None:
    (case,) = speed_cases(replace(ROW, engine=engine, year=year), cases.model())

    assert (case.work.engine, case.work.era) == (name, era)


def test_engines_that_caudal_does_not_know_keep_their_own_constants() -> None:
    (case,) = speed_cases(replace(ROW, engine="Deepspeed-MII", precision="fp16"), cases.model())

    assert case.work.engine == "deepspeed-mii"


def test_an_unstated_precision_is_the_narrowest_that_the_gpu_multiplies() -> None:
    unstated = replace(ROW, precision=None)

    assert format_for(unstated, cases.model(), gpu_for("B200")).name == "nvfp4"
    assert format_for(unstated, cases.model(), gpu_for("H100-SXM")).name == "fp8"


def test_longer_sequences_run_fewer_at_once() -> None:
    gpu = gpu_for("H100-SXM")
    serving = served(ROW).on(gpu)

    short = running_limit(cases.model(), serving, gpu, tokens=4000)
    long = running_limit(cases.model(), serving, gpu, tokens=40_000)

    assert long < short
