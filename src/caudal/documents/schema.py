"""JSON Schemas of the documents, drawn from the types of the values in them.

`scripts/reference.py` writes them into `cli/schemas/`, the HTTP API puts them into its OpenAPI
description; no command imports this module. It states in schema form the same rule that
`caudal.documents.values` applies to values.
"""

import dataclasses
import inspect
import re
import types
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Final, NewType, Union, get_args, get_origin, get_type_hints

from caudal.documents.failure import ErrorBody
from caudal.documents.values import Json
from caudal.vocabulary.estimate import Estimate

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Json]

_FIELD = re.compile(r"^ {4}(\w+): [^#]*#\s*(.+)$")
_PLAIN: Final[Mapping[object, Schema]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    str: {"type": "string"},
    types.NoneType: {"type": "null"},
    Decimal: {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}


def document_schema(command: str, payload: type) -> Schema:
    """Return the schema of the document that `command --json` prints for a `payload` value."""
    definitions: dict[str, Json] = {}
    body = _dataclass_schema(payload, definitions)
    properties = body["properties"]
    required = body["required"]
    assert isinstance(properties, dict), "a dataclass has properties"
    assert isinstance(required, list), "a dataclass names what it requires"
    envelope: dict[str, Json] = {
        "command": {"const": command},
        "caudal_version": {"type": "string"},
        **properties,
    }
    return {
        "$schema": DIALECT,
        "title": f"caudal {command} --json",
        "description": body["description"],
        "type": "object",
        "properties": envelope,
        "required": ["command", "caudal_version", *required],
        "additionalProperties": False,
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def error_schema() -> Schema:
    """Return the schema of what every command prints with `--json` when it fails."""
    return {
        "$schema": DIALECT,
        "title": "caudal … --json, when it fails",
        "description": "Why there is no answer; the exit code is not 0.",
        "type": "object",
        "properties": {"error": _dataclass_schema(ErrorBody, {})},
        "required": ["error"],
        "additionalProperties": False,
    }


def type_schema(annotation: object, definitions: dict[str, Json]) -> Schema:
    """Return the schema of one type; dataclasses are put into `definitions` and referred to."""
    if isinstance(annotation, NewType):
        inner = type_schema(annotation.__supertype__, definitions)
        return inner | {"description": _words(annotation.__name__)}
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {"enum": [member.value for member in annotation]}
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        if annotation.__name__ not in definitions:
            definitions[annotation.__name__] = None  # holds the place: types may be recursive
            definitions[annotation.__name__] = _dataclass_schema(annotation, definitions)
        return {"$ref": f"#/$defs/{annotation.__name__}"}
    return _composite_schema(annotation, definitions)


def _composite_schema(annotation: object, definitions: dict[str, Json]) -> Schema:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {types.UnionType, Union}:
        options: list[Json] = [type_schema(argument, definitions) for argument in arguments]
        return {"anyOf": options}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": type_schema(arguments[1], definitions)}
    if origin in {tuple, list, frozenset}:
        inner = [argument for argument in arguments if argument is not Ellipsis]
        if len(inner) == 1:
            return {"type": "array", "items": type_schema(inner[0], definitions)}
        fixed: list[Json] = [type_schema(argument, definitions) for argument in inner]
        return {"type": "array", "prefixItems": fixed, "items": False}
    raise AssertionError(f"no JSON form is decided for {annotation!r}")


def _dataclass_schema(kind: type, definitions: dict[str, Json]) -> Schema:
    hints = get_type_hints(kind)
    comments = _field_comments(kind)
    properties: dict[str, Json] = {}
    for field in dataclasses.fields(kind):
        schema = type_schema(hints[field.name], definitions)
        if kind is Estimate and field.name != "basis":
            schema = {"type": ["number", "null"]}
        if field.name in comments:
            schema |= {"description": comments[field.name]}
        properties[field.name] = schema
    return {
        "description": (inspect.getdoc(kind) or kind.__name__).split("\n\n", maxsplit=1)[0],
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _field_comments(kind: type) -> dict[str, str]:
    """Return the comment behind each field: it says unit and meaning where the name does not."""
    matches = (_FIELD.match(line) for line in inspect.getsource(kind).splitlines())
    return {match[1]: match[2] for match in matches if match}


def _words(name: str) -> str:
    """Return `UsdPerHour` as "USD per hour", `Bytes` as "bytes"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace("usd", "USD")
