"""GGUF files of published models, as llama.cpp's converter writes them, with sparse data."""

from collections.abc import Mapping
from pathlib import Path

from weight_files import Block, write_gguf

Tensors = dict[str, Block]


def write_model(path: Path, name: str) -> Path:
    """Write the file of one of the models below."""
    metadata, tensors = MODELS[name]()
    return write_gguf(path, metadata, tensors)


def _entries(
    architecture: str, values: Mapping[str, object], **general: object
) -> dict[str, object]:
    return {
        "general.architecture": architecture,
        **{f"general.{key}": value for key, value in general.items()},
        **{f"{architecture}.{key}": value for key, value in values.items()},
    }


def _outer(hidden: int, vocabulary: int, *, tied: bool = False) -> Tensors:
    tensors: Tensors = {
        "token_embd.weight": ("q4_k", (hidden, vocabulary)),
        "output_norm.weight": ("f32", (hidden,)),
    }
    if not tied:
        tensors["output.weight"] = ("q6_k", (hidden, vocabulary))
    return tensors


def _attention(
    layer: int, hidden: int, heads: int, kv_heads: int, dim: int, *, value: str = "q4_k"
) -> Tensors:
    block = f"blk.{layer}"
    return {
        f"{block}.attn_norm.weight": ("f32", (hidden,)),
        f"{block}.attn_q.weight": ("q4_k", (hidden, heads * dim)),
        f"{block}.attn_k.weight": ("q4_k", (hidden, kv_heads * dim)),
        f"{block}.attn_v.weight": (value, (hidden, kv_heads * dim)),
        f"{block}.attn_output.weight": ("q4_k", (heads * dim, hidden)),
        f"{block}.ffn_norm.weight": ("f32", (hidden,)),
    }


def _dense(layer: int, hidden: int, width: int, *, down: str = "q4_k") -> Tensors:
    block = f"blk.{layer}"
    return {
        f"{block}.ffn_gate.weight": ("q4_k", (hidden, width)),
        f"{block}.ffn_up.weight": ("q4_k", (hidden, width)),
        f"{block}.ffn_down.weight": (down, (width, hidden)),
    }


def _experts(layer: int, hidden: int, width: int, experts: int, *, kind: str = "q4_k") -> Tensors:
    block = f"blk.{layer}"
    return {
        f"{block}.ffn_gate_inp.weight": ("f32", (hidden, experts)),
        f"{block}.ffn_gate_exps.weight": (kind, (hidden, width, experts)),
        f"{block}.ffn_up_exps.weight": (kind, (hidden, width, experts)),
        f"{block}.ffn_down_exps.weight": (kind, (width, hidden, experts)),
    }


def _shared(layer: int, hidden: int, width: int) -> Tensors:
    block = f"blk.{layer}"
    return {
        f"{block}.ffn_gate_shexp.weight": ("q4_k", (hidden, width)),
        f"{block}.ffn_up_shexp.weight": ("q4_k", (hidden, width)),
        f"{block}.ffn_down_shexp.weight": ("q4_k", (width, hidden)),
    }


def _query_key_norms(layer: int, dim: int) -> Tensors:
    return {
        f"blk.{layer}.attn_q_norm.weight": ("f32", (dim,)),
        f"blk.{layer}.attn_k_norm.weight": ("f32", (dim,)),
    }


def llama_8b() -> tuple[dict[str, object], Tensors]:
    """Llama 3.1 8B in Q4_K_M: values and down projections of some layers in Q6_K."""
    hidden, layers = 4096, 32
    tensors = _outer(hidden, 128_256) | {"rope_freqs.weight": ("f32", (64,))}
    for layer in range(layers):
        more = layer < 4 or layer >= 28 or (layer - 4) % 3 == 2  # llama-quant.cpp, use_more_bits
        kind = "q6_k" if more else "q4_k"
        tensors |= _attention(layer, hidden, 32, 8, 128, value=kind)
        tensors |= _dense(layer, hidden, 14_336, down=kind)
    values = {
        "block_count": layers,
        "context_length": 131_072,
        "embedding_length": hidden,
        "feed_forward_length": 14_336,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "rope.dimension_count": 128,
        "vocab_size": 128_256,
    }
    return _entries("llama", values, file_type=15), tensors


