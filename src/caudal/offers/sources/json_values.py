"""Replies in JSON: fields of the expected kind, or the reason why a row is none."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from caudal.offers.sources.cells import CellError, clean
from caudal.offers.sources.files import InvalidListError

Json = None | bool | int | Decimal | str | Sequence["Json"] | Mapping[str, "Json"]


def parse_reply(text: str, *, name: str) -> Json:
    """Return a reply's value, numbers exact.

    Raises:
        InvalidListError: it is no JSON, or nested absurdly deep.
    """
    try:
        value: Json = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError) as broken:
        raise InvalidListError(
            f"{name} is no JSON: {broken}.", remedy="Save the whole reply of the service."
        ) from broken
    return value


def _no_constant(text: str) -> None:
    """Read NaN and Infinity, which are no JSON, as unknown."""


class JsonRow:
    """One object of a reply."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Json) -> None:
        self._fields: Mapping[str, Json] = fields if isinstance(fields, Mapping) else {}

    def text(self, key: str) -> str:
        """Return a text, "" where it is missing.

        Raises:
            CellError: it is something else.
        """
        value = self._fields.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return clean(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise CellError(f"{key} is {_shown(value)}, no text")

    def number(self, key: str) -> Decimal | None:
        """Return a number, None where it is missing.

        Raises:
            CellError: it is something else.
        """
        value = self._fields.get(key)
        if value is None:
            return None
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            number = Decimal(value)
            if abs(number) < Decimal(10) ** 15:
                return number
        raise CellError(f"{key} is {_shown(value)}, no number")

    def needed(self, key: str) -> Decimal:
        """Return a number that must be there.

        Raises:
            CellError: it is missing or something else.
        """
        value = self.number(key)
        if value is None:
            raise CellError(f"it has no {key}")
        return value

    def count(self, key: str) -> int | None:
        """Return a whole number of 0 or more, None where it is missing.

        Raises:
            CellError: it is something else.
        """
        value = self.number(key)
        if value is None:
            return None
        if value < 0 or value != value.to_integral_value():
            raise CellError(f"{key} is {value}, no whole number of 0 or more")
        return int(value)

    def flag(self, key: str) -> bool | None:
        """Return a yes or no, None where it is missing.

        Raises:
            CellError: it is something else.
        """
        value = self._fields.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise CellError(f"{key} is {_shown(value)}, neither true nor false")

    def inner(self, key: str) -> "JsonRow":
        """Return an object, empty where it is missing."""
        return JsonRow(self._fields.get(key))

    def rows(self, key: str) -> "Iterator[JsonRow]":
        """Yield the objects of a list, none where it is missing."""
        return rows_of(self._fields.get(key))

    def has(self, key: str) -> bool:
        """Return whether the field is there and not null."""
        return self._fields.get(key) is not None


def rows_of(value: Json) -> Iterator[JsonRow]:
    """Yield the objects of a list; nothing if it is none."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from map(JsonRow, value)


def _shown(value: Json) -> str:
    return repr(value)[:40]
