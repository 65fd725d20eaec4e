"""From one configuration to a model, and what a bad one gets."""

from collections.abc import Mapping

import pytest

from caudal.facts.model import (
    DenseFeedForward,
    GroupedQueryAttention,
    LatentAttention,
    MixtureFeedForward,
)
from caudal.vocabulary.errors import InvalidModelFileError, UnsupportedModelError
from model_files import DEEPSEEK, LLAMA, MIXTRAL, read_model, without


def test_a_plain_file_becomes_layers_that_share_one_value() -> None:
    model = read_model(LLAMA, name="my/config.json")

    layer = model.layers[0]
    assert layer.mixers == (GroupedQueryAttention(heads=32, kv_heads=8, head_dim=128),)
    assert layer.feed_forward == DenseFeedForward(intermediate=14336)
    assert len({id(layer) for layer in model.layers}) == 1
    assert (model.id, model.family, len(model.layers)) == ("my/config.json", "llama", 32)
    assert model.total_parameters == model.active_parameters == 8_030_261_248


def test_kv_heads_default_to_the_heads() -> None:
    model = read_model(without(LLAMA, "num_key_value_heads"))

    mixer = model.layers[0].mixers[0]
    assert isinstance(mixer, GroupedQueryAttention)
    assert mixer.kv_heads == 32


def test_a_tied_embedding_is_counted_once() -> None:
    untied = read_model(LLAMA)
    tied = read_model({**LLAMA, "tie_word_embeddings": True})

    assert untied.total_parameters - tied.total_parameters == 128256 * 4096


def test_a_nested_text_model_is_found() -> None:
    nested = {"model_type": "new_vlm", "text_config": LLAMA, "vision_config": {"model_type": "x"}}

    model = read_model(nested)

    assert (model.family, len(model.layers)) == ("llama", 32)
    assert "vision_config: its encoder is not counted" in model.note


def test_a_mixture_knows_what_rests() -> None:
    model = read_model(MIXTRAL)

    assert isinstance(model.layers[0].feed_forward, MixtureFeedForward)
    expert = 3 * 4096 * 14336
    assert model.total_parameters - model.active_parameters == 32 * 6 * expert


def test_the_first_layers_of_deepseek_are_dense() -> None:
    model = read_model(DEEPSEEK)

    kinds = [type(layer.feed_forward) for layer in model.layers[:4]]
    assert kinds == [DenseFeedForward, DenseFeedForward, DenseFeedForward, MixtureFeedForward]
    assert isinstance(model.layers[0].mixers[0], LatentAttention)
    assert model.total_parameters == 671_026_419_200


def test_an_unknown_family_with_the_usual_fields_is_read_as_plain_and_says_so() -> None:
    model = read_model({**LLAMA, "model_type": "brandnew"})

    assert model.total_parameters == 8_030_261_248
    assert "unknown family 'brandnew'" in model.note


def test_a_file_without_model_type_is_read_as_plain_and_says_so() -> None:
    model = read_model(without(LLAMA, "model_type"))

    assert model.family == "unknown"
    assert "no model_type" in model.note


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "whisper", "d_model": 1280, "encoder_layers": 32},
        {"d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "vocab_size": 51866},
        {**LLAMA, "model_type": "bert"},
        {**LLAMA, "model_type": "t5", "is_encoder_decoder": True},
        {**LLAMA, "model_type": "rwkv9", "state_size": 64},
        {"model_type": "brandnew", "some_field": 3},
    ],
    ids=["whisper", "unnamed whisper", "bert", "t5", "new recurrent", "unknown fields"],
)
def test_what_has_no_rule_is_refused_with_what_has(config: Mapping[str, object]) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        read_model(config)

    assert "llama" in caught.value.remedy
    assert any(each in caught.value.remedy for each in ("--params", "no KV cache"))