def qwen3_30b_a3b() -> tuple[dict[str, object], Tensors]:
    """Qwen3 30B A3B: experts in every layer."""
    hidden, layers = 2048, 48
    tensors = _outer(hidden, 151_936)
    for layer in range(layers):
        tensors |= _attention(layer, hidden, 32, 4, 128) | _query_key_norms(layer, 128)
        tensors |= _experts(layer, hidden, 768, 128)
    values = {
        "block_count": layers,
        "context_length": 40_960,
        "embedding_length": hidden,
        "feed_forward_length": 6144,
        "expert_feed_forward_length": 768,
        "expert_count": 128,
        "expert_used_count": 8,
        "attention.head_count": 32,
        "attention.head_count_kv": 4,
        "attention.key_length": 128,
        "attention.value_length": 128,
    }
    return _entries("qwen3moe", values, file_type=15), tensors


def gpt_oss_20b() -> tuple[dict[str, object], Tensors]:
    """gpt-oss 20B in its native MXFP4: every second layer slides."""
    hidden, layers, experts = 2880, 24, 32
    tensors = _outer(hidden, 201_088)
    tensors = {n: ("q8_0" if k != "f32" else k, s) for n, (k, s) in tensors.items()}
    for layer in range(layers):
        block = f"blk.{layer}"
        attention = _attention(layer, hidden, 64, 8, 64)
        tensors |= {n: ("q8_0" if k != "f32" else k, s) for n, (k, s) in attention.items()}
        tensors |= _experts(layer, hidden, hidden, experts, kind="mxfp4")
        tensors |= {
            f"{block}.attn_sinks.weight": ("f32", (64,)),
            f"{block}.attn_q.bias": ("f32", (4096,)),
            f"{block}.attn_k.bias": ("f32", (512,)),
            f"{block}.attn_v.bias": ("f32", (512,)),
            f"{block}.attn_output.bias": ("f32", (hidden,)),
            f"{block}.ffn_gate_inp.bias": ("f32", (experts,)),
            f"{block}.ffn_gate_exps.bias": ("f32", (hidden, experts)),
            f"{block}.ffn_up_exps.bias": ("f32", (hidden, experts)),
            f"{block}.ffn_down_exps.bias": ("f32", (hidden, experts)),
        }
    values = {
        "block_count": layers,
        "context_length": 131_072,
        "embedding_length": hidden,
        "feed_forward_length": hidden,
        "expert_feed_forward_length": hidden,
        "expert_count": experts,
        "expert_used_count": 4,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.sliding_window": 128,
    }
    return _entries("gpt-oss", values, file_type=38), tensors


def gemma3_27b() -> tuple[dict[str, object], Tensors]:
    """Gemma 3 27B: five of six layers slide, the head is the embedding."""
    hidden, layers = 5376, 62
    tensors = _outer(hidden, 262_208, tied=True)
    for layer in range(layers):
        tensors |= _attention(layer, hidden, 32, 16, 128) | _query_key_norms(layer, 128)
        tensors |= _dense(layer, hidden, 21_504)
        tensors |= {
            f"blk.{layer}.post_attention_norm.weight": ("f32", (hidden,)),
            f"blk.{layer}.post_ffw_norm.weight": ("f32", (hidden,)),
        }
    values = {
        "block_count": layers,
        "context_length": 131_072,
        "embedding_length": hidden,
        "feed_forward_length": 21_504,
        "attention.head_count": 32,
        "attention.head_count_kv": 16,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 1024,
    }
    return _entries("gemma3", values, file_type=14), tensors


