"""Typed access to the metadata of one GGUF architecture: each wrong entry gives one error."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from caudal.facts.readers import bounds
from caudal.facts.readers.bounds import Bound
from caudal.facts.readers.weight_file import shown
from caudal.vocabulary.errors import InvalidModelFileError

Json = dict[str, object]
Parts = list[set[str]]  # of each layer, the names of its tensors without the layer


@dataclass(frozen=True, slots=True)
class Metadata:
    """Typed access to the values of one architecture; arrays may stand for numbers."""

    values: Mapping[str, object]
    architecture: str
    file: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by tensor name

    def number(self, key: str, within: Bound = bounds.WIDTH_OR_NONE) -> int | None:
        """Return a whole number, the largest of an array of them, None where it is absent."""
        found = self.numbers(key, within)
        return None if found is None else max(found, default=0)

    def numbers(self, key: str, within: Bound = bounds.WIDTH_OR_NONE) -> tuple[int, ...] | None:
        """Return an array of whole numbers, a single number as an array of one."""
        value = self.values.get(f"{self.architecture}.{key}")
        if value is None:
            return None
        items = value if isinstance(value, tuple) else (value,)
        numbers = []
        for item in items:
            if not isinstance(item, int) or int(item) not in within:
                raise self.wrong(key, item, f"should be {within}")
            numbers.append(int(item))
        return tuple(numbers)

    def each(self, key: str, layers: int, within: Bound = bounds.WIDTH_OR_NONE) -> tuple[int, ...]:
        """Return a number for each layer; one number stands for all, absent ones for zero."""
        found = self.numbers(key, within) or (0,)
        if len(found) == 1:
            return found * layers
        if len(found) < layers:
            raise self.wrong(key, f"{len(found)} numbers", f"should be one for each of {layers}")
        return found[:layers]

    def needed(self, key: str, within: Bound) -> int:
        """Return a number that no model is without."""
        found = self.number(key, within)
        if found is None:
            raise InvalidModelFileError(
                f"{shown(self.file)}: the entry {self.architecture}.{key} is missing.",
                remedy="Convert the model again, or name its config.json.",
            )
        return found

    def wrong(self, key: str, value: object, why: str) -> InvalidModelFileError:
        """Return the error for an entry that cannot be meant."""
        return InvalidModelFileError(
            f"{shown(self.file)}: the entry {shown(f'{self.architecture}.{key}')} is "
            f"{shown(str(value))}; it {why}.",
            remedy="Convert the model again, or name its config.json.",
        )
