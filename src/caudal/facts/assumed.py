"""A plausible shape for a model of which nothing but the size is known."""

from datetime import date
from itertools import pairwise
from math import exp, log
from typing import Final

from caudal.facts.model import (
    ArchitectureConfidence,
    CheckpointFormat,
    DenseFeedForward,
    GroupedQueryAttention,
    Layer,
    ModelSpec,
)
from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.formats import format_count
from caudal.vocabulary.units import Tokens

# Dense grouped-query models whose shapes the catalogue holds: (parameters, hidden size, layers).
_PUBLISHED: Final = (
    (494_032_768, 896, 24),  # Qwen2.5-0.5B
    (1_235_814_400, 2048, 16),  # Llama-3.2-1B
    (3_212_749_824, 3072, 28),  # Llama-3.2-3B
    (8_030_261_248, 4096, 32),  # Llama-3.1-8B
    (14_770_033_664, 5120, 48),  # Qwen2.5-14B
    (32_763_876_352, 5120, 64),  # Qwen2.5-32B
    (70_553_706_496, 8192, 80),  # Llama-3.1-70B
    (122_610_069_504, 12_288, 88),  # Mistral-Large-2407
    (405_853_388_800, 16_384, 126),  # Llama-3.1-405B
)
# Chosen: an eighth of the smallest and eight times the largest; beyond, nothing is alike.
_LEAST: Final = 60_000_000
_MOST: Final = 3_000_000_000_000
_KV_HEADS: Final = 8  # what every published shape from 1B on has
_VOCABULARY: Final = 128_256  # Llama 3's, near the median since 2024
_SMALL_VOCABULARY: Final = 32_000  # below 1B the larger one would be half of the model
_TIED_BELOW: Final = 4_000_000_000  # the published shapes below share embedding and head
_CONTEXT: Final = Tokens(131_072)  # what most published since mid-2024 state
_INTERMEDIATE_STEP: Final = 256  # so that tensor parallelism and scales in groups of 128 divide it
_READ_ON: Final = date(2026, 11, 30)


def assumed_model(parameters: int) -> ModelSpec:
    """Return a dense grouped-query model with exactly this many parameters.

    Hidden size and layers are interpolated, log against log, between the published shapes above;
    beyond their ends both grow with the cube root (parameters ~ layers x hidden^2, and layers ~
    hidden). Heads have 128 elements (64 below a hidden size of 2560), eight of them keep keys
    and values. The feed-forward part takes what is left, rounded down to 256 columns; what the
    rounding leaves stands in `extra_parameters`, so that weights are exact.

    The KV cache is rough: published models of one size differ from this shape by a factor of two
    to five in bytes per token (multi-head attention above, latent attention below), and one that
    is a mixture of experts is faster than this answers.

    Raises:
        InvalidQuantityError: fewer than 60M or more than 3T parameters.
    """
    if not _LEAST <= parameters <= _MOST:
        raise InvalidQuantityError(
            f"No shape can be assumed for a model of {format_count(parameters)} parameters.",
            remedy="Give a size from 60M to 3T, such as 13B, or a config.json.",
        )
    raw_hidden, raw_layers = _interpolated(parameters)
    step = 1024 if raw_hidden >= 3584 else 512  # so that the heads divide by eight
    hidden = max(step, round(raw_hidden / step) * step)
    layers = max(1, round(raw_layers))
    head_dim = 128 if hidden >= 2560 else 64
    vocabulary = _VOCABULARY if parameters >= 1_000_000_000 else _SMALL_VOCABULARY
    tied = parameters < _TIED_BELOW
    norms = 2 * hidden
    outside = vocabulary * hidden * (1 if tied else 2) + hidden
    attention = 2 * hidden * hidden + 2 * hidden * _KV_HEADS * head_dim
    left = parameters - outside - layers * (attention + norms)
    column = 3 * hidden * layers
    intermediate = left // column // _INTERMEDIATE_STEP * _INTERMEDIATE_STEP
    assert intermediate > 0, f"no room for a feed-forward part in {parameters} parameters"
    layer = Layer(
        mixers=(
            GroupedQueryAttention(heads=hidden // head_dim, kv_heads=_KV_HEADS, head_dim=head_dim),
        ),
        feed_forward=DenseFeedForward(intermediate=intermediate),
        norm_elements=norms,
    )
    size = format_count(parameters)
    return ModelSpec(
        id=f"assumed-{size.lower()}",
        family="assumed",
        hidden=hidden,
        layers=(layer,) * layers,
        vocabulary=vocabulary,
        tied_embeddings=tied,
        max_context_tokens=_CONTEXT,
        checkpoint=CheckpointFormat(weight_format="bf16"),
        final_norm_elements=hidden,
        extra_parameters=left - intermediate * column,
        total_parameters=parameters,
        active_parameters=parameters,
        confidence=ArchitectureConfidence.ASSUMED,
        source=Source("interpolated between nine published dense shapes", _READ_ON, "none"),
        note=_note(parameters, size),
    )


def _note(parameters: int, size: str) -> str:
    note = (
        f"Only the size {size} was given: a dense model with grouped-query attention is assumed. "
        "Weights are right to a few percent, the KV cache only to a factor of two to five, and "
        "speeds are those of a dense model."
    )
    if parameters > _PUBLISHED[-1][0]:
        note += " No dense model this large is published: a mixture of experts is likelier."
    return note


def _interpolated(parameters: int) -> tuple[float, float]:
    """Return hidden size and layers between the neighbours in size, before rounding."""
    for at_end in (_PUBLISHED[0], _PUBLISHED[-1]):
        beyond = parameters < at_end[0] if at_end is _PUBLISHED[0] else parameters > at_end[0]
        if beyond:
            growth = float((parameters / at_end[0]) ** (1 / 3))
            return at_end[1] * growth, at_end[2] * growth
    for low, high in pairwise(_PUBLISHED):
        if parameters <= high[0]:
            share = log(parameters / low[0]) / log(high[0] / low[0])
            hidden = low[1] * exp(share * log(high[1] / low[1]))
            return hidden, low[2] * exp(share * log(high[2] / low[2]))
    raise AssertionError(f"{parameters} lies between no two published sizes")
