"""How many parameters the encoders for images hold, with the projector into the text model.

Source: the vision classes of transformers 5 and the layouts of the published checkpoints; the
rules of Qwen, SigLIP, Pixtral, Gemma 4 and Llama 4 give the published counts to the parameter,
those of InternViT, MoonViT and Llama 3.2 are within 0.2 %.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from caudal.facts.readers import bounds
from caudal.facts.readers.families.shape import hidden_size
from caudal.facts.readers.fields import ConfigFields

_DEPTH_NAMES: Final = (
    "depth",
    "num_hidden_layers",
    "vt_num_hidden_layers",
    "num_layers",
    "encoder_layers",
)
_WIDTH_NAMES: Final = ("embed_dim", "hidden_size", "vt_hidden_size", "d_model", "width")
_INNER_NAMES: Final = ("intermediate_size", "vt_intermediate_size", "encoder_ffn_dim")
# What published files leave to the class. Source: transformers 5, configuration_pixtral.py.
_PIXTRAL_DEFAULTS: Final = {
    "hidden_size": 1_024,
    "intermediate_size": 4_096,
    "num_hidden_layers": 24,
    "patch_size": 16,
}
_ENCODERS: Final = ("vision_config", "audio_config")


@dataclass(frozen=True, slots=True)
class VisionCount:
    """Parameters of all encoders, and what the count leaves out or assumes."""

    parameters: int
    note: str = ""


def read_vision(outer: ConfigFields, inner: ConfigFields) -> VisionCount:
    """Return the size of the encoders: the catalogue's own figure, a family's rule, or plain ViT.

    The plain rule (blocks of attention and two matrices, patches, a projector) is a few percent
    from the truth; the note says so. An encoder whose sizes are not given is not counted, and the
    note says that.
    """
    own = outer.optional_integer("_vision_params", within=bounds.CATALOGUE_COUNT)
    if own is not None or outer.has("_total_params"):
        return VisionCount(own or 0)
    holder = outer.section("thinker_config") or outer
    hidden = hidden_size(inner)
    counted, notes = 0, []
    for name in _ENCODERS:
        section = _encoder(holder, name)
        if section is None:
            continue
        rule = _rule(outer, section, name)
        if not (section.has(*_DEPTH_NAMES) and section.has(*_WIDTH_NAMES)):
            notes.append(f"{name}: its encoder is not counted")
        elif rule is not None:
            counted += rule(section, hidden)
        else:
            counted += _plain(section, hidden)
            notes.append(f"{name}: size estimated by the rule for plain vision transformers")
    return VisionCount(counted, "; ".join(notes))


def _encoder(holder: ConfigFields, name: str) -> ConfigFields | None:
    section = holder.section(name)
    if section is not None and section.text("model_type", default="") == "pixtral":
        return section.filled(_PIXTRAL_DEFAULTS)
    return section


def _rule(
    outer: ConfigFields, section: ConfigFields, name: str
) -> Callable[[ConfigFields, int], int] | None:
    family = outer.text("model_type", default="") if name == "vision_config" else name
    kind = section.text("model_type", default="")
    return _RULES.get(f"{family}:{kind}") or _RULES.get(family)


def _size(fields: ConfigFields, *names: str, default: int | None = None) -> int:
    return fields.integer(*names, within=bounds.IMAGE, default=default)


def _depth(fields: ConfigFields) -> int:
    return fields.integer(*_DEPTH_NAMES, within=bounds.LAYERS)


def _linear(inputs: int, outputs: int, *, bias: bool = True) -> int:
    return inputs * outputs + (outputs if bias else 0)


def _merged_width(fields: ConfigFields, width: int) -> int:
    merge = _size(fields, "spatial_merge_size", default=2)
    return width * merge * merge


def _patches(fields: ConfigFields, width: int, *, bias: bool) -> int:
    channels = _size(fields, "in_channels", "in_chans", "num_channels", default=3)
    frames = _size(fields, "temporal_patch_size", default=1)
    side = _size(fields, "patch_size", "spatial_patch_size", default=14)
    return _linear(channels * frames * side * side, width, bias=bias)


def _grid(fields: ConfigFields) -> int:
    side = _size(fields, "image_size", default=224)
    patch = _size(fields, "patch_size", default=14)
    return (side // patch) ** 2


def _qwen2(fields: ConfigFields, _: int) -> int:
    width = _size(fields, "embed_dim")
    ratio = _size(fields, "mlp_ratio", default=4)
    inner = ratio * width
    attention = _linear(width, 3 * width) + _linear(width, width)
    block = 4 * width + attention + _linear(width, inner) + _linear(inner, width)
    merged = _merged_width(fields, width)
    merger = 2 * width + _linear(merged, merged) + _linear(merged, _size(fields, "hidden_size"))
    return _patches(fields, width, bias=False) + _depth(fields) * block + merger


def _qwen2_5(fields: ConfigFields, _: int) -> int:
    width = _size(fields, "hidden_size")
    inner = _size(fields, "intermediate_size")
    attention = _linear(width, 3 * width) + _linear(width, width)
    block = 2 * width + attention + 2 * _linear(width, inner) + _linear(inner, width)
    merged = _merged_width(fields, width)
    merger = width + _linear(merged, merged) + _linear(merged, _size(fields, "out_hidden_size"))
    return _patches(fields, width, bias=False) + _depth(fields) * block + merger


def _qwen3(fields: ConfigFields, _: int) -> int:
    width = _size(fields, "hidden_size")
    inner = _size(fields, "intermediate_size")
    attention = _linear(width, 3 * width) + _linear(width, width)
    block = 4 * width + attention + _linear(width, inner) + _linear(inner, width)
    merged = _merged_width(fields, width)
    merger = _linear(merged, merged) + _linear(merged, _size(fields, "out_hidden_size"))
    positions = fields.integer("num_position_embeddings", within=bounds.POSITIONS, default=0)
    deep = len(fields.integers("deepstack_visual_indexes", within=bounds.PERIOD) or ())
    return (
        _patches(fields, width, bias=True)
        + positions * width
        + _depth(fields) * block
        + (2 * width + merger)
        + deep * (2 * merged + merger)
    )


def _siglip(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    inner = _size(fields, "intermediate_size")
    block = 4 * width + 4 * _linear(width, width) + _linear(width, inner) + _linear(inner, width)
    stem = _patches(fields, width, bias=True) + _grid(fields) * width
    return stem + _depth(fields) * block + 2 * width + width + width * hidden


def _pixtral(fields: ConfigFields) -> int:
    width = _size(fields, "hidden_size")
    block = 2 * width + 4 * width * width + 3 * width * _size(fields, "intermediate_size")
    return _patches(fields, width, bias=False) + width + _depth(fields) * block


def _mistral3(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    merged = 4 * width * width  # four patches into one
    return _pixtral(fields) + width + merged + width * hidden + hidden * hidden


def _llava(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    return _pixtral(fields) + _linear(width, hidden) + _linear(hidden, hidden)


def _llama4(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    inner = _size(fields, "intermediate_size")
    block = 4 * width + 4 * _linear(width, width) + _linear(width, inner) + _linear(inner, width)
    entry = _size(fields, "projector_input_dim")
    out = _size(fields, "projector_output_dim")
    stem = _patches(fields, width, bias=False) + width + (_grid(fields) + 1) * width + 4 * width
    adapter = inner * entry + out * out
    projector = _size(fields, "vision_output_dim") * hidden
    return stem + _depth(fields) * block + adapter + projector


def _gemma4(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    head_dim = _size(fields, "head_dim", default=64)
    heads = _size(fields, "num_attention_heads") * head_dim
    gated = 3 * width * _size(fields, "intermediate_size")
    block = 4 * width * heads + 4 * width + 2 * head_dim + gated
    positions = 2 * fields.integer("position_embedding_size", within=bounds.POSITIONS, default=0)
    scale = 2 * width if fields.flag("standardize", default=False) else 0
    stem = _patches(fields, width, bias=False) + positions * width + scale
    return stem + _depth(fields) * block + width * hidden


def _gemma4_audio(fields: ConfigFields, hidden: int) -> int:
    """Return a conformer's size within 1 %: two feed-forwards, attention with positions, gates."""
    width = _size(fields, "hidden_size")
    return 24 * width * width * _depth(fields) + _size(fields, "output_proj_dims") * hidden


