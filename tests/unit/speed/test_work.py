import pytest

import speed_cases as cases
from caudal.facts.engines import engine
from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.fit.weights import weight_needs
from caudal.speed.shape import MatrixKind
from caudal.speed.work import MatrixWork, StepWork, step_work
from caudal.vocabulary.errors import InvalidLayoutError


def matrix(work: StepWork, kind: MatrixKind) -> MatrixWork:
    (found,) = [each for each in work.matrices if each.kind is kind]
    return found


def test_a_dense_layer_is_read_whole_and_costs_two_flop_a_weight() -> None:
    work = step_work(cases.model(layers=2), cases.serving())

    parameters = 2 * 3 * 4096 * 14336
    assert parameters * 2 == matrix(work, MatrixKind.DENSE).weight_bytes
    assert parameters * 2 == matrix(work, MatrixKind.DENSE).flop_per_token


def test_tensor_parallelism_splits_weights_and_adds_two_exchanges_a_layer() -> None:
    whole = step_work(cases.model(layers=2), cases.serving())
    half = step_work(cases.model(layers=2), cases.serving(tensor=2))

    assert matrix(whole, MatrixKind.DENSE).weight_bytes == pytest.approx(
        2 * matrix(half, MatrixKind.DENSE).weight_bytes
    )
    assert whole.collectives == 0
    assert half.collectives == 4


def test_kv_heads_are_repeated_when_more_gpus_share_them() -> None:
    eight = step_work(cases.model(mixer=cases.attention(kv_heads=8)), cases.serving(tensor=16))
    one = step_work(cases.model(mixer=cases.attention(kv_heads=8)), cases.serving())

    assert one.attention[0].kv_bytes_per_token == 8 * eight.attention[0].kv_bytes_per_token


def test_a_latent_is_read_whole_by_every_gpu() -> None:
    one = step_work(cases.model(mixer=cases.latent()), cases.serving())
    eight = step_work(cases.model(mixer=cases.latent()), cases.serving(tensor=8))

    assert one.attention[0].kv_bytes_per_token == 32 * (512 + 64) * 2
    assert one.attention[0].kv_bytes_per_token == eight.attention[0].kv_bytes_per_token


def test_a_token_works_on_its_own_experts_only() -> None:
    work = step_work(cases.model(feed_forward=cases.mixture()), cases.serving())
    experts = matrix(work, MatrixKind.EXPERTS)

    assert experts.weight_bytes * 4 / 64 == pytest.approx(experts.flop_per_token)
    assert (experts.experts, experts.chosen) == (64, 4)


def test_data_parallel_attention_repeats_attention_and_spreads_experts() -> None:
    one = step_work(cases.model(feed_forward=cases.mixture()), cases.serving())
    four = step_work(cases.model(feed_forward=cases.mixture()), cases.serving(), data=4)

    assert (
        matrix(one, MatrixKind.PROJECTION).weight_bytes
        == matrix(four, MatrixKind.PROJECTION).weight_bytes
    )
    assert one.attention[0].kv_bytes_per_token == 4 * four.attention[0].kv_bytes_per_token
    assert (
        matrix(one, MatrixKind.EXPERTS).weight_bytes
        == 4 * matrix(four, MatrixKind.EXPERTS).weight_bytes
    )


def test_a_tied_embedding_is_multiplied_as_the_head() -> None:
    tied = step_work(cases.model(tied=True), cases.serving())
    untied = step_work(cases.model(tied=False), cases.serving())

    assert (
        matrix(untied, MatrixKind.HEAD).weight_bytes == matrix(tied, MatrixKind.HEAD).weight_bytes
    )


def test_attention_cannot_be_both_split_and_repeated() -> None:
    with pytest.raises(InvalidLayoutError, match="split over 2 GPUs and repeated 4 times"):
        step_work(cases.model(), cases.serving(tensor=2), data=4)


def test_layers_that_look_equally_far_back_are_added_up() -> None:
    work = step_work(cases.model(mixer=cases.attention(window=1024)), cases.serving())

    (attention,) = work.attention
    assert attention.window_tokens == 1024
    assert attention.kv_bytes_per_token == 32 * 2 * 8 * 128 * 2


@pytest.mark.parametrize(
    "name",
    [
        "meta-llama/Llama-3.1-8B",
        "deepseek-ai/DeepSeek-V3",
        "Qwen/Qwen3-30B-A3B-FP8",
        "Qwen/Qwen3-235B-A22B-FP8",
        "nvidia/DeepSeek-R1-FP4",
    ],
)
def test_a_step_streams_the_bytes_that_fit_counts(name: str) -> None:
    """Where a recipe is the usual one; skip lists of its own are not followed yet."""
    model = resolve_model(name)
    serving = Serving(
        engine=engine("vllm"),
        weight_format=weight_format(model.checkpoint.weight_format),
        kv_format=kv_format("bf16"),
    )
    looked_up = {Role.EMBEDDING, Role.VISION, Role.MTP}

    held = sum(size for role, size in weight_needs(model, serving).by_role if role not in looked_up)

    streamed = sum(matrix.weight_bytes for matrix in step_work(model, serving).matrices)
    assert held == pytest.approx(streamed, rel=0.02)
