"""From GGUF metadata to the fields of a config.json, so that one set of rules reads both.

llama.cpp names an architecture's values by one scheme; the families' readers know Hugging Face's.
What the metadata leave out (which layers hold experts, biases, a tied head) the tensors show.
Source: llama.cpp gguf-py/gguf/constants.py (keys), src/llama-model.cpp (patterns).
"""

import re
from typing import Final

from caudal.facts.readers import bounds
from caudal.facts.readers.gguf_families import SPECIAL, reaches
from caudal.facts.readers.gguf_metadata import Json, Metadata, Parts
from caudal.facts.readers.weight_file import StoredTensor, WeightHeader, shown
from caudal.vocabulary.errors import InvalidModelFileError

# llama.cpp's architecture to the family whose reader it takes, where the names differ.
_FAMILIES: Final = {
    "llama": "llama",
    "command-r": "cohere",
    "gpt-oss": "gpt_oss",
    "gptneox": "gpt_neox",
    "glm4moe": "glm4_moe",
    "granitehybrid": "granitemoehybrid",
    "deci": "nemotron-nas",
    "nemotron_h_moe": "nemotron_h",
    "falcon-h1": "falcon_h1",
    "kimi-linear": "kimi_linear",
    "minimax-m2": "minimax_m2",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3_vl",
    "qwen3vlmoe": "qwen3_vl_moe",
    "qwen3next": "qwen3_next",
    "qwen35": "qwen3_5",
    "qwen35moe": "qwen3_5_moe",
    "mistral3": "ministral3",
    "hunyuan-dense": "hunyuan_v1_dense",
    "seed_oss": "seed_oss",
    "ernie4_5": "ernie4_5",
    "phi2": "phi",
}
_BLOCK: Final = re.compile(r"blk\.(\d{1,5})\.([a-z0-9_.]+)", re.ASCII)


def config_of_gguf(header: WeightHeader) -> Json:
    """Return the configuration that a GGUF header amounts to.

    Raises:
        InvalidModelFileError: an entry is missing or absurd.
    """
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise InvalidModelFileError(
            f"{shown(header.file)}: the entry general.architecture is missing.",
            remedy="Name a GGUF file of a language model.",
        )
    meta = Metadata(
        header.metadata,
        architecture,
        header.file,
        {tensor.name: tensor.shape for tensor in header.tensors},
    )
    predicted = meta.number("nextn_predict_layers", bounds.PERIOD) or 0
    layers = meta.needed("block_count", bounds.LAYERS) - predicted
    if layers < 1:
        raise meta.wrong("nextn_predict_layers", predicted, "should be less than block_count")
    parts = _parts_by_layer(header.tensors, layers)
    config = _common(meta, parts)
    config["num_nextn_predict_layers"] = predicted or None
    config["mtp_num_hidden_layers"] = predicted or None
    config |= _feed_forward(meta, parts)
    config |= reaches(meta, parts)
    config |= _latent(meta)
    special = SPECIAL.get(architecture)
    if special is not None:
        config |= special(meta, parts)
    return {key: value for key, value in config.items() if value is not None}


def _parts_by_layer(tensors: tuple[StoredTensor, ...], layers: int) -> Parts:
    """Return, of each layer, the names of its tensors without their number."""
    parts: Parts = [set() for _ in range(layers)]
    for tensor in tensors:
        found = _BLOCK.match(tensor.name)
        if found is not None and int(found[1]) < layers:
            parts[int(found[1])].add(found[2])
    return parts


def _common(meta: Metadata, parts: Parts) -> Json:
    heads = max(meta.each("attention.head_count", len(parts), bounds.Bound(0, bounds.HEADS.most)))
    kv_heads = max(
        meta.each("attention.head_count_kv", len(parts), bounds.Bound(0, bounds.HEADS.most))
    )
    experts = meta.number("expert_count", bounds.EXPERTS) or 0
    family = _FAMILIES.get(meta.architecture, meta.architecture)
    return {
        "model_type": "mixtral" if family == "llama" and experts else family,
        "hidden_size": meta.needed("embedding_length", bounds.HIDDEN),
        "num_hidden_layers": len(parts),
        "num_attention_heads": heads or None,
        "num_key_value_heads": kv_heads or None,
        "head_dim": meta.number("attention.key_length", bounds.HEAD_DIM),
        "vocab_size": _rows(meta),
        "max_position_embeddings": meta.number("context_length", bounds.CONTEXT_OR_NONE) or None,
        "tie_word_embeddings": "output.weight" not in meta.shapes,
        "attention_bias": any("attn_q.bias" in part or "attn_qkv.bias" in part for part in parts),
        "attention_out_bias": any("attn_output.bias" in part for part in parts),
        "mlp_bias": any("ffn_up.bias" in part for part in parts),
        "use_qk_norm": any("attn_q_norm.weight" in part for part in parts),
    }


def _rows(meta: Metadata) -> int | None:
    shape = meta.shapes.get("token_embd.weight")
    return shape[0] if shape else meta.number("vocab_size", bounds.VOCABULARY)


def _feed_forward(meta: Metadata, parts: Parts) -> Json:
    widths = meta.each("feed_forward_length", len(parts))
    experts = meta.number("expert_count", bounds.EXPERTS) or None
    if experts is None:
        return {"intermediate_size": max(widths) or None}
    return {
        "intermediate_size": max(widths) or None,
        "num_local_experts": experts,
        "num_experts_per_tok": meta.number("expert_used_count", bounds.EXPERTS),
        "moe_intermediate_size": meta.number("expert_feed_forward_length")
        or _expert_width(meta, len(parts)),
        "n_shared_experts": meta.number("expert_shared_count", bounds.SHARED),
        "shared_expert_intermediate_size": meta.number("expert_shared_feed_forward_length"),
        "mlp_layer_types": [
            "sparse" if any("_exps." in name for name in part) else "dense" for part in parts
        ],
        "topk_method": "noaux_tc" if any("exp_probs_b.bias" in p for p in parts) else "greedy",
    }


def _expert_width(meta: Metadata, layers: int) -> int | None:
    """Return the rows of the first routed expert's up projection."""
    for index in range(layers):
        shape = meta.shapes.get(f"blk.{index}.ffn_up_exps.weight")
        if shape is not None and len(shape) == 3:
            return shape[1]
    return None


def _latent(meta: Metadata) -> Json:
    """Return MLA's sizes; newer files give the head's own sizes beside those of the cache."""
    rank = meta.number("attention.kv_lora_rank", bounds.RANK)
    if rank is None:
        return {}
    rope = meta.needed("rope.dimension_count", bounds.HEAD_DIM)
    key = meta.number("attention.key_length_mla", bounds.HEAD_DIM) or meta.needed(
        "attention.key_length", bounds.HEAD_DIM
    )
    value = meta.number("attention.value_length_mla", bounds.HEAD_DIM) or meta.needed(
        "attention.value_length", bounds.HEAD_DIM
    )
    top = meta.number("attention.indexer.top_k", bounds.CONTEXT)
    return {
        "model_type": "deepseek_v32" if top else "deepseek_v3",
        "kv_lora_rank": rank,
        "q_lora_rank": meta.number("attention.q_lora_rank", bounds.WIDTH_OR_NONE) or None,
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": key - rope,
        "v_head_dim": value,
        "head_dim": None,
        "index_topk": top,
        "index_n_heads": meta.number("attention.indexer.head_count", bounds.HEADS),
        "index_head_dim": meta.number("attention.indexer.key_length", bounds.HEAD_DIM),
    }