def _mllama(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    inner = _size(fields, "intermediate_size")
    block = 4 * width + 4 * width * width + _linear(width, inner) + _linear(inner, width)
    depth = _depth(fields) + _size(fields, "num_global_layers", default=0)
    tiles = _size(fields, "max_num_tiles", default=4)
    ratios = 9  # aspect ratios of up to four tiles, and none
    tile_width = tiles * width
    tables = (_grid(fields) + 1) * (width + ratios * tile_width) + 2 * ratios * tile_width
    projector = _linear(_size(fields, "vision_output_dim"), hidden)
    return _patches(fields, width, bias=False) + tables + depth * block + projector


def _internvit(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, "hidden_size")
    merged = 4 * width  # pixel shuffle joins four patches
    projector = 2 * merged + _linear(merged, hidden) + _linear(hidden, hidden)
    tables = (_grid(fields) + 2) * width
    return _blocks(fields) + tables + projector


def _moonvit(fields: ConfigFields, hidden: int) -> int:
    width = _size(fields, *_WIDTH_NAMES)
    merged = 4 * width
    sides = (_size(fields, f"init_pos_emb_{side}", default=64) for side in ("height", "width"))
    rows, columns = sides
    return _blocks(fields) + rows * columns * width + merged * merged + merged * hidden


def _blocks(fields: ConfigFields) -> int:
    """Return patches and plain blocks: attention, two matrices, norms with biases."""
    width = _size(fields, *_WIDTH_NAMES)
    inner = _size(fields, *_INNER_NAMES, default=4 * width)
    block = 4 * width + 4 * _linear(width, width) + _linear(width, inner) + _linear(inner, width)
    return _patches(fields, width, bias=True) + _depth(fields) * block


def _plain(fields: ConfigFields, hidden: int) -> int:
    return _blocks(fields) + _linear(_size(fields, *_WIDTH_NAMES), hidden)


_RULES: Final[dict[str, Callable[[ConfigFields, int], int]]] = {
    "audio_config:gemma4_audio": _gemma4_audio,
    "gemma3": _siglip,
    "gemma4": _gemma4,
    "internvl_chat": _internvit,
    "kimi_k25": _moonvit,
    "kimi_k3": _moonvit,
    "llama4": _llama4,
    "llava:pixtral": _llava,
    "mistral3": _mistral3,
    "mllama": _mllama,
    "qwen2_5_vl": _qwen2_5,
    "qwen2_vl": _qwen2,
    "qwen3_5": _qwen3,
    "qwen3_5_moe": _qwen3,
    "qwen3_omni_moe": _qwen3,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
    "qwen4_exp": _qwen3,
}
