"""What a family's reader finds in a configuration: a model without its name and its origin."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from caudal.facts.model import Layer
from caudal.facts.readers import bounds
from caudal.facts.readers.fields import ConfigFields

LAYER_NAMES: Final = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HIDDEN_NAMES: Final = ("hidden_size", "n_embd", "d_model")
CONTEXT_NAMES: Final = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "model_max_length",
)
VOCABULARY_NAMES: Final = ("vocab_size", "padded_vocab_size")
UNSTATED_CONTEXT: Final = 2048  # what old files (BLOOM, Falcon) leave out: their training length


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Layers and sizes of a model; `mtp_parameters` and `vision_parameters` stand beside them."""

    hidden: int
    vocabulary: int
    layers: tuple[Layer, ...]
    tied_embeddings: bool
    max_context_tokens: int
    final_norm_elements: int
    position_parameters: int = 0
    per_layer_embedding_parameters: int = 0
    extra_parameters: int = 0
    mtp_parameters: int = 0
    note: str = ""


def layer_count(fields: ConfigFields) -> int:
    """Return how many layers the stack has."""
    return fields.integer(*LAYER_NAMES, within=bounds.LAYERS)


def hidden_size(fields: ConfigFields) -> int:
    """Return the width of the residual stream."""
    return fields.integer(*HIDDEN_NAMES, within=bounds.HIDDEN)


def vocabulary_size(fields: ConfigFields, *, default: int | None = None) -> int:
    """Return the rows of the embedding."""
    return fields.integer(*VOCABULARY_NAMES, within=bounds.VOCABULARY, default=default)


def context_length(fields: ConfigFields, *, default: int = UNSTATED_CONTEXT) -> int:
    """Return the longest sequence that the file allows."""
    return fields.integer(*CONTEXT_NAMES, within=bounds.CONTEXT, default=default)


def shared(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return the layers with equal ones replaced by the first of them."""
    known: dict[Layer, Layer] = {}
    return tuple(known.setdefault(layer, layer) for layer in layers)
