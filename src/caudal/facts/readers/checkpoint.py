"""How a checkpoint stores its weights, by its `torch_dtype` and `quantization_config`.

Modules left in 16 bit keep the names that the file gives them; where all layers are listed one by
one, a `*` stands for them. Norms and biases, which no format quantises, are left out.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from caudal.facts.model import CheckpointFormat
from caudal.facts.readers import bounds
from caudal.facts.readers.fields import ConfigFields
from caudal.facts.readers.weight_file import shown
from caudal.vocabulary.errors import UnsupportedModelError

_DTYPES: Final = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8_e4m3fn": "fp8",
    "auto": "bf16",
}
_MODELOPT: Final = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8-block",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_AWQ": "int4",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "INT8_SQ": "int8",
    "W4A8_MXFP4_FP8": "mxfp4",
    "MXFP4": "mxfp4",
}
_QUARK: Final = {"fp8_e4m3": "fp8", "fp4": "mxfp4", "int4": "int4", "int8": "int8"}
_LAYER_INDEX: Final = re.compile(r"(?<=layers\.)\d+(?=[.*]|$)")
_SMALL: Final = re.compile(r"norm|bias|eh_proj|rotary")  # nothing that would be quantised
_GROUP_SIZE: Final = bounds.Bound(-1, 65_536)  # -1: a whole row
_BULK: Final = ("experts", "mlp", "feed_forward", "ffn")  # where most weights of a model are


def read_checkpoint(outer: ConfigFields, inner: ConfigFields, *, layers: int) -> CheckpointFormat:
    """Return how the weights are stored, and which modules are left out of the quantisation.

    Raises:
        UnsupportedModelError: the method of quantisation is not known.
    """
    section = outer.section("quantization_config") or inner.section("quantization_config")
    if section is None:
        return CheckpointFormat(weight_format=_plain(outer, inner))
    stored = _read_section(section)
    if outer.text("expert_dtype", default="") == "fp4":  # DeepSeek V4: experts in MXFP4
        rest = stored.weight_format
        formats = tuple((module, rest) for module in ("*self_attn*", "*shared_experts*"))
        stored = replace(stored, weight_format="mxfp4", module_formats=formats)
    return replace(stored, kept_modules=_merged(stored.kept_modules, layers))


def _read_section(section: ConfigFields) -> CheckpointFormat:
    nested = section.section("quantization")  # modelopt's hf_quant_config.json
    if nested is not None or section.has("quant_algo"):
        return _modelopt(nested or section, section)
    method = (
        section.text("quant_method", default="").lower().replace("_", "-").removeprefix("intel/")
    )
    read = _METHODS.get(method)
    if read is None:
        raise _unknown(section, method or "without a quant_method")
    return read(section)


def _plain(outer: ConfigFields, inner: ConfigFields) -> str:
    for fields in (outer, inner):
        for name in ("torch_dtype", "dtype"):
            if fields.has(name):
                written = fields.text(name, default="").removeprefix("torch.")
                known = _DTYPES.get(written)
                if known is None:
                    raise fields.wrong(name, written, allowed=f"one of {', '.join(_DTYPES)}")
                return known
    return "bf16"  # what published files without a dtype hold: engines load them in 16 bit


def _stored(section: ConfigFields, named: str) -> CheckpointFormat:
    return CheckpointFormat(
        weight_format=named, kv_format=_kv_format(section), kept_modules=_kept(section)
    )


def _eight_bit_float(section: ConfigFields) -> CheckpointFormat:
    return _stored(section, "fp8-block" if section.has("weight_block_size") else "fp8")


def _bitsandbytes(section: ConfigFields) -> CheckpointFormat:
    if not section.flag("load_in_4bit", default=False):
        return _stored(section, "int8-weight-only")
    double = section.flag("bnb_4bit_use_double_quant", default=False)
    return _stored(section, "nf4" if double else "nf4-plain")


def _integer(section: ConfigFields) -> CheckpointFormat:
    bits = section.integer("bits", "w_bit", within=bounds.Bound(2, 8), default=4)
    if bits not in {4, 8}:
        raise _unknown(section, f"with {bits} bits")
    return _stored(section, _four_bit(section) if bits == 4 else "int8-weight-only")


def _four_bit(fields: ConfigFields) -> str:
    size = fields.integer("group_size", "q_group_size", within=_GROUP_SIZE, default=128)
    return "int4-g32" if size == 32 else "int4"


def _modelopt(quantization: ConfigFields, section: ConfigFields) -> CheckpointFormat:
    algorithm = quantization.text("quant_algo", default="").upper()
    if algorithm == "MIXED_PRECISION":
        return _grouped(section)
    named = _MODELOPT.get(algorithm)
    if named is None:
        raise _unknown(section, f"of modelopt's {algorithm or 'unnamed'} kind")
    return CheckpointFormat(
        weight_format=named,
        kv_format=_kv_format(quantization) or _kv_format(section),
        kept_modules=_kept(quantization) or _kept(section),
    )


def _quark(section: ConfigFields) -> CheckpointFormat:
    """Return the format of AMD's Quark: one dtype for all matrices that are not excluded."""
    whole = section.section("global_quant_config")
    weight = None if whole is None else whole.section("weight")
    if weight is None:
        raise section.missing(("global_quant_config",), allowed="an object with a weight")
    dtype = weight.text("dtype", default="")
    named = _QUARK.get(dtype)
    if named is None:
        raise _unknown(section, f"of Quark's {dtype or 'unnamed'} kind")
    return _stored(section, named)


