from decimal import Decimal

import click
import pytest

from caudal.cli.failures import ParameterError
from caudal.cli.quantity_types import (
    BUDGET,
    DURATION,
    LENGTH,
)
from caudal.documents.written import parse_age_days, parse_monthly_budget
from caudal.vocabulary.errors import InvalidQuantityError


def test_text_becomes_base_units_and_values_stay() -> None:
    assert LENGTH.convert("8k", None, None) == 8192
    assert LENGTH.convert(8192, None, None) == 8192


def test_a_wrong_unit_keeps_its_error_and_names_the_option() -> None:
    option = click.Option(["--ttft-p95"])

    with pytest.raises(ParameterError) as raised:
        DURATION.convert("80GB", option, None)

    assert raised.value.param is option
    assert raised.value.error.code == "invalid-quantity"


@pytest.mark.parametrize(
    ("days", "text"),
    [(90, "90"), (90, "90d"), (14, "2 weeks"), (182, "6months"), (1095, "3y"), (36_500, "999y")],
)
def test_ages_are_read_as_days(days: int, text: str) -> None:
    assert days == parse_age_days(text)


@pytest.mark.parametrize("text", ["", "old", "-3d", "4x", "1.5y"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="is not an age"):
        parse_age_days(text)


@pytest.mark.parametrize(
    ("usd", "text"),
    [("5000", "$5,000"), ("5000", "5000/month"), ("730", "$1/h"), ("730", "$24/day")],
)
def test_a_budget_is_a_month_of_dollars(usd: str, text: str) -> None:
    assert Decimal(usd) == parse_monthly_budget(text)


def test_a_budget_per_token_is_refused() -> None:
    with pytest.raises(ParameterError, match="not per time"):
        BUDGET.convert("$3/M tokens", None, None)
