"""How a checkpoint says what it stores."""

import pytest

from caudal.facts.model import CheckpointFormat
from caudal.vocabulary.errors import InvalidModelFileError, UnsupportedModelError
from model_files import LLAMA, read_model


def checkpoint(quantization: object, **more: object) -> CheckpointFormat:
    return read_model({**LLAMA, "quantization_config": quantization, **more}).checkpoint


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("bfloat16", "bf16"), ("torch.float16", "fp16"), ("float32", "fp32"), (None, "bf16")],
)
def test_an_unquantised_file_is_in_its_dtype(dtype: str | None, expected: str) -> None:
    assert read_model({**LLAMA, "torch_dtype": dtype}).checkpoint.weight_format == expected


def weights(**fields: object) -> dict[str, object]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": fields}}


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "fp8", "weight_block_size": None}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32"),
        ({"quant_method": "gptq", "bits": 8}, "int8-weight-only"),
        ({"quant_method": "intel/auto-round", "bits": 4}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4-plain"),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
            },
            "nf4",
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8-weight-only"),
        (weights(weights={"num_bits": 8, "type": "float", "strategy": "channel"}), "fp8"),
        (weights(weights={"num_bits": 8, "type": "float", "strategy": "block"}), "fp8-block"),
        (weights(weights={"num_bits": 4, "type": "float", "group_size": 16}), "nvfp4"),
        (weights(weights={"num_bits": 4, "type": "float", "group_size": 32}), "mxfp4"),
        (weights(weights={"num_bits": 4, "type": "int", "group_size": 128}), "int4"),
        (weights(weights={"num_bits": 8, "type": "int"}), "int8-weight-only"),
        (
            weights(weights={"num_bits": 8, "type": "int"}, input_activations={"num_bits": 8}),
            "int8",
        ),
        (
            {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}},
            "mxfp4",
        ),
        ({"quantization": {"quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
    ],
)
def test_each_method_has_its_format(quantization: object, expected: str) -> None:
    assert checkpoint(quantization).weight_format == expected


def test_a_quantised_cache_is_read() -> None:
    modelopt = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    tensors = {
        **weights(weights={"num_bits": 8, "type": "float"}),
        "kv_cache_scheme": {"num_bits": 8, "type": "float"},
    }

    assert checkpoint(modelopt).kv_format == "fp8"
    assert checkpoint(tensors).kv_format == "fp8"
    assert checkpoint({"quant_method": "fp8"}).kv_format is None


def test_modules_listed_in_every_layer_become_one_pattern() -> None:
    every = [f"model.layers.{index}.self_attn.q_proj" for index in range(32)]
    some = ["model.layers.0.mlp.down_proj", "model.layers.31.mlp.down_proj"]
    ignored = [*every, *some, "lm_head", "model.layers.0.input_layernorm"]

    kept = checkpoint({"quant_method": "fp8", "modules_to_not_convert": ignored}).kept_modules

    assert kept == ("model.layers.*.self_attn.q_proj", *some, "lm_head")


def test_the_bulk_of_a_mixed_checkpoint_is_its_feed_forward() -> None:
    groups = {
        "group_0": {
            "weights": {"num_bits": 8, "type": "float"},
            "targets": ["model.layers.0.self_attn.q_proj"],
        },
        "group_1": {
            "weights": {"num_bits": 4, "type": "float", "group_size": 16},
            "targets": ["model.layers.0.mlp.up_proj", "model.layers.0.mlp.down_proj"],
        },
    }

    mixed = checkpoint(
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "config_groups": groups}
    )

    assert mixed.weight_format == "nvfp4"
    assert mixed.module_formats == (("model.layers.0.self_attn.q_proj", "fp8"),)


def test_four_bit_experts_beside_eight_bit_blocks_are_told_apart() -> None:
    stored = checkpoint(
        {"quant_method": "fp8", "weight_block_size": [128, 128]}, expert_dtype="fp4"
    )

    assert stored.weight_format == "mxfp4"
    assert stored.module_formats == (
        ("*self_attn*", "fp8-block"),
        ("*shared_experts*", "fp8-block"),
    )


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "magic"},
        {},
        {"quant_method": "gptq", "bits": 3},
        {"quantization": {"quant_algo": "INT2"}},
        {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp3"}}},
        weights(weights={"num_bits": 3, "type": "int"}),
    ],
)
def test_an_unknown_method_is_refused_with_the_known_ones(quantization: object) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        checkpoint(quantization)

    assert "compressed-tensors" in caught.value.remedy


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {}},
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {}}},
        {"quant_method": "gptq", "bits": "four"},
        {"quant_method": "quark"},
        {"quant_method": "fp8", "modules_to_not_convert": [3]},
    ],
)
def test_a_damaged_section_is_named(quantization: object) -> None:
    with pytest.raises(InvalidModelFileError, match="quantization_config"):
        checkpoint(quantization)
