"""A configuration against the headers of the weights beside it: what contradicts, and what counts.

The tensors are what an engine loads; the configuration says how it loads them. Where the two
cannot be of one model it is an error; where only the format differs, the tensors count and the
model says so.
"""

from dataclasses import replace
from typing import Final

from caudal.facts.model import CheckpointFormat, ModelSpec
from caudal.facts.precision import Role
from caudal.facts.readers.stored_weights import layers_in, stored_weights
from caudal.facts.readers.tensor_roles import layer_of, role_of
from caudal.facts.readers.weight_file import StoredTensor, WeightHeader, shown
from caudal.vocabulary.errors import InvalidModelFileError

_FLOATS: Final = {"bf16": "bf16", "f16": "fp16", "f32": "fp32"}
_FP8: Final = ("f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz")
# The types in which a format's matrices are stored. Sources: the quantisers' own files
# (compressed-tensors, AutoAWQ, GPTQModel, bitsandbytes, ModelOpt), each with published checkpoints.
_TYPES: Final = {
    "fp8": _FP8,
    "fp8-block": _FP8,
    "int8": ("i8", "i32"),
    "int8-weight-only": ("i8", "i32", "u8"),
    "int4": ("i32", "u8", "i8"),
    "int4-g32": ("i32", "u8", "i8"),
    "nf4": ("u8",),
    "nf4-plain": ("u8",),
    "mxfp4": ("u8", "i8", "f4"),
    "nvfp4": ("u8", "f4"),
    "bitnet": ("u8", "i8"),
}
# Formats that only a share of a model may be stored in, so that the bulk may be of another type.
_PARTIAL: Final = frozenset({"mxfp4", "nvfp4", "nf4", "nf4-plain", "bitnet", "int8-weight-only"})


def with_header(model: ModelSpec, header: WeightHeader, *, config_file: str) -> ModelSpec:
    """Return the model with the exact bytes of its tensors.

    Raises:
        InvalidModelFileError: the tensors are of another model than the configuration, or
            quantised in a way that it does not say.
    """
    _check_layers(model, header, config_file)
    _check_embedding(model, header, config_file)
    bulk = _bulk(header)
    checkpoint, note = _format(model.checkpoint, header, bulk, config_file)
    converted = bulk in _FLOATS and checkpoint.weight_format in _FLOATS.values()
    if converted and _FLOATS[bulk] != checkpoint.weight_format:
        note = (
            f"the weights are stored in {_FLOATS[bulk]}, {checkpoint.weight_format} is what "
            f"{shown(config_file.rpartition('/')[2])} asks for"
        )
        return replace(model, checkpoint_bytes=None, note=_joined(model.note, note))
    return replace(
        model,
        checkpoint=checkpoint,
        checkpoint_bytes=header.tensor_bytes,
        stored=stored_weights(header, model),
        note=_joined(model.note, note),
    )


def _bulk(header: WeightHeader) -> str:
    """Return the type that most bytes of the stack are stored in."""
    totals: dict[str, int] = {}
    for tensor in header.tensors:
        if layer_of(tensor.name) is not None and role_of(tensor.name) is not Role.VISION:
            totals[tensor.stored_as] = totals.get(tensor.stored_as, 0) + tensor.bytes
    if not totals:
        return next(iter(header.bytes_by_type()), "bf16")
    return max(totals, key=lambda kind: totals[kind])


def _check_layers(model: ModelSpec, header: WeightHeader, config_file: str) -> None:
    found = layers_in(header)
    if 0 < found < len(model.layers):
        raise InvalidModelFileError(
            f"{config_file} describes {len(model.layers)} layers, but the weights beside it have "
            f"{found}.",
            remedy="Check that both are of the same model, and that every file is there.",
        )


def _check_embedding(model: ModelSpec, header: WeightHeader, config_file: str) -> None:
    table = next((tensor for tensor in header.tensors if _is_table(tensor)), None)
    if table is None or table.shape in {
        (model.vocabulary, model.hidden),
        (model.hidden, model.vocabulary),
    }:
        return
    if model.hidden in table.shape and max(table.shape) >= model.vocabulary:
        return  # padded rows, or rows for special tokens
    rows = " x ".join(f"{size:,}" for size in table.shape)
    raise InvalidModelFileError(
        f"{config_file} describes an embedding of {model.vocabulary:,} x {model.hidden:,}, but "
        f"{shown(table.name)} beside it has {rows}.",
        remedy="Check that both are of the same model.",
    )


def _is_table(tensor: StoredTensor) -> bool:
    return (
        len(tensor.shape) == 2
        and tensor.stored_as in _FLOATS
        and tensor.name.endswith(".weight")
        and role_of(tensor.name) is Role.EMBEDDING
    )


def _format(
    said: CheckpointFormat, header: WeightHeader, bulk: str, config_file: str
) -> tuple[CheckpointFormat, str]:
    """Return how the tensors are stored, and a note where the configuration says otherwise."""
    expected = _TYPES.get(said.weight_format)
    sizes = header.bytes_by_type()
    if expected is None:  # 16 or 32 bit
        if bulk in _FLOATS:
            return said, ""
    elif bulk in expected or (
        said.weight_format in _PARTIAL and any(sizes.get(kind) for kind in expected)
    ):
        return said, ""
    found = _seen(header, bulk)
    if found is None:
        raise InvalidModelFileError(
            f"{config_file} says that the weights are stored in {said.weight_format}, but most of "
            f"their bytes are of the type {bulk.upper()}.",
            remedy="Use the config.json that was written with these weights: its "
            "quantization_config says how they are packed.",
        )
    note = (
        f"{shown(config_file.rpartition('/')[2])} says {said.weight_format}, the tensors are "
        f"{found}: the tensors count"
    )
    return replace(said, weight_format=found), note


def _seen(header: WeightHeader, bulk: str) -> str | None:
    """Return the format that types and scales show, None where they do not settle it."""
    names = {tensor.name.rpartition(".")[2] for tensor in header.tensors}
    if bulk in _FLOATS:
        return _FLOATS[bulk]
    if bulk in _FP8:
        return "fp8-block" if _scaled_in_blocks(header) else "fp8"
    if "weight_scale_2" in names or "weight_global_scale" in names:
        return "nvfp4"
    if any(name.endswith("_blocks") for name in names):
        return "mxfp4"
    by_type = {"u8": ("absmax", "nf4", None), "i8": ("SCB", "int8-weight-only", "int8")}
    mark, marked, unmarked = by_type.get(bulk, ("", None, None))
    return marked if mark in names else unmarked


def _scaled_in_blocks(header: WeightHeader) -> bool:
    return any(
        tensor.name.endswith(("weight_scale_inv", "weight_scale"))
        and min(tensor.shape, default=0) > 1
        for tensor in header.tensors
    )


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
