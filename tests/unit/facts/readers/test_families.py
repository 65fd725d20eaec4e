"""Families that the catalogue does not hold, and files of known ones that contradict themselves."""

import json
from collections.abc import Mapping
from importlib.resources import files

import pytest

from caudal.facts.model import GroupedQueryAttention, ModelSpec, RecurrentMixer
from caudal.vocabulary.errors import InvalidModelFileError
from model_files import LLAMA, read_model, without


def published(name: str) -> dict[str, object]:
    text = (files("caudal.facts") / "data" / "models" / f"{name}.json").read_text(encoding="utf-8")
    config: dict[str, object] = json.loads(text)
    return {key: value for key, value in config.items() if not key.startswith("_")}


def attention(model: ModelSpec, layer: int = 0) -> GroupedQueryAttention:
    found = [m for m in model.layers[layer].mixers if isinstance(m, GroupedQueryAttention)]
    return found[0]


# Published parameter counts of models that are not in the catalogue, from their model cards.
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(  # EleutherAI/pythia-6.9b: 6,857,302,016
            {
                "model_type": "gpt_neox",
                "hidden_size": 4096,
                "intermediate_size": 16384,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "vocab_size": 50432,
            },
            6_857_302_016,
            id="pythia-6.9b",
        ),
        pytest.param(  # bigcode/starcoder: 15.5B
            {
                "model_type": "gpt_bigcode",
                "n_embd": 6144,
                "n_inner": 24576,
                "n_layer": 40,
                "n_head": 48,
                "n_positions": 8192,
                "multi_query": True,
                "vocab_size": 49152,
            },
            15_517_456_384,
            id="starcoder",
        ),
        pytest.param(  # deepseek-ai/deepseek-moe-16b-base: 16,375,728,128
            {
                "model_type": "deepseek",
                "hidden_size": 2048,
                "intermediate_size": 10944,
                "moe_intermediate_size": 1408,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
                "n_routed_experts": 64,
                "n_shared_experts": 2,
                "num_experts_per_tok": 6,
                "first_k_dense_replace": 1,
                "vocab_size": 102400,
            },
            16_375_728_128,
            id="deepseek-moe-16b",
        ),
    ],
)
def test_models_outside_the_catalogue_are_counted(
    config: Mapping[str, object], expected: int
) -> None:
    assert expected == read_model(config).total_parameters


def test_fields_left_to_the_class_are_filled_and_said() -> None:
    # google/gemma-3-4b-it as published: the text section leaves out five fields
    published_text = {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    }
    vision = published("google__gemma-3-4b-it")["vision_config"]

    model = read_model(
        {"model_type": "gemma3", "text_config": published_text, "vision_config": vision}
    )

    assert model.total_parameters == 4_300_079_472
    assert "class defaults stand in for vocab_size" in model.note


def test_a_plain_file_is_not_filled() -> None:
    with pytest.raises(InvalidModelFileError, match="vocab_size"):
        read_model(without(LLAMA, "vocab_size"))


def test_falcon_has_one_kv_head_unless_its_architecture_is_new() -> None:
    old = read_model(published("tiiuae__falcon-7b"))
    new = read_model(published("tiiuae__falcon-40b"))

    assert (attention(old).kv_heads, attention(new).kv_heads) == (1, 8)


def test_mimo_has_more_kv_heads_where_it_slides() -> None:
    model = read_model(published("XiaomiMiMo__MiMo-V2-Flash"))

    assert (attention(model, 0).kv_heads, attention(model, 1).kv_heads) == (4, 8)
    assert (attention(model, 1).head_dim, attention(model, 1).value_head_dim) == (192, 128)
    assert attention(model, 1).window_tokens == 128


def test_a_shared_block_keeps_a_cache_at_each_use() -> None:
    model = read_model(published("Zyphra__Zamba2-2.7B"))

    uses = [layer for layer in model.layers if len(layer.mixers) == 2]
    assert len(uses) == 9


