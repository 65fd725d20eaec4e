"""Families of architectures: for each `model_type`, how its fields become layers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from caudal.facts.readers.families.conventions import DECODERS
from caudal.facts.readers.families.decoder import read_decoder
from caudal.facts.readers.families.latent import read_latent
from caudal.facts.readers.families.shape import Shape
from caudal.facts.readers.fields import ConfigFields

Reader = Callable[[ConfigFields], Shape]

_LATENT: Final = (
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "kimi_k2",
    "mistral_large_3",
)

READERS: Final[Mapping[str, Reader]] = {
    **{
        family: partial(read_decoder, conventions=conventions)
        for family, conventions in DECODERS.items()
    },
    **dict.fromkeys(_LATENT, read_latent),
}
"""The reader of each family; a text model inside a multimodal one drops its `_text`."""
