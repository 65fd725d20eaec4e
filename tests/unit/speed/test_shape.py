from dataclasses import replace
from math import inf

import pytest

import speed_cases as cases
from caudal.facts.model import (
    CrossAttention,
    LatentAttention,
    RecurrentMixer,
    SparseIndexer,
)
from caudal.facts.precision import Role
from caudal.speed.shape import model_shape
from caudal.vocabulary.units import Tokens


def test_equal_layers_are_one_part() -> None:
    shape = model_shape(cases.model(layers=48))

    (attention,) = shape.attention
    assert attention.kv_elements == 48 * 2 * 8 * 128
    assert (shape.mixers, shape.feed_forwards, shape.mixture_layers) == (48, 48, 0)


def test_a_recurrent_state_is_read_and_written_whatever_the_context() -> None:
    mixer = RecurrentMixer(
        kind="gated-deltanet",
        heads=32,
        parameters=1_000_000,
        state_elements=500,
        conv_elements=100,
        state_element_bytes=4,
    )

    shape = model_shape(cases.model(layers=3, mixer=mixer))

    assert shape.attention == ()
    assert shape.state_bytes == 3 * 2 * (500 * 4 + 100 * 2)


def test_cross_attention_reads_the_encoders_keys_each_step() -> None:
    mixer = CrossAttention(heads=32, kv_heads=8, head_dim=128, source_tokens=Tokens(1601))

    shape = model_shape(cases.model(layers=1, mixer=mixer))

    assert shape.state_bytes == 2 * 2 * 8 * 128 * 1601


def test_an_indexer_bounds_attention_and_reads_every_token_itself() -> None:
    mixer = cases.latent()
    assert isinstance(mixer, LatentAttention)
    indexer = SparseIndexer(
        heads=64, head_dim=128, top_tokens=Tokens(2048), parameters=1, cache_bytes_per_token=132
    )

    shape = model_shape(cases.model(layers=1, mixer=replace(mixer, indexer=indexer)))

    assert {part.window_tokens: part.kv_bytes for part in shape.attention} == {
        2048: 0.0,
        inf: 132.0,
    }


def test_decode_of_a_latent_works_on_the_latent_and_prefill_on_the_heads() -> None:
    (part,) = model_shape(cases.model(layers=1, mixer=cases.latent())).attention

    assert part.decode_flop == 2 * 32 * (512 + 64 + 512)
    assert part.prefill_flop == 2 * 32 * (128 + 64 + 128)


def test_only_chosen_experts_are_active() -> None:
    shape = model_shape(cases.model(layers=1, feed_forward=cases.mixture(experts=64, chosen=4)))

    (experts,) = [each for each in shape.matrices if each.role is Role.ROUTED_EXPERT]
    assert experts.active_parameters == pytest.approx(experts.parameters / 16)
