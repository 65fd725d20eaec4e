"""Questions of speed as they are put at a door: bounds, batches, ranges and refusals."""

import pytest

from caudal.documents.speed import (
    USUAL_BATCHES,
    SpeedAnswer,
    SpeedAsked,
    SpeedRow,
    answer_speed_question,
)
from caudal.documents.written import parse_batches
from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.budget import Verdict
from caudal.fit.serving import Serving
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import capacity_curve
from caudal.speed.work import step_work
from caudal.vocabulary.errors import (
    ContradictoryOptionsError,
    InvalidLayoutError,
    InvalidQuantityError,
    UnknownGpuError,
)
from caudal.vocabulary.estimate import Basis
from caudal.vocabulary.units import Tokens


def ask(model: str, *gpus: str, **options: object) -> SpeedAnswer:
    return answer_speed_question(
        SpeedAsked(model=resolve_model(model), gpus=gpus, **options)  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def row() -> SpeedRow:
    answer = ask("llama-3.1-70b", "h100-sxm", precision="fp8", tp=4)
    assert answer.error is None
    return answer.document.rows[0]


def test_the_ceiling_is_bandwidth_over_the_weights_that_a_token_reads() -> None:
    (dense,) = ask("llama-3.1-8b", "l4:1").document.rows
    (mixture,) = ask("deepseek-v3", "h200-sxm:8").document.rows

    # 8.03 G parameters less the 0.53 G of the input table, 2 bytes each; 300 GB/s
    assert 15.0e9 == pytest.approx(dense.read_bytes, rel=0.01)
    assert 20.0 == pytest.approx(dense.ceiling_tok_s, rel=0.01)
    # 37 G active parameters of one byte over 8 GPUs, what is not split counted whole
    assert mixture.read_bytes is not None
    assert 37e9 / 8 < mixture.read_bytes < 1.3 * 37e9 / 8


def test_every_catalogued_gpu_keeps_below_its_ceiling() -> None:
    rows = ask("llama-3.1-8b").document.rows

    assert len(rows) > 100
    assert len({row.gpu_id for row in rows}) == len(rows)
    for row in rows:
        for batch in row.batches:
            if batch.tpot_s is not None:
                assert row.ceiling_tok_s is not None
                assert 1 / batch.tpot_s.low <= row.ceiling_tok_s * (1 + 1e-9), row.label


def test_the_parts_of_a_step_add_up_to_its_time(row: SpeedRow) -> None:
    for batch in row.batches:
        assert batch.parts is not None
        assert batch.tpot_s is not None
        parts = batch.parts
        together = (
            parts.matrices_s
            + parts.attention_s
            + parts.exchanges_s
            + parts.overhead_s
            + parts.prompts_s
        )
        assert batch.tpot_s.value == pytest.approx(together)


def test_a_batch_is_what_the_room_says_of_it(row: SpeedRow) -> None:
    serving = Serving(
        engine=engine("vllm"),
        weight_format=weight_format("fp8"),
        kv_format=kv_format("bf16"),
        layout=Layout(tensor=4),
        max_model_tokens=Tokens(2348),
    )
    gpu = gpu_catalogue().get("h100-sxm")
    curve = capacity_curve(
        step_work(resolve_model("llama-3.1-70b"), serving.on(gpu)),
        GpuColumns.of([gpu]),
        input_tokens=2048,
        output_tokens=300,
        batches=USUAL_BATCHES,
    )

    values = [batch.output_tok_s.value for batch in row.batches if batch.output_tok_s]
    assert list(curve.output_tok_s[0]) == pytest.approx(values)
    assert row.prefill_s is not None
    assert float(curve.prefill_s[0, 0]) == pytest.approx(row.prefill_s.value)


def test_a_prediction_has_a_range_and_says_what_it_rests_on(row: SpeedRow) -> None:
    (unmeasured,) = ask("llama-3.1-8b", "v100-32g:1").document.rows

    assert row.prefill_s is not None
    assert row.prefill_s.low < row.prefill_s.value < row.prefill_s.high
    assert Basis.CALIBRATED is row.prefill_s.basis
    assert unmeasured.prefill_s is not None
    assert Basis.ROOFLINE is unmeasured.prefill_s.basis


def test_the_requests_a_second_are_the_tokens_over_an_answer(row: SpeedRow) -> None:
    for batch in row.batches:
        assert batch.output_tok_s is not None
        assert batch.request_rate is not None
        assert batch.output_tok_s.value / 300 == pytest.approx(batch.request_rate.value)


def test_the_usual_batches_end_where_memory_does() -> None:
    (row,) = ask("llama-3.1-8b", "l4:1").document.rows

    assert row.holds is not None
    assert row.batches[-1].batch <= row.holds.high
    assert row.batches[-1].batch < USUAL_BATCHES[-1]


def test_a_batch_that_was_asked_for_is_shown_whether_it_fits_or_not() -> None:
    (row,) = ask("llama-3.1-8b", "l4:1", batches=(1, 4096)).document.rows

    assert [Verdict.FITS, Verdict.DOES_NOT_FIT] == [batch.verdict for batch in row.batches]


def test_a_batch_that_prompts_cannot_keep_up_stands_where_the_largest_fed_one_does() -> None:
    (row,) = ask("llama-3.1-8b", "h100-sxm:1", batches=(300, 4096, 8192)).document.rows

    fed, starved, more = row.batches
    assert 300 == fed.sustained_batch
    assert starved.sustained_batch == more.sustained_batch < 4096
    assert starved.tpot_s == more.tpot_s


def test_a_row_that_does_not_fit_has_no_speed() -> None:
    answer = ask("llama-3.1-70b", "l4:1")

    (row,) = answer.document.rows
    assert (Verdict.DOES_NOT_FIT, (), None) == (row.verdict, row.batches, row.ceiling_tok_s)
    assert answer.error is not None
    assert answer.document.error is not None
    assert "does-not-fit" == answer.document.error.code
    assert "--context" not in answer.error.remedy


def test_an_engine_that_splits_by_layers_is_answered_too() -> None:
    rows = ask("llama-3.1-8b", "rtx4090:1,2", engine="llama.cpp", precision="q4_k_m").document.rows

    assert [1, 2] == [row.gpus for row in rows]
    assert all(row.batches for row in rows)


@pytest.mark.parametrize(
    ("error", "gpu", "options"),
    [
        (UnknownGpuError, "h1000", {}),
        (ContradictoryOptionsError, "h100:2", {"tp": 4}),
        (ContradictoryOptionsError, "rtx 3090 + rtx 4080", {}),
        (InvalidLayoutError, "h100", {"tp": 3}),
        (InvalidQuantityError, "h100", {"batches": ()}),
        (InvalidQuantityError, "h100", {"batches": (0,)}),
        (InvalidQuantityError, "h100", {"input_tokens": Tokens(0)}),
        (InvalidQuantityError, "h100", {"output_tokens": Tokens(200_000)}),
    ],
)
def test_a_question_without_sense_is_refused(
    error: type[Exception], gpu: str, options: dict[str, object]
) -> None:
    with pytest.raises(error):
        ask("llama-3.1-8b", gpu, **options)


def test_batches_are_written_as_a_list() -> None:
    assert (1, 8, 32) == parse_batches("32, 1,8,8")


@pytest.mark.parametrize("text", ["", "1,", "a", "0", "-1", "1.5", "99999999", "²"])
def test_what_is_no_list_of_batches_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError):
        parse_batches(text)
