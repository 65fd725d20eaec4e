"""Values of the rooms as JSON: the one rule by which every document is made, at every door.

A dataclass becomes an object with its fields under their own names, so units are those of the
inside: seconds, bytes, FLOP, tokens, USD per hour. Money (`Decimal`) is written as a string, so
that no reader rounds it; dates are ISO 8601; sets are sorted. `null` means unknown, or, for a
predicted number, that no finite value exists (a queue that grows).
"""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal
from enum import Enum
from math import isfinite

from caudal import __version__

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def document(command: str, payload: object) -> dict[str, Json]:
    """Return the document that answers `command`: its name, our version, the payload's fields."""
    fields = json_value(payload)
    assert isinstance(fields, dict), f"a document needs named fields, not {fields!r}"
    return {"command": command, "caudal_version": __version__, **fields}


def json_value(value: object) -> Json:
    """Return `value` in JSON's own types."""
    match value:
        case Enum():
            return json_value(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return float(value) if isfinite(value) else None
        case Decimal():
            return f"{value:f}"
        case date():
            return value.isoformat()
    return _composite(value)


def _composite(value: object) -> Json:
    match value:
        case Mapping():
            return {str(key): json_value(item) for key, item in value.items()}
        case AbstractSet():
            return sorted((json_value(item) for item in value), key=str)
        case Sequence():
            return [json_value(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: json_value(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    return operator.index(value)  # type: ignore[arg-type]  # numpy's integers; others fail here
