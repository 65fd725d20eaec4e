"""From a tensor's name to what it does: as Hugging Face's model classes and llama.cpp name them."""

import re
from functools import lru_cache
from typing import Final

from caudal.facts.precision import Role

# "model.layers.3.mlp", "blk.3.attn_q", "transformer.h.3.attn", "backbone.layers.3.mixer"
_LAYER: Final = re.compile(r"(?:^|\.)(?:layers|blk|h|blocks|block)\.(\d{1,5})\.", re.ASCII)
_NUMBER: Final = re.compile(r"(?<=\.)\d+(?=\.)", re.ASCII)
_LONGEST: Final = 512  # chosen: a name beyond this is not cut into parts; published ones end at 120
# The first fragment that a name contains, in this order, says its role. Scales and zeros carry the
# name of what they scale ("…q_proj.weight_scale"), so they go with it.
# Sources: transformers 5 modelling files; llama.cpp src/llama-arch.cpp (LLM_TENSOR_NAMES).
_FRAGMENTS: Final[tuple[tuple[str, Role], ...]] = (
    # Parts of their own
    ("vision", Role.VISION),
    ("visual", Role.VISION),
    ("audio", Role.VISION),
    ("projector", Role.VISION),
    ("img_processor", Role.VISION),
    ("mlp1.", Role.VISION),  # InternVL's projector
    ("mtp.", Role.MTP),
    ("nextn.", Role.MTP),
    ("eh_proj", Role.MTP),
    ("enorm", Role.MTP),
    ("hnorm", Role.MTP),
    ("per_layer_token_embd", Role.PER_LAYER_EMBEDDING),
    ("embed_tokens_per_layer", Role.PER_LAYER_EMBEDDING),
    ("indexer", Role.INDEXER),
    ("cross_attn", Role.CROSS),
    # Recurrent mixers, before the norms in them
    ("linear_attn", Role.RECURRENT),
    ("ssm_", Role.RECURRENT),
    ("shortconv", Role.RECURRENT),
    ("mamba", Role.RECURRENT),
    ("conv1d", Role.RECURRENT),
    ("mixer.in_proj", Role.RECURRENT),
    ("mixer.out_proj", Role.RECURRENT),
    ("mixer.a_log", Role.RECURRENT),
    ("mixer.dt_bias", Role.RECURRENT),
    ("mixer.d.", Role.RECURRENT),
    ("mixer.norm", Role.RECURRENT),
    # Small vectors
    ("norm", Role.NORM),
    ("ln_", Role.NORM),
    ("sinks", Role.NORM),
    # Routers before experts, shared experts before routed ones
    ("ffn_gate_inp", Role.ROUTER),
    ("exp_probs_b", Role.ROUTER),
    ("shared_expert_gate", Role.ROUTER),
    ("e_score_correction_bias", Role.ROUTER),
    ("router", Role.ROUTER),
    ("mlp.gate.", Role.ROUTER),
    ("moe.gate.", Role.ROUTER),
    ("mixer.gate.", Role.ROUTER),
    ("block_sparse_moe.gate.", Role.ROUTER),
    ("feed_forward.gate.", Role.ROUTER),
    ("shared_expert", Role.SHARED_EXPERT),
    ("shared_mlp", Role.SHARED_EXPERT),
    ("share_expert", Role.SHARED_EXPERT),
    ("_shexp", Role.SHARED_EXPERT),
    ("_exps", Role.ROUTED_EXPERT),
    ("expert", Role.ROUTED_EXPERT),
    ("block_sparse_moe", Role.ROUTED_EXPERT),
    # Attention
    ("kv_a_proj", Role.LATENT_DOWN),
    ("q_a_proj", Role.LATENT_DOWN),
    ("attn_kv_a", Role.LATENT_DOWN),
    ("attn_q_a", Role.LATENT_DOWN),
    ("kv_b_proj", Role.LATENT_UP),
    ("q_b_proj", Role.LATENT_UP),
    ("attn_kv_b", Role.LATENT_UP),
    ("attn_k_b", Role.LATENT_UP),
    ("attn_v_b.", Role.LATENT_UP),
    ("attn_q_b", Role.LATENT_UP),
    ("attn_qkv", Role.QUERY),
    ("attn_q", Role.QUERY),
    ("attn_gate", Role.QUERY),
    ("attn_k", Role.KEY_VALUE),
    ("attn_v", Role.KEY_VALUE),
    ("attn_output", Role.ATTENTION_OUTPUT),
    ("qkv", Role.QUERY),
    ("query_key_value", Role.QUERY),
    ("c_attn", Role.QUERY),
    ("q_proj", Role.QUERY),
    ("k_proj", Role.KEY_VALUE),
    ("v_proj", Role.KEY_VALUE),
    ("o_proj", Role.ATTENTION_OUTPUT),
    ("out_proj", Role.ATTENTION_OUTPUT),
    ("attn.c_proj", Role.ATTENTION_OUTPUT),
    ("attention.wo", Role.ATTENTION_OUTPUT),
    ("attention.dense", Role.ATTENTION_OUTPUT),
    ("self_attn", Role.QUERY),
    ("self_attention", Role.QUERY),
    # Feed-forwards
    ("mlp", Role.DENSE),
    ("ffn_", Role.DENSE),
    ("feed_forward", Role.DENSE),
    ("up_proj", Role.DENSE),
    ("down_proj", Role.DENSE),
    ("fc1", Role.DENSE),
    ("fc2", Role.DENSE),
    # Tables
    ("lm_head", Role.HEAD),
    ("embed_out", Role.HEAD),
    ("position_embd", Role.POSITION),
    ("embed_positions", Role.POSITION),
    ("wpe", Role.POSITION),
    ("token_embd", Role.EMBEDDING),
    ("embed_tokens", Role.EMBEDDING),
    ("tok_embeddings", Role.EMBEDDING),
    ("word_embeddings", Role.EMBEDDING),
    ("embed_in", Role.EMBEDDING),
    ("embedding", Role.EMBEDDING),
    ("wte", Role.EMBEDDING),
)
_GGUF_ENCODER: Final = ("v.", "mm.", "a.")  # of a projector file (mmproj)


def layer_of(name: str) -> int | None:
    """Return the layer that a tensor stands in, None for one outside the stack."""
    found = _LAYER.search(name[:_LONGEST])
    return None if found is None else int(found[1])


def role_of(name: str) -> Role:
    """Return what a tensor does; `Role.OTHER` where no name is known.

    Leaves out multi-token prediction in numbered layers behind the stack, and fused queries, keys
    and values, which count as queries: whoever knows the model settles both.
    """
    return _template_role(_NUMBER.sub("0", name[:_LONGEST].lower()))


@lru_cache(maxsize=4096)
def _template_role(name: str) -> Role:
    if name.startswith(_GGUF_ENCODER):
        return Role.VISION
    if name.startswith(("output.", "head.", "embed_out.")):
        return Role.HEAD
    ended = f"{name}."
    return next((role for fragment, role in _FRAGMENTS if fragment in ended), Role.OTHER)
