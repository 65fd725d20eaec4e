"""Encoders of a user's own file: counted by a rule, estimated and said, or said to be missing."""

import pytest

from model_files import LLAMA, read_model

# A Pixtral tower as mistral-community/pixtral-12b publishes it: sizes are left to the class.
PIXTRAL = {"model_type": "pixtral", "image_size": 1024, "patch_size": 16, "head_dim": 64}


def test_sizes_left_to_the_class_are_filled() -> None:
    model = read_model({"model_type": "llava", "text_config": LLAMA, "vision_config": PIXTRAL})

    blocks = 24 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024)
    projector = (1024 * 4096 + 4096) + (4096 * 4096 + 4096)
    assert model.vision_parameters == 3 * 16 * 16 * 1024 + 1024 + blocks + projector
    assert "vision_config" not in model.note


def test_an_encoder_without_a_rule_is_estimated_and_said() -> None:
    # llava-hf/llava-1.5-7b-hf: CLIP ViT-L/14 at 336 pixels, 303.5M with 24 layers, and a projector
    clip = {
        "model_type": "clip_vision_model",
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "patch_size": 14,
    }

    model = read_model({"model_type": "llava", "text_config": LLAMA, "vision_config": clip})

    assert model.vision_parameters == pytest.approx(303_500_000 + 21_000_000, rel=0.06)
    assert "estimated" in model.note


def test_an_encoder_without_sizes_is_said_to_be_missing() -> None:
    model = read_model({"text_config": LLAMA, "vision_config": {"model_type": "mystery"}})

    assert model.vision_parameters == 0
    assert "vision_config: its encoder is not counted" in model.note


def test_a_missing_context_length_is_said() -> None:
    config = {key: value for key, value in LLAMA.items() if key != "max_position_embeddings"}

    model = read_model(config)

    assert "states no context length: 2,048" in model.note
