"""From a config.json to a model: which part describes the text model, and what stands around it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.readers import bounds
from caudal.facts.readers.checkpoint import read_checkpoint
from caudal.facts.readers.defaults import CLASS_DEFAULTS
from caudal.facts.readers.families import READERS
from caudal.facts.readers.families.decoder import Conventions, read_decoder
from caudal.facts.readers.families.shape import (
    CONTEXT_NAMES,
    HIDDEN_NAMES,
    LAYER_NAMES,
    Shape,
)
from caudal.facts.readers.fields import ConfigFields
from caudal.facts.readers.vision import read_vision
from caudal.facts.readers.weight_file import shown
from caudal.facts.source import Source
from caudal.facts.weights import active_parameters, total_parameters
from caudal.vocabulary.errors import InvalidModelFileError, UnsupportedModelError
from caudal.vocabulary.units import Bytes, Tokens

# Where multimodal files keep their language model, outermost first.
_INNER_SECTIONS: Final = ("thinker_config", "text_config", "llm_config", "language_config")
_TEXT_SUFFIXES: Final = ("_text_model", "_text")

# Marks of architectures that do not decode text token by token from a decoder's cache.
_ENCODER_MARKS: Final = ("encoder_layers", "decoder_layers", "type_vocab_size", "num_mel_bins")
# Marks of layers that a plain decoder does not have, so that it cannot stand in for them.
_UNUSUAL_MARKS: Final = (
    "kv_lora_rank",
    "mamba_d_state",
    "ssm_state_size",
    "state_size",
    "linear_num_value_heads",
    "linear_attn_config",
    "hybrid_override_pattern",
    "layers_block_type",
    "attn_type_list",
    "block_configs",
    "num_kv_shared_layers",
    "compress_ratios",
    "conv_L_cache",
)
_NOT_GENERATIVE: Final = frozenset(
    {
        "albert", "bart", "bert", "clip", "deberta", "deberta-v2", "distilbert", "electra",
        "mpnet", "mt5", "nomic_bert", "modernbert", "roberta", "siglip", "speecht5", "t5",
        "wav2vec2", "whisper", "xlm-roberta",
    }
)  # fmt: skip


def model_from_config(
    config: Mapping[str, object],
    *,
    name: str,
    source: Source,
    confidence: ArchitectureConfidence,
) -> ModelSpec:
    """Return the model that a configuration describes.

    Keys that begin with `_` are the catalogue's own (`_total_params`, `_vision_params` ...); a
    published file has none, and then all counts are computed from the shape.

    Raises:
        InvalidModelFileError: a field is missing, absurd or contradicts another; it is named.
        UnsupportedModelError: there is no rule for this architecture.
    """
    outer = ConfigFields(config, file=name)
    inner, filled = _text_section(outer)
    family, shape = _read_shape(outer, inner)
    vision = read_vision(outer, inner)
    notes = (
        outer.text("_note", default=""),
        shape.note,
        filled,
        _context_note(inner, shape),
        vision.note,
    )
    model = ModelSpec(
        id=outer.text("_id", default=name),
        family=family,
        hidden=shape.hidden,
        layers=shape.layers,
        vocabulary=shape.vocabulary,
        tied_embeddings=outer.flag("tie_word_embeddings", default=shape.tied_embeddings),
        max_context_tokens=Tokens(shape.max_context_tokens),
        checkpoint=read_checkpoint(outer, inner, layers=len(shape.layers)),
        position_parameters=shape.position_parameters,
        final_norm_elements=shape.final_norm_elements,
        per_layer_embedding_parameters=shape.per_layer_embedding_parameters,
        vision_parameters=vision.parameters,
        mtp_parameters=_own(outer, "_mtp_params", shape.mtp_parameters),
        extra_parameters=shape.extra_parameters,
        total_parameters=0,
        active_parameters=0,
        checkpoint_bytes=_checkpoint_bytes(outer),
        aliases=outer.texts("_aliases") or (),
        licence=outer.text("_license", default="unknown"),
        confidence=confidence,
        source=source,
        note="; ".join(note for note in notes if note),
    )
    return _with_counts(model, outer)


def _text_section(outer: ConfigFields) -> tuple[ConfigFields, str]:
    """Return the part with the language model's sizes, and which of them it leaves to its class."""
    fields = outer
    for name in _INNER_SECTIONS:
        fields = fields.section(name) or fields
    if fields is outer:
        return outer, ""
    defaults = CLASS_DEFAULTS.get(_family(outer, fields), {})
    absent = [name for name in defaults if not fields.has(name)]
    if not absent:
        return fields, ""
    return fields.filled(defaults), f"class defaults stand in for {', '.join(absent)}"


