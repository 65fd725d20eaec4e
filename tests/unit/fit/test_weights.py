from dataclasses import replace

import pytest

from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.fit.rotary import rotary_bytes
from caudal.fit.weights import stage_layers, weight_needs
from caudal.vocabulary.units import GIB, Tokens
from memory_cases import served
from model_files import DEEPSEEK, LLAMA, MIXTRAL, read_model

LLAMA_8B = read_model(LLAMA)


def role_bytes(model_file: dict[str, object], role: Role, **how: object) -> float:
    needs = weight_needs(read_model(model_file), served(**how))  # type: ignore[arg-type]
    return dict(needs.by_role).get(role, 0.0)


def test_16_bit_weights_are_two_bytes_a_parameter() -> None:
    needs = weight_needs(LLAMA_8B, served())

    assert needs.total.value == 2 * LLAMA_8B.total_parameters
    assert needs.total.low == needs.total.high


def test_norms_and_routers_are_whole_on_every_gpu() -> None:
    for role in (Role.NORM, Role.ROUTER):
        assert role_bytes(dict(MIXTRAL), role, tensor=1) == role_bytes(
            dict(MIXTRAL), role, tensor=4
        )


def test_key_value_heads_are_replicated_beyond_their_number() -> None:
    eight = role_bytes(dict(LLAMA), Role.KEY_VALUE, tensor=8)

    assert role_bytes(dict(LLAMA), Role.KEY_VALUE, tensor=1) == 8 * eight
    assert role_bytes(dict(LLAMA), Role.KEY_VALUE, tensor=16) == eight


def test_latent_down_projections_are_whole_on_every_gpu() -> None:
    one = role_bytes(dict(DEEPSEEK), Role.LATENT_DOWN, tensor=1)

    assert role_bytes(dict(DEEPSEEK), Role.LATENT_DOWN, tensor=8) == one


def test_expert_parallelism_hands_out_whole_experts() -> None:
    sliced = role_bytes(dict(MIXTRAL), Role.ROUTED_EXPERT, tensor=2)
    spread = role_bytes(dict(MIXTRAL), Role.ROUTED_EXPERT, tensor=2, expert=True)

    assert sliced == pytest.approx(spread)


def test_vocabulary_is_padded_to_64_rows() -> None:
    odd = {**LLAMA, "vocab_size": 32_001}

    assert role_bytes(odd, Role.EMBEDDING) == 2 * 32_064 * 4096
    assert role_bytes(odd, Role.EMBEDDING, tensor=4) == 2 * 8_016 * 4096


def test_tied_embeddings_are_held_once_but_at_both_ends_of_a_pipeline() -> None:
    tied = read_model({**LLAMA, "tie_word_embeddings": True, "num_hidden_layers": 2})
    table = 2 * 128_256 * 4096

    one = dict(weight_needs(tied, served()).by_role)
    two = dict(weight_needs(tied, served(pipeline=2)).by_role)

    assert one[Role.EMBEDDING] == table
    assert two[Role.EMBEDDING] == table
    assert Role.HEAD not in one


def test_fullest_stage_decides_where_layers_do_not_divide() -> None:
    model = read_model({**LLAMA, "num_hidden_layers": 3, "vocab_size": 1024})

    assert [len(stage_layers(3, stage=stage, stages=2)) for stage in (0, 1)] == [2, 1]
    assert weight_needs(model, served(pipeline=2)).stage == 0


def test_stages_hold_every_layer_once() -> None:
    held = [layer for stage in range(4) for layer in stage_layers(30, stage=stage, stages=4)]

    assert held == list(range(30))


def test_quantised_weights_keep_embeddings_head_and_norms_in_16_bit() -> None:
    sixteen = dict(weight_needs(LLAMA_8B, served()).by_role)
    eight = dict(weight_needs(LLAMA_8B, served(weights="fp8")).by_role)

    for role in (Role.EMBEDDING, Role.HEAD, Role.NORM):
        assert eight[role] == sixteen[role]
    assert eight[Role.DENSE] == sixteen[Role.DENSE] / 2


def test_skip_list_of_the_checkpoint_keeps_what_it_names() -> None:
    listed = {
        **LLAMA,
        "quantization_config": {
            "quant_method": "fp8",
            "weight_block_size": [128, 128],
            "modules_to_not_convert": ["lm_head", "model.layers.*.self_attn*"],
        },
    }
    sixteen = dict(weight_needs(LLAMA_8B, served()).by_role)

    kept = dict(weight_needs(read_model(listed), served(weights="fp8-block")).by_role)

    assert kept[Role.QUERY] == sixteen[Role.QUERY]
    assert kept[Role.DENSE] < sixteen[Role.DENSE]


def test_known_checkpoint_size_is_exact() -> None:
    model = replace(resolve_model("deepseek-v3"))

    needs = weight_needs(model, served(by="llama.cpp", weights="fp8-block"))

    assert needs.total.low == needs.total.high
    assert model.checkpoint_bytes is not None
    assert needs.total.value < model.checkpoint_bytes  # without multi-token prediction


def test_multi_token_prediction_is_loaded_for_speculation_only() -> None:
    model = resolve_model("deepseek-v3")
    plain = served(weights="fp8-block")

    drafting = weight_needs(model, replace(plain, speculative=True))

    assert drafting.total.value == pytest.approx(model.checkpoint_bytes)
    assert Role.MTP not in dict(weight_needs(model, plain).by_role)


def test_pooling_models_load_no_head() -> None:
    pooling = weight_needs(LLAMA_8B, replace(served(), pooling=True))

    assert pooling.total.value == 2 * (LLAMA_8B.total_parameters - 128_256 * 4096)


def test_text_only_serving_loads_no_encoder() -> None:
    model = resolve_model("qwen2.5-vl-7b")

    seeing = weight_needs(model, served())
    blind = weight_needs(model, replace(served(), text_only=True))

    assert seeing.total.value - blind.total.value == 2 * model.vision_parameters


def test_mxfp4_experts_are_padded_to_256_columns() -> None:
    # vllm-project/vllm issue 33155: "Model loading took 64.38 GiB"
    model = resolve_model("gpt-oss-120b")

    needs = weight_needs(model, served(weights="mxfp4"))

    assert pytest.approx(64.38, rel=0.002) == needs.total.value / GIB


def test_large_matrices_cost_up_to_a_mebibyte_each() -> None:
    # vllm-project/vllm issue 13061: Qwen2.5-14B over two GPUs, 13.9476 GiB each
    model = resolve_model("qwen2.5-14b")
    serving = served(tensor=2)

    needs = weight_needs(model, serving)

    measured = 13.9476 * GIB
    loaded = needs.total.value + needs.allocation_slack + rotary_bytes(model, serving)
    assert pytest.approx(measured, rel=0.001) == loaded
    assert needs.total.value < 0.99 * measured


def test_rotary_table_is_two_bytes_an_angle_and_position() -> None:
    assert rotary_bytes(LLAMA_8B, served()) == 2 * 128 * 131_072


def test_longer_serving_than_the_model_was_made_for_grows_the_table() -> None:
    longer = replace(served(), max_model_tokens=Tokens(262_144))

    assert rotary_bytes(LLAMA_8B, longer) == 2 * 128 * 262_144


def test_sliding_layers_of_gemma_3_have_a_table_of_their_own() -> None:
    gemma = resolve_model("gemma-3-1b")

    assert rotary_bytes(gemma, served()) == 2 * 2 * 256 * gemma.max_context_tokens
