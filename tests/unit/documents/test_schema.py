from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NewType

from jsonschema import Draft202012Validator

from caudal.documents.schema import document_schema, error_schema, type_schema
from caudal.documents.values import Json, json_value
from caudal.vocabulary.errors import Kind
from caudal.vocabulary.estimate import Basis, Estimate

UsdPerHour = NewType("UsdPerHour", Decimal)


@dataclass(frozen=True, kw_only=True)
class Inner:
    name: str  # as people say it
    size: int | None


@dataclass(frozen=True, kw_only=True)
class Outer:
    """What is printed."""

    inner: tuple[Inner, ...]
    price: UsdPerHour
    seconds: Estimate
    kind: Kind
    on: date
    tags: frozenset[str]
    shares: Mapping[str, float]
    pair: tuple[int, str]


OUTER = Outer(
    inner=(Inner(name="a", size=None), Inner(name="b", size=1)),
    price=UsdPerHour(Decimal("2.50")),
    seconds=Estimate(1.0, 0.5, float("inf"), Basis.ROOFLINE),
    kind=Kind.INVALID,
    on=date(2026, 11, 30),
    tags=frozenset({"x"}),
    shares={"x": 0.5},
    pair=(1, "x"),
)


def test_a_value_satisfies_the_schema_of_its_type() -> None:
    schema = document_schema("sample", Outer)
    fields = json_value(OUTER)
    assert isinstance(fields, dict)

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate({"command": "sample", "caudal_version": "1", **fields})


def test_a_comment_behind_a_field_is_its_description() -> None:
    definitions: dict[str, Json] = {}

    type_schema(Inner, definitions)

    inner = definitions["Inner"]
    assert isinstance(inner, dict)
    properties = inner["properties"]
    assert isinstance(properties, dict)
    assert properties["name"] == {"type": "string", "description": "as people say it"}


def test_a_unit_type_is_said_in_words() -> None:
    schema = type_schema(UsdPerHour, {})

    assert schema["description"] == "USD per hour"


def test_the_error_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(error_schema())