def _grouped(section: ConfigFields) -> CheckpointFormat:
    """Return the format of a file that gives one for each group of modules.

    The bulk's format is that of the group whose targets are linear layers in general, or name
    the experts or feed-forwards; other groups become `module_formats`.
    """
    groups = section.section("config_groups")
    if groups is None:
        raise section.missing(("config_groups",), allowed="an object with a group of modules each")
    found: list[tuple[str, tuple[str, ...]]] = []
    for name in sorted(groups.names()):
        group = groups.section(name)
        if group is not None:
            found.append((_group_format(section, group), group.texts("targets") or ("Linear",)))
    if not found:
        raise groups.missing(("group_0",), allowed="an object with weights and targets")
    bulk, _ = max(found, key=lambda group: _bulk_share(group[1]))
    return CheckpointFormat(
        weight_format=bulk,
        kv_format=_kv_format(section),
        kept_modules=_kept(section),
        module_formats=tuple(
            (pattern, named) for named, targets in found if named != bulk for pattern in targets
        ),
    )


def _bulk_share(targets: tuple[str, ...]) -> int:
    if "Linear" in targets:
        return len(targets) + 1
    return sum(any(bulk in target for bulk in _BULK) for target in targets)


def _group_format(section: ConfigFields, group: ConfigFields) -> str:
    weights = group.section("weights")
    if weights is None:
        raise group.missing(("weights",), allowed="an object with num_bits and type")
    bits = weights.integer("num_bits", within=bounds.Bound(1, 16))
    kind = weights.text("type", default="int")
    size = weights.integer("group_size", within=_GROUP_SIZE, default=0)
    blocks = weights.text("strategy", default="") == "block" or weights.has("block_structure")
    quantised_activations = group.section("input_activations") is not None
    match kind, bits:
        case "float", 8:
            return "fp8-block" if blocks else "fp8"
        case "float", 4:
            return "mxfp4" if size == 32 else "nvfp4"
        case "int", 8:
            return "int8" if quantised_activations else "int8-weight-only"
        case "int", 4:
            return _four_bit(weights)
        case _:
            raise _unknown(section, f"with {bits}-bit {kind} weights")


def _kv_format(section: ConfigFields) -> str | None:
    if section.has("kv_cache_quant_algo"):
        return {"FP8": "fp8"}.get(section.text("kv_cache_quant_algo", default="").upper())
    scheme = section.section("kv_cache_scheme")
    if scheme is None:
        return None
    bits = scheme.integer("num_bits", within=bounds.Bound(1, 16), default=16)
    return "fp8" if bits == 8 and scheme.text("type", default="float") == "float" else None


def _kept(section: ConfigFields) -> tuple[str, ...]:
    listed: list[str] = []
    for name in (
        "modules_to_not_convert",
        "ignored_layers",
        "ignore",
        "exclude_modules",
        "exclude",
        "llm_int8_skip_modules",
    ):
        listed.extend(section.texts(name) or ())
    return tuple(dict.fromkeys(module for module in listed if not _SMALL.search(module)))


def _merged(modules: tuple[str, ...], layers: int) -> tuple[str, ...]:
    """Return the modules with those named in every layer written once."""
    indices: dict[str, set[int]] = {}
    names: dict[str, str] = {}
    for module in modules:
        name = names[module] = _LAYER_INDEX.sub("*", module)
        found = _LAYER_INDEX.search(module)
        if found is not None:
            indices.setdefault(name, set()).add(int(found.group()))
    whole = {name for name, found in indices.items() if found.issuperset(range(layers))}
    return tuple(
        dict.fromkeys(names[module] if names[module] in whole else module for module in modules)
    )


def _unknown(section: ConfigFields, what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{section.file}: the weights are quantised in a way Caudal has no rule for: "
        f"{shown(what)}.",
        remedy="Known are fp8, fbgemm_fp8, compressed-tensors, modelopt, awq, gptq, auto-round, "
        "bitsandbytes, mxfp4, quark and bitnet. Give the base model and --precision instead.",
    )


_METHODS: Final[dict[str, Callable[[ConfigFields], CheckpointFormat]]] = {
    "fp8": _eight_bit_float,
    "fbgemm-fp8": partial(_stored, named="fp8"),
    "compressed-tensors": _grouped,
    "modelopt": _grouped,
    "mxfp4": partial(_stored, named="mxfp4"),
    "bitnet": partial(_stored, named="bitnet"),
    "awq": _integer,
    "gptq": _integer,
    "auto-round": _integer,
    "bitsandbytes": _bitsandbytes,
    "quark": _quark,
}
