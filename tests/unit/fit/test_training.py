import pytest

from caudal.facts.models import resolve_model
from caudal.fit.training import (
    Method,
    TrainingQuestion,
    fewest_gpus,
    needs_by_gpus,
    trained_parameters,
    training_memory,
)
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GB, GIB, Tokens

SMALL = resolve_model("llama-3.1-8b")


def test_full_training_takes_sixteen_bytes_a_parameter_before_activations() -> None:
    memory = training_memory(TrainingQuestion(model=SMALL, method=Method.FULL))

    states = memory.weights.value + memory.gradients.value + memory.optimiser.value
    assert 16 * SMALL.total_parameters == states


def test_adapters_have_the_parameters_that_peft_counts() -> None:
    # PEFT prints "trainable params: 41,943,040" for r = 16 on all linear layers of Llama 3.1 8B.
    assert 41_943_040 == trained_parameters(
        TrainingQuestion(model=SMALL, method=Method.LORA, rank=16)
    )


def test_adapters_grow_with_their_rank() -> None:
    one = trained_parameters(TrainingQuestion(model=SMALL, method=Method.LORA, rank=1))

    assert 64 * one == trained_parameters(
        TrainingQuestion(model=SMALL, method=Method.LORA, rank=64)
    )


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_zero_shares_as_its_paper_says(stage: int, gigabytes: float) -> None:
    # arXiv:1910.02054 figure 1: Ψ = 7.5 B, N_d = 64, K = 12.
    parameters, gpus = 7.5e9, 64
    question = TrainingQuestion(model=SMALL, method=Method.FULL, gpus=gpus, zero_stage=stage)
    memory = training_memory(question)

    states = memory.weights.value + memory.gradients.value + memory.optimiser.value

    scaled = states * parameters / SMALL.total_parameters / GB
    assert scaled == pytest.approx(gigabytes, rel=0.015)


def test_a_base_in_four_bit_takes_about_half_a_byte_a_matrix_element() -> None:
    lora = training_memory(TrainingQuestion(model=SMALL, method=Method.LORA))

    qlora = training_memory(TrainingQuestion(model=SMALL, method=Method.QLORA))

    assert qlora.weights.value < 0.4 * lora.weights.value
    assert lora.gradients == qlora.gradients


def test_checkpoints_keep_the_input_of_each_layer_and_one_layer() -> None:
    kept = training_memory(TrainingQuestion(model=SMALL, method=Method.FULL, checkpointing=False))

    checkpointed = training_memory(TrainingQuestion(model=SMALL, method=Method.FULL))

    width = 4096 * SMALL.hidden
    output = 4 * width * (1 + SMALL.vocabulary / SMALL.hidden)
    assert kept.activations.value == pytest.approx(width * 34 * 32 + output)
    assert checkpointed.activations.value == pytest.approx(width * (2 * 32 + 34) + output)


def test_a_latent_attention_gets_adapters_on_its_projections() -> None:
    model = resolve_model("deepseek-v2-lite")

    assert 0 < trained_parameters(TrainingQuestion(model=model, method=Method.LORA))


def test_more_gpus_help_only_where_something_is_shared() -> None:
    alone = TrainingQuestion(model=SMALL, method=Method.FULL)
    shared = TrainingQuestion(model=SMALL, method=Method.FULL, zero_stage=3)

    assert fewest_gpus(needs_by_gpus(alone), 79.2 * GIB) is None
    assert 2 == fewest_gpus(needs_by_gpus(shared), 79.2 * GIB)
    assert fewest_gpus(needs_by_gpus(shared), 1.0) is None


@pytest.mark.parametrize(
    "change", [{"gpus": 0}, {"zero_stage": 4}, {"rank": 0}, {"micro_batch": 0}]
)
def test_what_cannot_be_meant_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(InvalidQuantityError, match="cannot be meant"):
        TrainingQuestion(model=SMALL, method=Method.FULL, **change)  # type: ignore[arg-type]


def test_longer_sequences_take_more_activations() -> None:
    short = TrainingQuestion(model=SMALL, method=Method.QLORA, sequence_tokens=Tokens(1024))
    long = TrainingQuestion(model=SMALL, method=Method.QLORA, sequence_tokens=Tokens(2048))

    assert 2 * training_memory(short).activations.value == training_memory(long).activations.value
