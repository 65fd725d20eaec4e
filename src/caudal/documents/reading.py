"""Documents back into the values they were made of: the inverse of `caudal.documents.values`.

What JSON cannot say is restored by the type: money and dates from strings, enumerations from
their values, tuples and sets from arrays, and a number that has no finite value from `null`.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from math import inf
from typing import Final, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from caudal.documents.values import Json
from caudal.vocabulary.errors import InvalidInputError

Value = TypeVar("Value")
_READERS: Final[Mapping[type, Callable[[str], object]]] = {
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Decimal: Decimal,
}


class UnreadableDocumentError(InvalidInputError):
    """A document does not have the form of this release's documents."""

    code = "unreadable-document"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The document cannot be read: {what}.",
            remedy="Use the same release of Caudal on both sides.",
        )


def read_document(kind: type[Value], document: Mapping[str, Json]) -> Value:
    """Return the value of type `kind` from which a document was made.

    Raises:
        UnreadableDocumentError: a field is missing, unknown or of another type.
    """
    own = _hints(cast("type", kind))
    fields = {
        name: value
        for name, value in document.items()
        if name in own or name not in {"command", "caudal_version"}
    }
    return cast("Value", _read(kind, fields, kind.__name__))


def _read(annotation: object, value: Json, place: str) -> object:
    if isinstance(annotation, NewType):
        return _read(annotation.__supertype__, value, place)
    if annotation is float:
        return inf if value is None else _number(value, place)
    if isinstance(annotation, type) and not get_origin(annotation):
        return _read_class(annotation, value, place)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {types.UnionType, Union}:
        return _read_union(arguments, value, place)
    return _read_collection(cast("type", origin), arguments, value, place)


def _read_class(kind: type, value: Json, place: str) -> object:
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, value, place)
    try:
        if issubclass(kind, Enum):
            return kind(value)
        if kind in _READERS:
            return _READERS[kind](_of_type(str, value, place))
    except (ValueError, InvalidOperation):
        raise UnreadableDocumentError(f"{place} is {value!r}") from None
    return _of_type(kind, value, place)


def _read_dataclass(kind: type, value: Json, place: str) -> object:
    fields = _of_type(dict, value, place)
    hints = _hints(kind)
    if set(fields) != set(hints):
        odd = ", ".join(sorted(set(fields) ^ set(hints)))
        raise UnreadableDocumentError(f"{place} has other fields ({odd})")
    read = {name: _read(hints[name], fields[name], f"{place}.{name}") for name in hints}
    return kind(**read)


def _read_union(options: tuple[object, ...], value: Json, place: str) -> object:
    if value is None and types.NoneType in options:
        return None
    known = [option for option in options if option is not types.NoneType]
    if len(known) == 1:
        return _read(known[0], value, place)
    if isinstance(value, dict):
        for option in known:
            if dataclasses.is_dataclass(option) and set(_hints(cast("type", option))) == set(value):
                return _read(option, value, place)
    for option in known:
        if option in {int, float, str, bool} and type(value) is option:
            return value
    raise UnreadableDocumentError(f"{place} is of no known type")


def _read_collection(
    origin: type, arguments: tuple[object, ...], value: Json, place: str
) -> object:
    if issubclass(origin, Mapping):
        entries = _of_type(dict, value, place)
        return {
            _read_key(arguments[0], key, place): _read(arguments[1], item, f"{place}.{key}")
            for key, item in entries.items()
        }
    items = _of_type(list, value, place)
    if origin is tuple and arguments[-1] is not Ellipsis:
        if len(items) != len(arguments):
            raise UnreadableDocumentError(f"{place} has {len(items)} parts")
        pairs = zip(arguments, items, strict=True)
        return tuple(_read(kind, item, place) for kind, item in pairs)
    read = (_read(arguments[0], item, f"{place}[{at}]") for at, item in enumerate(items))
    if issubclass(origin, AbstractSet):
        return frozenset(read)
    return tuple(read)


def _read_key(annotation: object, key: str, place: str) -> object:
    return int(key) if annotation is int else _read(annotation, key, place)


def _number(value: Json, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableDocumentError(f"{place} is {value!r}, not a number")
    return value


def _of_type(kind: type[Value], value: Json, place: str) -> Value:
    if type(value) is not kind:
        raise UnreadableDocumentError(f"{place} is {value!r:.60}, not {kind.__name__}")
    return value


@cache
def _hints(kind: type) -> dict[str, object]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
