"""A GGUF file as a model: its shape from the metadata, its bytes from the tensors."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from caudal.facts.model import ArchitectureConfidence, CheckpointFormat, ModelSpec
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import gguf_blocks, weight_formats
from caudal.facts.readers.config import model_from_config
from caudal.facts.readers.gguf import read_gguf
from caudal.facts.readers.gguf_config import config_of_gguf
from caudal.facts.readers.hub_cache import names_in
from caudal.facts.readers.stored_weights import stored_weights
from caudal.facts.readers.weight_file import WeightHeader, shown
from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidModelFileError, UnsupportedModelError

# general.file_type to the mix it means. Source: llama.cpp include/llama.h, enum llama_ftype.
_FILE_TYPES: Final = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k",
    11: "q3_k_s", 12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s",
    17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs",
    23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m",
    30: "iq4_xs", 31: "iq1_m", 32: "bf16", 38: "mxfp4_moe",
}  # fmt: skip
_PLAIN: Final = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}
_PROJECTOR: Final = "mmproj"  # how llama.cpp's converter names an encoder for images
# A shape that is this far from the tensors is not the file's. Chosen: small tensors without a rule
# of their own (rotary factors, scales) stay below 0.1 %.
_MOST_APART: Final = 0.01
_WORTH_A_NOTE: Final = 0.001
# Chosen: a file's bits per weight may differ so much from its mix's usual before it is said.
_UNUSUAL_MIX: Final = 0.08


def find_gguf(path: Path) -> Path | None:
    """Return the GGUF file that a path means: itself, or the only model in a folder.

    Raises:
        InvalidModelFileError: a folder holds several models.
    """
    if path.suffix == ".gguf":
        return path
    names = sorted(name for name in names_in(path) if name.endswith(".gguf"))
    firsts = [
        name
        for name in names
        if not name.startswith(_PROJECTOR) and ("-of-" not in name or "-00001-of-" in name)
    ]
    if len(firsts) > 1:
        raise InvalidModelFileError(
            f"The folder {shown(path.name)} holds {len(firsts)} GGUF models.",
            remedy=f"Name one of them: {', '.join(shown(name) for name in firsts[:5])}.",
        )
    if names and not firsts:
        raise InvalidModelFileError(
            f"The folder {shown(path.name)} holds no whole GGUF model, only {shown(names[0])}.",
            remedy="Put the model's own file, or its first part, there.",
        )
    return path / firsts[0] if firsts else None


def model_from_gguf(path: Path, *, source: Source, name: str) -> ModelSpec:
    """Return the model in a GGUF file, with the exact bytes of its tensors.

    An encoder for images (`mmproj*.gguf`) that is alone in its kind beside it is counted.

    Raises:
        InvalidModelFileError: a header is damaged, or an entry is missing or absurd.
        UnsupportedModelError: the shape that the metadata describe is not that of the tensors.
        UnavailableError: the file may not be read.
    """
    model = model_of_header(read_gguf(path), source=source, name=name)
    beside = [each for each in names_in(path.parent) if each.startswith(_PROJECTOR)]
    projectors = [each for each in beside if each.endswith(".gguf")]
    if len(projectors) != 1 or path.name.startswith(_PROJECTOR):
        return model
    return _with_projector(model, read_gguf(path.parent / projectors[0]))


def model_of_header(header: WeightHeader, *, source: Source, name: str) -> ModelSpec:
    """Return the model that a whole GGUF header describes."""
    model = model_from_config(
        config_of_gguf(header), name=header.file, source=source,
        confidence=ArchitectureConfidence.FILE,
    )  # fmt: skip
    stored, mix_note = _mix(header)
    notes = (model.note, _agreement(header, model), mix_note)
    return replace(
        model,
        id=name,
        checkpoint=CheckpointFormat(weight_format=stored.name),
        checkpoint_bytes=header.tensor_bytes,
        stored=stored_weights(header, model),
        note="; ".join(note for note in notes if note),
    )


def _agreement(header: WeightHeader, model: ModelSpec) -> str:
    """Compare the tensors with the shape; return a note where they differ a little."""
    elements = header.elements
    counts = (model.total_parameters, model.total_parameters + model.mtp_parameters)
    nearest = min(counts, key=lambda count: abs(count - elements))
    apart = abs(elements / nearest - 1)
    if apart > _MOST_APART:
        raise UnsupportedModelError(
            f"{shown(header.file)}: its tensors hold {elements:,} weights, but what its metadata "
            f"describe ({shown(model.family)}) has {nearest:,}: there is no rule for this "
            "architecture.",
            remedy="Name the config.json of the model that it was converted from, and the "
            "format with --precision.",
        )
    if apart > _WORTH_A_NOTE:
        return f"its tensors hold {elements:,} weights, the shape {nearest:,}"
    return ""


def _mix(header: WeightHeader) -> tuple[WeightFormat, str]:
    """Return the mix that a file is closest to, and a note where it is not quite that."""
    known = {stored.name: stored for stored in weight_formats()}
    bits = 8 * header.tensor_bytes / max(header.elements, 1)
    bulk = next(iter(header.bytes_by_type()), "f16")
    if bulk in _PLAIN:
        return known[_PLAIN[bulk]], ""
    claimed = header.metadata.get("general.file_type")
    named = _FILE_TYPES.get(claimed) if isinstance(claimed, int) else None
    if named is not None and named not in _PLAIN.values():
        return known[named], ""
    mixes = [stored for stored in weight_formats() if stored.is_gguf]
    blocks = gguf_blocks()
    width = blocks[bulk].bits if bulk in blocks else bits
    closest = min(mixes, key=lambda mix: (abs(mix.bits + mix.scale_bits - width), mix.name))
    usual = closest.bits + closest.scale_bits
    if abs(usual / width - 1) > _UNUSUAL_MIX:
        raise UnsupportedModelError(
            f"{shown(header.file)}: most of its bytes are of the type {bulk}, for which there is "
            "no mix.",
            remedy="Name a file in one of llama.cpp's usual mixes.",
        )
    return closest, f"the file names no known mix; by its bulk it is called {closest.name}"


def _with_projector(model: ModelSpec, projector: WeightHeader) -> ModelSpec:
    whole = replace(
        model,
        vision_parameters=projector.elements,
        total_parameters=model.total_parameters + projector.elements,
        active_parameters=model.active_parameters + projector.elements,
        checkpoint_bytes=None if model.checkpoint_bytes is None
        else type(model.checkpoint_bytes)(model.checkpoint_bytes + projector.tensor_bytes),
        note="; ".join(filter(None, (model.note, f"{shown(projector.file)} is counted"))),
    )  # fmt: skip
    assert model.stored is not None, "a model of a header has its bytes"
    encoder = stored_weights(projector, whole)
    by_role = dict(model.stored.by_role)
    for role, size in encoder.by_role:
        by_role[role] = type(size)(by_role.get(role, 0) + size)
    return replace(
        whole,
        stored=replace(
            model.stored,
            by_role=tuple(sorted(by_role.items(), key=lambda item: -item[1])),
            tensors=model.stored.tensors + encoder.tensors,
            files=model.stored.files + encoder.files,
        ),
    )
