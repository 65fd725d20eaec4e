"""Weight groups: what they do, how they split, and that nothing is lost."""

import json
from importlib.resources import files

from caudal.facts.model import ModelSpec
from caudal.facts.precision import Role
from caudal.facts.weights import WeightGroup, layer_counts, layer_weight_groups, weight_groups
from model_files import DEEPSEEK, LLAMA, MIXTRAL, read_model


def of_layer(model: ModelSpec, index: int) -> dict[Role, WeightGroup]:
    return {group.role: group for group in weight_groups(model) if group.layer == index}


def catalogue(name: str) -> ModelSpec:
    text = (files("caudal.facts") / "data" / "models" / f"{name}.json").read_text(encoding="utf-8")
    return read_model(json.loads(text))


def test_attention_splits_by_heads_and_kv_heads() -> None:
    groups = of_layer(read_model(LLAMA), 0)

    assert (groups[Role.QUERY].parameters, groups[Role.QUERY].columns) == (4096 * 4096, 32)
    assert (groups[Role.KEY_VALUE].parameters, groups[Role.KEY_VALUE].columns) == (
        2 * 1024 * 4096,
        8,
    )
    assert groups[Role.ATTENTION_OUTPUT].columns == 32
    assert groups[Role.DENSE].columns == 14336
    assert groups[Role.NORM].columns is None


def test_latent_down_projections_are_whole_on_every_gpu() -> None:
    groups = of_layer(read_model(DEEPSEEK), 0)

    assert groups[Role.LATENT_DOWN].columns is None
    assert groups[Role.LATENT_DOWN].parameters == 7168 * (1536 + 512 + 64)
    assert groups[Role.LATENT_UP].columns == 128
    assert groups[Role.LATENT_UP].parameters == 1536 * 128 * 192 + 512 * 128 * 256


def test_experts_stand_apart_from_shared_ones_and_the_router() -> None:
    groups = of_layer(read_model(DEEPSEEK), 10)

    assert groups[Role.ROUTED_EXPERT].parameters == 256 * 3 * 7168 * 2048
    assert (groups[Role.ROUTED_EXPERT].experts, groups[Role.ROUTED_EXPERT].columns) == (256, 2048)
    assert groups[Role.SHARED_EXPERT].parameters == 3 * 7168 * 2048
    assert groups[Role.ROUTER].columns is None


def test_a_tied_embedding_is_one_group() -> None:
    tied = weight_groups(read_model({**LLAMA, "tie_word_embeddings": True}))
    untied = weight_groups(read_model(LLAMA))

    assert [group.role for group in tied].count(Role.HEAD) == 0
    assert [group.role for group in untied].count(Role.HEAD) == 1


def test_biases_and_norms_are_no_matrices() -> None:
    groups = weight_groups(read_model({**LLAMA, "model_type": "qwen2"}))

    small = [group for group in groups if group.layer == 0 and not group.matrix]
    assert {group.role for group in small} == {Role.QUERY, Role.KEY_VALUE, Role.NORM}
    assert sum(group.parameters for group in small) == 4096 + 2 * 1024 + 2 * 4096


def test_expert_biases_belong_to_the_experts() -> None:
    groups = weight_groups(catalogue("openai__gpt-oss-20b"))

    biases = [group for group in groups if group.role is Role.ROUTED_EXPERT and not group.matrix]
    assert {group.parameters for group in biases} == {32 * (2 * 2880 + 2880)}


def test_recurrent_layers_keep_their_small_tensors_apart() -> None:
    groups = [g for g in weight_groups(catalogue("Qwen__Qwen3.5-9B")) if g.layer == 0]

    recurrent = [group for group in groups if group.role is Role.RECURRENT]
    assert [group.matrix for group in recurrent] == [True, False]
    assert {group.columns for group in recurrent} == {32}


def test_cross_attention_has_its_own_role() -> None:
    groups = weight_groups(catalogue("meta-llama__Llama-3.2-11B-Vision"))

    layers = sorted({group.layer for group in groups if group.role is Role.CROSS and group.layer})
    assert layers == [3, 8, 13, 18, 23, 28, 33, 38]


def test_prediction_layers_are_a_group_of_their_own() -> None:
    model = read_model({**DEEPSEEK, "num_nextn_predict_layers": 1})

    groups = [group for group in weight_groups(model) if group.role is Role.MTP]
    assert [group.parameters for group in groups] == [model.mtp_parameters]
    assert model.total_parameters == 671_026_419_200


def test_equal_layers_are_counted_together() -> None:
    model = read_model(DEEPSEEK)

    assert [count for _, count in layer_counts(model)] == [3, 58]


def test_a_layer_is_described_without_its_place() -> None:
    model = read_model(MIXTRAL)

    groups = layer_weight_groups(model.layers[0], hidden=model.hidden)
    assert {group.layer for group in groups} == {None}