BAD_VALUES = [
    ("num_hidden_layers", None, "missing"),
    ("num_hidden_layers", 0, "from 1 to 2,048"),
    ("num_hidden_layers", -3, "from 1 to 2,048"),
    ("num_hidden_layers", 10**9, "from 1 to 2,048"),
    ("num_hidden_layers", "32", "whole number"),
    ("num_hidden_layers", True, "whole number"),
    ("num_hidden_layers", 32.5, "whole number"),
    ("vocab_size", 10**12, "whole number from 1"),
    ("vocab_size", 1 << 16_000, "a number of 16,001 bits"),
    ("hidden_size", float("nan"), "nan"),
    ("hidden_size", float("inf"), "inf"),
    ("hidden_size", [4096], "a list of 1"),
    ("hidden_size", {"a": 1}, "an object of 1 fields"),
    ("hidden_size", 4095, "divisor of the hidden size 4,095"),
    ("num_attention_heads", 33, "divisor"),
    ("num_key_value_heads", 64, "divisor of the 32 attention heads"),
    ("num_key_value_heads", 7, "divisor of the 32 attention heads"),
    ("tie_word_embeddings", "no", "true or false"),
    ("layer_types", ["full_attention"] * 31, "a list of 31"),
    ("layer_types", "full", "a list"),
    ("layer_types", ["magic"] * 32, "full_attention, sliding_attention"),
    ("layer_types", [3] * 32, "a list of texts"),
    ("torch_dtype", "float7", "bfloat16"),
    ("model_type", 7, "a text"),
    ("quantization_config", [1], "an object"),
    ("text_config", "x" * 500, "an object"),
]


@pytest.mark.parametrize(
    ("field", "value", "said"), BAD_VALUES, ids=[f"{row[0]} {row[2]}" for row in BAD_VALUES]
)
def test_a_bad_value_is_named_with_file_and_field(field: str, value: object, said: str) -> None:
    with pytest.raises(InvalidModelFileError) as caught:
        read_model({**LLAMA, field: value}, name="some/config.json")

    problem = caught.value.problem
    assert problem.startswith("some/config.json: ")
    assert said in problem
    assert len(problem) < 400


def test_the_error_names_the_nested_field() -> None:
    with pytest.raises(InvalidModelFileError, match=r"text_config\.vocab_size is -1"):
        read_model({"text_config": {**LLAMA, "vocab_size": -1}})


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (MIXTRAL, "num_experts_per_tok", 9),
        (MIXTRAL, "num_experts_per_tok", 0),
        (MIXTRAL, "num_experts_per_tok", None),
        (DEEPSEEK, "kv_lora_rank", 0),
        (DEEPSEEK, "n_routed_experts", -1),
        (DEEPSEEK, "mlp_layer_types", ["dense"] * 60),
        (DEEPSEEK, "mlp_layer_types", ["odd"] * 61),
        (DEEPSEEK, "moe_layer_freq", [1] * 60),
    ],
)
def test_contradictory_experts_are_refused(
    config: Mapping[str, object], field: str, value: object
) -> None:
    with pytest.raises(InvalidModelFileError, match=field):
        read_model({**config, field: value})


def test_fields_that_are_absurd_together_are_refused() -> None:
    huge = {
        **MIXTRAL,
        "hidden_size": 262_144,
        "intermediate_size": 2_097_152,
        "num_local_experts": 10_000,
    }

    with pytest.raises(InvalidModelFileError, match="together make"):
        read_model(huge)


def test_a_window_as_long_as_the_context_is_no_window() -> None:
    model = read_model({**LLAMA, "sliding_window": 131072})

    mixer = model.layers[0].mixers[0]
    assert isinstance(mixer, GroupedQueryAttention)
    assert mixer.window_tokens is None


def windows(config: Mapping[str, object]) -> list[int | None]:
    return [
        mixer.window_tokens
        for layer in read_model(config).layers
        for mixer in layer.mixers
        if isinstance(mixer, GroupedQueryAttention)
    ]


def test_mistral_slides_in_every_layer() -> None:
    assert windows({**LLAMA, "model_type": "mistral", "sliding_window": 4096}) == [4096] * 32


def test_qwen2_slides_from_max_window_layers_on_if_asked() -> None:
    config = {**LLAMA, "model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}

    assert windows({**config, "use_sliding_window": False}) == [None] * 32
    assert windows({**config, "use_sliding_window": True}) == [None] * 28 + [4096] * 4


def test_gemma2_alternates_and_gemma3_has_a_full_layer_every_sixth() -> None:
    gemma2 = {**LLAMA, "model_type": "gemma2", "sliding_window": 4096}
    gemma3 = {**gemma2, "model_type": "gemma3_text", "sliding_window_pattern": 6}

    assert windows(gemma2)[:4] == [4096, None, 4096, None]
    assert windows(gemma3)[:7] == [4096] * 5 + [None, 4096]


def test_layer_types_say_more_than_a_pattern() -> None:
    kinds = ["sliding_attention"] * 31 + ["full_attention"]
    config = {**LLAMA, "sliding_window": 512, "sliding_window_pattern": 2, "layer_types": kinds}

    assert windows(config) == [512] * 31 + [None]
