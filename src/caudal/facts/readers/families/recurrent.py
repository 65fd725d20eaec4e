"""Mixers with a fixed state per sequence: what they weigh and what they keep.

Engines keep, beside the recurrent state, the last `kernel - 1` inputs of the convolution.

Source: vLLM 0.12 `mamba_utils.py` (state shapes); transformers 5 model classes (tensors).
"""

from dataclasses import dataclass

from caudal.facts.model import RecurrentMixer
from caudal.facts.readers import bounds
from caudal.facts.readers.fields import ConfigFields

STATE_BYTES_NAMES = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes of one element of the recurrent state, and whether the file asks for them."""

    size: int
    stated: bool


def state_bytes(fields: ConfigFields) -> StateBytes:
    """Return how the file wants its recurrent state kept; 4 bytes where it is silent."""
    for name in STATE_BYTES_NAMES:
        if fields.has(name):
            written = fields.text(name, default="")
            sizes = {"float32": 4, "bfloat16": 2, "float16": 2}
            if written not in sizes:
                raise fields.wrong(name, written, allowed=f"one of {', '.join(sizes)}")
            return StateBytes(sizes[written], stated=True)
    return StateBytes(4, stated=False)


def _mixer(
    kind: str,
    *,
    heads: int,
    matrices: int,
    small: int,
    state: int,
    conv: int,
    kept_as: StateBytes,
) -> RecurrentMixer:
    return RecurrentMixer(
        kind=kind,
        heads=heads,
        parameters=matrices + small,
        small_parameters=small,
        state_elements=state,
        conv_elements=conv,
        state_element_bytes=kept_as.size,
        state_bytes_stated=kept_as.stated,
    )


def mamba1(fields: ConfigFields, *, hidden: int, inner_norms: bool) -> RecurrentMixer:
    """Return Mamba-1 (Jamba, with norms on step, B and C): channels are its heads."""
    inner = hidden * fields.integer("mamba_expand", within=bounds.GROUPS, default=2)
    state = fields.integer("mamba_d_state", within=bounds.STATE, default=16)
    kernel = fields.integer("mamba_d_conv", within=bounds.STATE, default=4)
    rank = -(-hidden // 16)  # what "auto" means
    if not fields.is_text("mamba_dt_rank"):
        rank = fields.integer("mamba_dt_rank", within=bounds.RANK, default=rank)
    matrices = hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * hidden
    conv_bias = inner if fields.flag("mamba_conv_bias", default=True) else 0
    # Convolution, step bias, decay A, skip D; Jamba's three norms.
    small = inner * kernel + conv_bias + inner + inner * state + inner
    return _mixer(
        "mamba1",
        heads=inner,
        matrices=matrices,
        small=small + (rank + 2 * state if inner_norms else 0),
        state=inner * state,
        conv=inner * (kernel - 1),
        kept_as=state_bytes(fields),
    )


def mamba2(fields: ConfigFields, *, hidden: int, gated_norm: bool = True) -> RecurrentMixer:
    """Return Mamba-2: gate, inputs, B, C and steps from one projection."""
    head_dim_names = ("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    heads = fields.integer("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", within=bounds.HEADS)
    expand = fields.integer("mamba_expand", "expand", within=bounds.GROUPS, default=2)
    inner = fields.optional_integer("mamba_d_ssm", within=bounds.INTERMEDIATE)
    if fields.has(*head_dim_names) and not fields.is_text("mamba_d_head"):
        inner = heads * fields.integer(*head_dim_names, within=bounds.HEAD_DIM)
    if inner is None:
        inner = expand * hidden
    state = fields.integer("mamba_d_state", "ssm_state_size", within=bounds.STATE)
    groups = fields.integer("mamba_n_groups", "n_groups", "mamba_ngroups", within=bounds.GROUPS)
    kernel = fields.integer("mamba_d_conv", "conv_kernel", within=bounds.STATE, default=4)
    channels = inner + 2 * groups * state
    conv_bias = fields.flag("mamba_conv_bias", "use_conv_bias", default=True)
    small = channels * kernel + (channels if conv_bias else 0) + 3 * heads
    return _mixer(
        "mamba2",
        heads=heads,
        matrices=hidden * (inner + channels + heads) + inner * hidden,
        small=small + (inner if gated_norm else 0),
        state=inner * state,
        conv=channels * (kernel - 1),
        kept_as=state_bytes(fields),
    )


def gated_deltanet(fields: ConfigFields, *, hidden: int) -> RecurrentMixer:
    """Return gated DeltaNet (Qwen3-Next, Qwen3.5): a key-by-value matrix for each value head."""
    key_heads = fields.integer("linear_num_key_heads", within=bounds.HEADS)
    value_heads = fields.integer("linear_num_value_heads", within=bounds.HEADS)
    key_dim = fields.integer("linear_key_head_dim", within=bounds.HEAD_DIM)
    value_dim = fields.integer("linear_value_head_dim", within=bounds.HEAD_DIM)
    kernel = fields.integer("linear_conv_kernel_dim", within=bounds.STATE, default=4)
    if value_heads % key_heads:
        raise fields.wrong(
            "linear_num_value_heads", value_heads, allowed=f"a multiple of {key_heads} key heads"
        )
    values = value_heads * value_dim
    channels = 2 * key_heads * key_dim + values
    # Queries, keys, values and the output gate; step and decay for each value head; the output.
    matrices = hidden * (channels + values) + 2 * hidden * value_heads + values * hidden
    return _mixer(
        "gated-deltanet",
        heads=value_heads,
        matrices=matrices,
        small=channels * kernel + 2 * value_heads + value_dim,
        state=value_heads * key_dim * value_dim,
        conv=channels * (kernel - 1),
        kept_as=state_bytes(fields),
    )


def kimi_delta(fields: ConfigFields, *, hidden: int) -> RecurrentMixer:
    """Return Kimi delta attention: a decay for each channel, from a low-rank projection.

    Source: arXiv:2510.26692 §3 and the published model code.
    """
    heads = fields.integer("num_heads", within=bounds.HEADS)
    dim = fields.integer("head_dim", within=bounds.HEAD_DIM)
    kernel = fields.integer("short_conv_kernel_size", within=bounds.STATE, default=4)
    width = heads * dim
    low_rank = hidden * dim + dim * width
    gate = hidden * width if fields.flag("use_full_rank_gate", default=False) else low_rank
    matrices = 4 * hidden * width + low_rank + gate + hidden * heads
    return _mixer(
        "kda",
        heads=heads,
        matrices=matrices,
        small=3 * width * kernel + heads + width + dim,
        state=heads * dim * dim,
        conv=3 * width * (kernel - 1),
        kept_as=StateBytes(4, stated=False),
    )


def lightning(fields: ConfigFields, *, hidden: int, heads: int, head_dim: int) -> RecurrentMixer:
    """Return lightning attention (MiniMax-M1): linear attention with a fixed decay and a gate."""
    width = heads * head_dim
    return _mixer(
        "lightning",
        heads=heads,
        matrices=5 * hidden * width,
        small=width,
        state=heads * head_dim * head_dim,
        conv=0,
        kept_as=state_bytes(fields),
    )
