"""Where a fact was read."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Source:
    """The place a fact was read, the day it was read there, and what allows us to ship it."""

    where: str
    read_on: date
    licence: str = "facts only"
