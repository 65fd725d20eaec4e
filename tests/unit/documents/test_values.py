from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from caudal.documents.values import json_value
from caudal.vocabulary.errors import Kind
from caudal.vocabulary.estimate import Basis, Estimate


@dataclass(frozen=True)
class Sample:
    price: Decimal
    on: date
    names: frozenset[str]


def test_a_dataclass_becomes_an_object_with_its_own_names() -> None:
    sample = Sample(Decimal("2.50"), date(2026, 11, 30), frozenset({"b", "a"}))

    assert json_value(sample) == {"price": "2.50", "on": "2026-11-30", "names": ["a", "b"]}


def test_an_estimate_shows_its_range_and_basis() -> None:
    estimate = Estimate(2.0, 1.0, 3.0, Basis.ROOFLINE)

    expected = {"value": 2.0, "low": 1.0, "high": 3.0, "basis": "roofline"}
    assert expected == json_value(estimate)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), None])
def test_what_has_no_finite_value_is_null(value: float | None) -> None:
    assert json_value(value) is None


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (3, np.int64(3)),
        (0.5, np.float64(0.5)),
        ("invalid", Kind.INVALID),
        ({"1": [True]}, {1: (True,)}),
        ("0.0000001", Decimal("1E-7")),
    ],
)
def test_other_values_become_jsons_own(expected: object, value: object) -> None:
    assert expected == json_value(value)


def test_a_value_without_a_rule_is_refused() -> None:
    with pytest.raises(TypeError):
        json_value(object())