def test_the_state_is_kept_as_the_file_asks() -> None:
    config = published("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")

    silent = read_model(without(config, "mamba_ssm_cache_dtype")).layers[0].mixers[0]
    half = read_model({**config, "mamba_ssm_cache_dtype": "bfloat16"}).layers[0].mixers[0]

    assert isinstance(silent, RecurrentMixer)
    assert isinstance(half, RecurrentMixer)
    assert (silent.state_element_bytes, silent.state_bytes_stated) == (4, False)
    assert (half.state_element_bytes, half.state_bytes_stated) == (2, True)


CONTRADICTIONS = [
    ("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "hybrid_override_pattern", "M*"),
    ("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "hybrid_override_pattern", "Q" * 52),
    ("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "hybrid_override_pattern", None),
    ("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "mamba_ssm_cache_dtype", "int3"),
    ("Deci__DeciLM-7B", "num_key_value_heads_per_layer", [3] * 32),
    ("Deci__DeciLM-7B", "num_key_value_heads_per_layer", None),
    ("nvidia__Llama-3_3-Nemotron-Super-49B-v1", "block_configs", None),
    ("nvidia__Llama-3_3-Nemotron-Super-49B-v1", "num_attention_heads", 63),
    ("XiaomiMiMo__MiMo-V2-Flash", "hybrid_layer_pattern", None),
    ("XiaomiMiMo__MiMo-V2-Flash", "swa_num_key_value_heads", 7),
    ("meta-llama__Llama-4-Scout-17B-16E", "text_config.no_rope_layers", [1, 0]),
    ("meta-llama__Llama-3.2-11B-Vision", "text_config.cross_attention_layers", [40]),
    ("deepseek-ai__DeepSeek-V4-Flash", "compress_ratios", [0, 4]),
    ("deepseek-ai__DeepSeek-V4-Flash", "qk_rope_head_dim", 512),
    ("google__gemma-4-E2B-it", "text_config.num_kv_shared_layers", 35),
    ("google__gemma-4-26B-A4B-it", "text_config.top_k_experts", 129),
    ("moonshotai__Kimi-Linear-48B-A3B-Instruct", "linear_attn_config", None),
    (
        "moonshotai__Kimi-Linear-48B-A3B-Instruct",
        "linear_attn_config",
        {"kda_layers": [1], "full_attn_layers": [1]},
    ),
    ("MiniMaxAI__MiniMax-M1-80k", "attn_type_list", None),
    ("MiniMaxAI__MiniMax-M1-80k", "attn_type_list", [2] * 80),
    ("Qwen__Qwen3.5-0.8B", "text_config.linear_num_value_heads", 17),
    ("Qwen__Qwen3.5-0.8B", "text_config.layer_types", ["mystery"] * 24),
    ("facebook__opt-125m", "word_embed_proj_dim", 512),
    ("tiiuae__falcon-7b", "num_attention_heads", 70),
    ("databricks__dbrx-base", "attn_config", None),
    ("databricks__dbrx-base", "n_heads", 7),
    ("Zyphra__Zamba2-2.7B", "hybrid_layer_ids", [54]),
]


@pytest.mark.parametrize(
    ("name", "path", "value"), CONTRADICTIONS, ids=[f"{row[0]} {row[1]}" for row in CONTRADICTIONS]
)
def test_a_family_refuses_what_contradicts_it(name: str, path: str, value: object) -> None:
    config = published(name)
    *sections, field = path.split(".")
    place = config
    for section in sections:
        inner = place[section]
        assert isinstance(inner, dict)
        place = inner
    place[field] = value

    with pytest.raises(InvalidModelFileError):
        read_model(config)


def test_a_layer_replaced_by_a_matrix_is_refused() -> None:
    config = published("nvidia__Llama-3_3-Nemotron-Super-49B-v1")
    blocks = config["block_configs"]
    assert isinstance(blocks, list)
    blocks[0]["ffn"]["replace_with_linear"] = True

    with pytest.raises(
        InvalidModelFileError, match=r"block_configs\[0\]\.ffn\.replace_with_linear"
    ):
        read_model(config)
