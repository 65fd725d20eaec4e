"""Which weights a quantised checkpoint leaves in 16 bit, read from its own skip list.

A skip list names modules in one of three dialects: plain names and prefixes
("lm_head", "model.layers.3.mlp.gate"), shell patterns ("model.layers.*.self_attn*") and regular
expressions ("re:.*shared_experts.*"). Caudal groups weights by role and layer, so a name is read
as the roles that it covers in one layer or in all.
"""

import re
from functools import lru_cache
from typing import Final

from caudal.facts.precision import Role

_LAYER: Final = re.compile(r"layers\.(\d+)(?:\.|$)")
_ATTENTION: Final = frozenset(
    {
        Role.QUERY,
        Role.KEY_VALUE,
        Role.ATTENTION_OUTPUT,
        Role.LATENT_DOWN,
        Role.LATENT_UP,
        Role.INDEXER,
    }
)
# Looked for in this order: the first fragment that a name contains says its roles. Names are those
# of Hugging Face's modelling files, as quantization_config lists them.
_FRAGMENTS: Final[tuple[tuple[str, frozenset[Role]], ...]] = (
    ("norm", frozenset({Role.NORM})),
    ("vision", frozenset({Role.VISION})),
    ("visual", frozenset({Role.VISION})),
    ("projector", frozenset({Role.VISION})),
    ("lm_head", frozenset({Role.HEAD})),
    ("embed_tokens", frozenset({Role.EMBEDDING})),
    ("indexer", frozenset({Role.INDEXER})),
    ("linear_attn", frozenset({Role.RECURRENT})),
    ("mixer.in_proj", frozenset({Role.RECURRENT})),
    ("mixer.out_proj", frozenset({Role.RECURRENT})),
    ("conv1d", frozenset({Role.NORM})),
    ("shared_expert_gate", frozenset({Role.ROUTER})),
    ("shared_expert", frozenset({Role.SHARED_EXPERT})),
    ("kv_a_proj", frozenset({Role.LATENT_DOWN})),
    ("q_a_proj", frozenset({Role.LATENT_DOWN})),
    ("kv_b_proj", frozenset({Role.LATENT_UP})),
    ("q_b_proj", frozenset({Role.LATENT_UP})),
    ("qkv_proj", frozenset({Role.QUERY, Role.KEY_VALUE})),
    ("q_proj", frozenset({Role.QUERY})),
    ("k_proj", frozenset({Role.KEY_VALUE})),
    ("v_proj", frozenset({Role.KEY_VALUE})),
    ("o_proj", frozenset({Role.ATTENTION_OUTPUT})),
    ("self_attn", _ATTENTION),
    ("attention", _ATTENTION),
    ("router", frozenset({Role.ROUTER})),
    ("mlp.gate.", frozenset({Role.ROUTER})),
    ("moe.gate", frozenset({Role.ROUTER})),
    ("expert", frozenset({Role.ROUTED_EXPERT})),
    ("gate_proj", frozenset({Role.DENSE})),
    ("up_proj", frozenset({Role.DENSE})),
    ("down_proj", frozenset({Role.DENSE})),
    ("_proj", frozenset({Role.DENSE})),
    ("mlp.gate", frozenset({Role.ROUTER})),
    ("mlp", frozenset({Role.DENSE})),
)


@lru_cache(maxsize=64)
def kept_roles(patterns: tuple[str, ...]) -> frozenset[tuple[int | None, Role]]:
    """Return what `patterns` keeps in 16 bit: a role in one layer, or in all (None).

    Leaves out names that match no role (rotary tables, attention scales): they hold no matrix.
    """
    kept: set[tuple[int | None, Role]] = set()
    for pattern in patterns:
        name = pattern.removeprefix("re:").replace("\\", "")
        found = _LAYER.search(name)
        layer = int(found.group(1)) if found else None
        kept.update((layer, role) for role in _roles(name))
    return frozenset(kept)


def _roles(name: str) -> frozenset[Role]:
    if name == "gate":  # a suffix on its own, as MiniMax writes it
        return frozenset({Role.ROUTER})
    for fragment, roles in _FRAGMENTS:
        if fragment in name:
            return roles
    return frozenset()
