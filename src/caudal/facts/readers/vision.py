"""How many parameters the encoders for images and sound hold, with their projectors."""

from dataclasses import dataclass

from caudal.facts.readers import bounds
from caudal.facts.readers.fields import ConfigFields


@dataclass(frozen=True, slots=True)
class VisionCount:
    """Parameters of all encoders, and what the count leaves out or assumes."""

    parameters: int
    note: str = ""


def read_vision(outer: ConfigFields) -> VisionCount:
    """Return the encoders' size."""
    own = outer.optional_integer("_vision_params", within=bounds.CATALOGUE_COUNT)
    return VisionCount(own or 0)
