"""Typed access to a configuration: each wrong value gives one error naming file and field."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from caudal.facts.readers.bounds import Bound
from caudal.vocabulary.errors import InvalidModelFileError

_LONGEST_SHOWN: Final = 60  # chosen: a value is shown to be found again, not to be read whole


class ConfigFields:
    """The fields of one (nested) object of a model file.

    A field may have several names, of which the first present one counts; null is absent.
    """

    __slots__ = ("_file", "_path", "_values")

    def __init__(self, values: Mapping[str, object], *, file: str, path: str = "") -> None:
        self._values = values
        self._file = file
        self._path = path

    @property
    def file(self) -> str:
        """The name of the file that errors mention."""
        return self._file

    def filled(self, defaults: Mapping[str, object]) -> "ConfigFields":
        """Return the same fields with `defaults` for those that are absent."""
        present = {name: value for name, value in self._values.items() if value is not None}
        return ConfigFields({**defaults, **present}, file=self._file, path=self._path)

    def has(self, *names: str) -> bool:
        """Return whether one of `names` is present and not null."""
        return any(self._values.get(name) is not None for name in names)

    def integer(self, *names: str, within: Bound, default: int | None = None) -> int:
        """Return a whole number within a bound.

        Raises:
            InvalidModelFileError: it is missing without a default, no number, or out of bounds.
        """
        found = self.optional_integer(*names, within=within)
        if found is not None:
            return found
        if default is None:
            raise self.missing(names, allowed=str(within))
        return default

    def optional_integer(self, *names: str, within: Bound) -> int | None:
        """Return a whole number within a bound, or None where the field is absent."""
        name, value = self._first(names)
        return None if value is None else self._whole(name, value, within)

    def number(self, name: str, *, most: float, default: float) -> float:
        """Return a number from 0 to `most`."""
        _, value = self._first((name,))
        if value is None:
            return default
        allowed = f"a number from 0 to {most:,}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, value, allowed=allowed)
        if not 0 <= value <= most:  # NaN is not either
            raise self.wrong(name, value, allowed=allowed)
        return float(value)

    def flag(self, *names: str, default: bool) -> bool:
        """Return true or false."""
        name, value = self._first(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, value, allowed="true or false")
        return value

    def text(self, name: str, *, default: str) -> str:
        """Return a string."""
        _, value = self._first((name,))
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, value, allowed="a text")
        return value

    def texts(self, name: str, *, length: int | None = None) -> tuple[str, ...] | None:
        """Return a list of strings, of a given length if one is given, or None if absent."""
        found: list[str] = []
        values = self._list(name, length)
        if values is None:
            return None
        for value in values:
            if not isinstance(value, str):
                raise self.wrong(name, value, allowed="a list of texts")
            found.append(value)
        return tuple(found)

    def integers(
        self, name: str, *, within: Bound, length: int | None = None
    ) -> tuple[int, ...] | None:
        """Return a list of whole numbers within a bound, or None where it is absent."""
        values = self._list(name, length)
        if values is None:
            return None
        return tuple(self._whole(name, value, within) for value in values)

    def layer_indices(self, name: str, layers: int, *, first: int = 0) -> frozenset[int]:
        """Return a list of layers, counted from `first`; an absent one is empty."""
        within = Bound(first, layers - 1 + first)
        return frozenset(self.integers(name, within=within) or ())

    def is_list(self, name: str) -> bool:
        """Return whether a field holds a list."""
        return isinstance(self._values.get(name), list | tuple)

    def is_text(self, name: str) -> bool:
        """Return whether a field holds a text."""
        return isinstance(self._values.get(name), str)

    def section(self, name: str) -> "ConfigFields | None":
        """Return a nested object, or None where it is absent."""
        _, value = self._first((name,))
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, allowed="an object with fields")
        return ConfigFields(value, file=self._file, path=f"{self._path}{name}.")

    def sections(self, name: str, *, length: int | None = None) -> "tuple[ConfigFields, ...]":
        """Return a list of nested objects; an absent one is empty."""
        found: list[ConfigFields] = []
        for index, value in enumerate(self._list(name, length) or ()):
            if not isinstance(value, Mapping):
                raise self.wrong(f"{name}[{index}]", value, allowed="an object with fields")
            found.append(ConfigFields(value, file=self._file, path=f"{self._path}{name}[{index}]."))
        return tuple(found)

    def names(self) -> Collection[str]:
        """Return the names of all fields."""
        return self._values.keys()

    def missing(self, names: Sequence[str], *, allowed: str) -> InvalidModelFileError:
        """Return the error for a field that is needed and absent."""
        also = f" (also known as {', '.join(names[1:])})" if len(names) > 1 else ""
        return InvalidModelFileError(
            f"{self._file}: the field {self._path}{names[0]}{also} is missing; "
            f"it should be {allowed}.",
            remedy="Use the config.json as published with the model.",
        )

    def wrong(self, name: str, value: object, *, allowed: str) -> InvalidModelFileError:
        """Return the error for a value that cannot be meant."""
        return InvalidModelFileError(
            f"{self._file}: the field {self._path}{name} is {_shown(value)}; "
            f"it should be {allowed}.",
            remedy="Correct the field, or use the config.json as published with the model.",
        )

    def _first(self, names: Sequence[str]) -> tuple[str, object]:
        for name in names:
            value = self._values.get(name)
            if value is not None:
                return name, value
        return names[0], None

    def _whole(self, name: str, value: object, within: Bound) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value not in within:
            raise self.wrong(name, value, allowed=str(within))
        return value

    def _list(self, name: str, length: int | None) -> Sequence[object] | None:
        _, value = self._first((name,))
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.wrong(name, value, allowed="a list")
        if length is not None and len(value) != length:
            raise self.wrong(name, value, allowed=f"a list of {length:,}, one entry a layer")
        return value


def _shown(value: object) -> str:
    match value:
        case list() | tuple():
            return f"a list of {len(value):,}"
        case Mapping():
            return f"an object of {len(value):,} fields"
        case int() if value.bit_length() > _LONGEST_SHOWN:
            return f"a number of {value.bit_length():,} bits"
        case str():
            return repr(value[:_LONGEST_SHOWN])
        case _:
            return repr(value)[:_LONGEST_SHOWN]