def _context_note(inner: ConfigFields, shape: Shape) -> str:
    if inner.has(*CONTEXT_NAMES):
        return ""
    return f"the file states no context length: {shape.max_context_tokens:,} tokens are assumed"


def _family(outer: ConfigFields, inner: ConfigFields) -> str:
    family = inner.text("model_type", default=outer.text("model_type", default=""))
    for suffix in _TEXT_SUFFIXES:
        family = family.removesuffix(suffix)
    return shown(family)


def _read_shape(outer: ConfigFields, inner: ConfigFields) -> tuple[str, Shape]:
    family = _family(outer, inner)
    if (
        family in _NOT_GENERATIVE
        or outer.flag("is_encoder_decoder", default=False)
        or any(outer.has(mark) for mark in _ENCODER_MARKS)
    ):
        raise _unsupported(
            outer,
            family,
            "encoders, embedding and speech models are not served",
            advice="An encoder keeps no KV cache: count on its file and some activations.",
        )
    reader = READERS.get(family)
    if reader is not None:
        return family, reader(inner)
    unusual = [mark for mark in _UNUSUAL_MARKS if inner.has(mark)]
    if unusual:
        raise _unsupported(outer, family, f"there is no rule for what {unusual[0]} describes")
    if family and not (inner.has(*HIDDEN_NAMES) and inner.has(*LAYER_NAMES)):
        raise _unsupported(outer, family, "the usual fields of a decoder are missing")
    shape = read_decoder(inner, Conventions())
    called = f"unknown family {family!r}" if family else "no model_type"
    note = f"{called}: read as a plain Llama-like decoder, small tensors may differ"
    return family or "unknown", replace(shape, note="; ".join(filter(None, (shape.note, note))))


_BY_SIZE: Final = "For a rough answer give the size alone, such as --params 13B."


def _unsupported(
    outer: ConfigFields, family: str, why: str, *, advice: str = _BY_SIZE
) -> UnsupportedModelError:
    called = f"the architecture {family!r}" if family else "this architecture"
    return UnsupportedModelError(
        f"{outer.file}: {called} is not supported: {why}.",
        remedy=f"Supported are {', '.join(sorted(READERS))}, and other plain decoders with the "
        f"usual fields. {advice}",
    )


def _with_counts(model: ModelSpec, outer: ConfigFields) -> ModelSpec:
    """Return the model with its counts: the published ones where the catalogue has them."""
    computed = total_parameters(model)
    if computed not in bounds.TOTAL_PARAMETERS:
        raise InvalidModelFileError(
            f"{outer.file}: its fields together make {computed:,} parameters; "
            f"allowed is {bounds.TOTAL_PARAMETERS}.",
            remedy="Check num_hidden_layers, hidden_size, intermediate_size, the number of "
            "experts and vocab_size.",
        )
    return replace(
        model,
        total_parameters=_own(outer, "_total_params", computed),
        active_parameters=_own(outer, "_active_params", active_parameters(model)),
    )


def _own(outer: ConfigFields, name: str, computed: int) -> int:
    return outer.integer(name, within=bounds.CATALOGUE_COUNT, default=computed)


def _checkpoint_bytes(outer: ConfigFields) -> Bytes | None:
    size = outer.optional_integer("_weights_bytes", within=bounds.CATALOGUE_COUNT)
    return None if size is None else Bytes(size)
