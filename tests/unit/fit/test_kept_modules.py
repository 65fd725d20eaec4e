import pytest

from caudal.facts.precision import Role
from caudal.fit.kept_modules import kept_roles


@pytest.mark.parametrize(
    ("pattern", "roles"),
    [
        ("lm_head", {Role.HEAD}),
        ("model.embed_tokens", {Role.EMBEDDING}),
        ("gate", {Role.ROUTER}),
        ("model.layers.*.mlp.gate", {Role.ROUTER}),
        ("model.layers.*.mlp.shared_expert_gate", {Role.ROUTER}),
        ("model.language_model.layers.*.mlp.shared_expert*", {Role.SHARED_EXPERT}),
        ("re:.*shared_experts.*", {Role.SHARED_EXPERT}),
        (r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", {Role.DENSE}),
        ("model.layers.*.mlp*", {Role.DENSE}),
        ("model.layers.*.self_attn.kv_b_proj", {Role.LATENT_UP}),
        ("model.layers.*.self_attn.q_a_proj", {Role.LATENT_DOWN}),
        ("model.layers.*.self_attn.indexer*", {Role.INDEXER}),
        ("model.layers.*.linear_attn*", {Role.RECURRENT}),
        ("vision_tower.blocks.*.self_attn.q_proj", {Role.VISION}),
        ("model.layers.*.input_layernorm", {Role.NORM}),
        ("model.layers.*.mlp.experts.*", {Role.ROUTED_EXPERT}),
        ("a_name_without_weights", set()),
    ],
)
def test_names_of_modules_mean_roles(pattern: str, roles: set[Role]) -> None:
    assert {(None, role) for role in roles} == kept_roles((pattern,))


def test_a_numbered_layer_is_kept_alone() -> None:
    assert {(3, Role.ATTENTION_OUTPUT)} == kept_roles(("model.layers.3.self_attn.o_proj",))


def test_the_whole_attention_covers_its_projections() -> None:
    kept = kept_roles(("model.layers.*.self_attn*",))

    assert {Role.QUERY, Role.KEY_VALUE, Role.ATTENTION_OUTPUT} <= {role for _, role in kept}