def deepseek_v3() -> tuple[dict[str, object], Tensors]:
    """DeepSeek V3: MLA with absorbed matrices, three dense layers, one shared expert."""
    hidden, layers, heads, rank, query_rank = 7168, 61, 128, 512, 1536
    tensors = _outer(hidden, 129_280)
    for layer in range(layers):
        block = f"blk.{layer}"
        tensors |= {
            f"{block}.attn_norm.weight": ("f32", (hidden,)),
            f"{block}.ffn_norm.weight": ("f32", (hidden,)),
            f"{block}.attn_q_a.weight": ("q4_k", (hidden, query_rank)),
            f"{block}.attn_q_a_norm.weight": ("f32", (query_rank,)),
            f"{block}.attn_q_b.weight": ("q4_k", (query_rank, heads * 192)),
            f"{block}.attn_kv_a_mqa.weight": ("q8_0", (hidden, rank + 64)),
            f"{block}.attn_kv_a_norm.weight": ("f32", (rank,)),
            f"{block}.attn_k_b.weight": ("q8_0", (128, rank, heads)),
            f"{block}.attn_v_b.weight": ("q8_0", (rank, 128, heads)),
            f"{block}.attn_output.weight": ("q4_k", (heads * 128, hidden)),
        }
        if layer < 3:
            tensors |= _dense(layer, hidden, 18_432)
        else:
            tensors |= _experts(layer, hidden, 2048, 256) | _shared(layer, hidden, 2048)
            tensors[f"{block}.exp_probs_b.bias"] = ("f32", (256,))
    values = {
        "block_count": layers,
        "context_length": 163_840,
        "embedding_length": hidden,
        "feed_forward_length": 18_432,
        "expert_feed_forward_length": 2048,
        "expert_count": 256,
        "expert_shared_count": 1,
        "expert_used_count": 8,
        "leading_dense_block_count": 3,
        "attention.head_count": heads,
        "attention.head_count_kv": 1,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": rank,
        "attention.q_lora_rank": query_rank,
        "rope.dimension_count": 64,
    }
    return _entries("deepseek2", values, file_type=15), tensors


def qwen3_next_80b() -> tuple[dict[str, object], Tensors]:
    """Qwen3-Next 80B: gated DeltaNet in three of four layers."""
    hidden, layers = 2048, 48
    tensors = _outer(hidden, 151_936)
    for layer in range(layers):
        block = f"blk.{layer}"
        if layer % 4 == 3:
            tensors |= _attention(layer, hidden, 16, 2, 256) | _query_key_norms(layer, 256)
            tensors[f"{block}.attn_q.weight"] = ("q4_k", (hidden, 2 * 16 * 256))  # and the gate
        else:
            tensors |= {
                f"{block}.attn_norm.weight": ("f32", (hidden,)),
                f"{block}.attn_qkv.weight": ("q4_k", (hidden, 8192)),
                f"{block}.attn_gate.weight": ("q4_k", (hidden, 4096)),
                f"{block}.ssm_ba.weight": ("q4_k", (hidden, 64)),
                f"{block}.ssm_conv1d.weight": ("f32", (4, 8192)),
                f"{block}.ssm_dt.bias": ("f32", (32,)),
                f"{block}.ssm_a": ("f32", (32,)),
                f"{block}.ssm_norm.weight": ("f32", (128,)),
                f"{block}.ssm_out.weight": ("q4_k", (4096, hidden)),
            }
        tensors[f"{block}.post_attention_norm.weight"] = ("f32", (hidden,))
        tensors.pop(f"{block}.ffn_norm.weight", None)
        tensors |= _experts(layer, hidden, 512, 512) | _shared(layer, hidden, 512)
        tensors[f"{block}.ffn_gate_inp_shexp.weight"] = ("f32", (hidden,))
    values = {
        "block_count": layers,
        "context_length": 262_144,
        "embedding_length": hidden,
        "feed_forward_length": 5120,
        "expert_feed_forward_length": 512,
        "expert_shared_feed_forward_length": 512,
        "expert_count": 512,
        "expert_used_count": 10,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "ssm.conv_kernel": 4,
        "ssm.state_size": 128,
        "ssm.group_count": 16,
        "ssm.time_step_rank": 32,
        "ssm.inner_size": 4096,
    }
    return _entries("qwen3next", values, file_type=15), tensors


MODELS = {
    "Llama-3.1-8B": llama_8b,
    "Qwen3-30B-A3B": qwen3_30b_a3b,
    "gpt-oss-20b": gpt_oss_20b,
    "gemma-3-27b-it": gemma3_27b,
    "DeepSeek-V3": deepseek_v3,
    "Qwen3-Next-80B-A3B-Instruct": qwen3_next_80b,
}
