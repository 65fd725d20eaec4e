"""What some architectures' GGUF metadata say in words of their own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from caudal.facts.readers import bounds
from caudal.facts.readers.gguf_metadata import Json, Metadata, Parts

# Every how many layers one attends to everything, where the file has no pattern.
# Source: llama.cpp src/llama-model.cpp, set_swa_pattern.
_FULL_EVERY: Final = {
    "gemma2": 2,
    "gemma3": 6,
    "gpt-oss": 2,
    "cohere2": 4,
    "exaone4": 4,
    "olmo2": 4,
}
_LLAMA4_CHUNK: Final = 8192  # llama.cpp src/llama-model.cpp: n_swa of LLM_ARCH_LLAMA4


def reaches(meta: Metadata, parts: Parts) -> Json:
    """Return the sliding window and which layers have it."""
    if any("ssm_conv1d.weight" in part for part in parts):
        recurrent = ["ssm_conv1d.weight" in part for part in parts]
        return {"layer_types": ["linear_attention" if r else "full_attention" for r in recurrent]}
    window = meta.number("attention.sliding_window", bounds.CONTEXT_OR_NONE)
    if not window:
        return {}
    period = _FULL_EVERY.get(meta.architecture)
    pattern = meta.numbers("attention.sliding_window_pattern", bounds.PERIOD)
    if pattern is not None and len(pattern) >= len(parts) > 1:
        slides = [bool(mark) for mark in pattern[: len(parts)]]
    elif period := pattern[0] if pattern else period:
        slides = [index % period < period - 1 for index in range(len(parts))]
    else:  # llama.cpp reads the window of these architectures, and does not use it
        return {}
    return {
        "sliding_window": window,
        "layer_types": ["sliding_attention" if slid else "full_attention" for slid in slides],
    }


def _state_space(meta: Metadata) -> Json:
    """Return Mamba-2's sizes in each family's own words."""
    inner = meta.needed("ssm.inner_size", bounds.INTERMEDIATE)
    heads = meta.needed("ssm.time_step_rank", bounds.HEADS)
    state = meta.needed("ssm.state_size", bounds.STATE)
    groups = meta.number("ssm.group_count", bounds.GROUPS) or 1
    return {
        "mamba_n_heads": heads,
        "mamba_d_head": max(inner // heads, 1),
        "mamba_d_ssm": inner,
        "mamba_d_state": state,
        "mamba_n_groups": groups,
        "mamba_d_conv": meta.number("ssm.conv_kernel", bounds.STATE),
    }


def _gated_deltanet(meta: Metadata, parts: Parts) -> Json:  # noqa: ARG001
    inner = meta.needed("ssm.inner_size", bounds.INTERMEDIATE)
    values = meta.needed("ssm.time_step_rank", bounds.HEADS)
    return {
        "linear_num_key_heads": meta.needed("ssm.group_count", bounds.HEADS),
        "linear_num_value_heads": values,
        "linear_key_head_dim": meta.needed("ssm.state_size", bounds.HEAD_DIM),
        "linear_value_head_dim": max(inner // values, 1),
        "linear_conv_kernel_dim": meta.number("ssm.conv_kernel", bounds.STATE),
    }


def _granite_hybrid(meta: Metadata, parts: Parts) -> Json:
    mamba = ["ssm_conv1d.weight" in part for part in parts]
    shared = meta.number("expert_shared_feed_forward_length") or max(
        meta.each("feed_forward_length", len(parts))
    )
    return _state_space(meta) | {
        "layer_types": ["mamba" if each else "attention" for each in mamba],
        "shared_intermediate_size": shared,
        "shared_expert_intermediate_size": None,
    }


def _nemotron_h(meta: Metadata, parts: Parts) -> Json:
    kinds = []
    for part in parts:
        if "ssm_conv1d.weight" in part:
            kinds.append("mamba")
        elif any(name.startswith("attn_q") for name in part):
            kinds.append("attention")
        else:
            kinds.append("moe" if any("_exps." in name for name in part) else "mlp")
    return _state_space(meta) | {"layers_block_type": kinds, "layer_types": None}


def _falcon_h1(meta: Metadata, parts: Parts) -> Json:
    norm = any("ssm_norm.weight" in part for part in parts)
    return _state_space(meta) | {"layer_types": None, "mamba_rms_norm": norm}


def _jamba(meta: Metadata, parts: Parts) -> Json:
    attending = [index for index, part in enumerate(parts) if "ssm_conv1d.weight" not in part]
    if not attending:
        raise meta.wrong("attention.head_count_kv", "without attention layers", "should have some")
    period = attending[1] - attending[0] if len(attending) > 1 else len(parts)
    hidden = meta.needed("embedding_length", bounds.HIDDEN)
    return {
        "attn_layer_period": period,
        "attn_layer_offset": attending[0] % period,
        "mamba_d_state": meta.needed("ssm.state_size", bounds.STATE),
        "mamba_d_conv": meta.number("ssm.conv_kernel", bounds.STATE),
        "mamba_dt_rank": meta.number("ssm.time_step_rank", bounds.RANK),
        "mamba_expand": max(meta.needed("ssm.inner_size", bounds.INTERMEDIATE) // hidden, 1),
        "layer_types": None,
    }


def _kimi_linear(meta: Metadata, parts: Parts) -> Json:
    full = [i + 1 for i, part in enumerate(parts) if any("attn_kv_a" in name for name in part)]
    heads = meta.needed("attention.head_count", bounds.HEADS)
    return {
        "model_type": "kimi_linear",
        "layer_types": None,
        "linear_attn_config": {
            "full_attn_layers": full,
            "kda_layers": [index for index in range(1, len(parts) + 1) if index not in set(full)],
            "num_heads": heads,
            "head_dim": meta.number("kda.head_dim", bounds.HEAD_DIM) or 128,
            "short_conv_kernel_size": meta.number("ssm.conv_kernel", bounds.STATE) or 4,
        },
    }


def _deci(meta: Metadata, parts: Parts) -> Json:
    heads = meta.each("attention.head_count", len(parts), bounds.Bound(0, bounds.HEADS.most))
    kv_heads = meta.each("attention.head_count_kv", len(parts), bounds.Bound(0, bounds.HEADS.most))
    widths = meta.each("feed_forward_length", len(parts))
    return {
        "block_configs": list(_blocks(zip(heads, kv_heads, widths, strict=True))),
    }


def _blocks(rows: Iterator[tuple[int, int, int]]) -> Iterator[Json]:
    for heads, kv_heads, width in rows:
        attention: Json = {"no_op": True}
        if kv_heads:
            attention = {"n_heads_in_group": max(heads // kv_heads, 1)}
        yield {
            "attention": attention,
            "ffn": {"intermediate_size": width} if width else {"no_op": True},
        }


def _llama4(meta: Metadata, parts: Parts) -> Json:  # noqa: ARG001
    chunk = meta.number("attention.chunk_size", bounds.CONTEXT) or _LLAMA4_CHUNK
    return {"attention_chunk_size": chunk}


def _gemma4(meta: Metadata, parts: Parts) -> Json:
    """Return what differs between Gemma 4's sliding and full layers."""
    kinds = reaches(meta, parts).get("layer_types")
    kv_heads = meta.each("attention.head_count_kv", len(parts), bounds.HEADS)
    widths = meta.each("feed_forward_length", len(parts))
    dense = [width for width in widths if width]
    sliding, full = kv_heads[0], kv_heads[0]
    if isinstance(kinds, list):
        sliding = next((n for n, k in zip(kv_heads, kinds, strict=True) if "slid" in k), sliding)
        full = next((n for n, k in zip(kv_heads, kinds, strict=True) if "full" in k), full)
    experts = meta.number("expert_count", bounds.EXPERTS)
    return {
        "num_key_value_heads": sliding,
        "num_global_key_value_heads": full,
        "head_dim": meta.number("attention.key_length_swa", bounds.HEAD_DIM)
        or meta.number("attention.key_length", bounds.HEAD_DIM),
        "global_head_dim": meta.number("attention.key_length", bounds.HEAD_DIM),
        "num_kv_shared_layers": meta.number("attention.shared_kv_layers", bounds.PERIOD),
        "intermediate_size": min(dense) if dense else None,
        "use_double_wide_mlp": len(set(dense)) > 1,
        "hidden_size_per_layer_input": meta.number("embedding_length_per_layer_input") or 0,
        "attention_k_eq_v": any(
            "attn_k.weight" in part and "attn_v.weight" not in part for part in parts
        ),
        "enable_moe_block": bool(experts),
        "mlp_layer_types": None,
    }


_Special = Callable[[Metadata, Parts], Json]
SPECIAL: Final[Mapping[str, _Special]] = {
    "deci": _deci,
    "falcon-h1": _falcon_h1,
    "gemma4": _gemma4,
    "granitehybrid": _granite_hybrid,
    "jamba": _jamba,
    "kimi-linear": _kimi_linear,
    "llama4": _llama4,
    "nemotron_h": _nemotron_h,
    "nemotron_h_moe": _nemotron_h,
    "qwen3next": _gated_deltanet,
    "qwen35": _gated_deltanet,
    "qwen35moe": _gated_deltanet,
}
