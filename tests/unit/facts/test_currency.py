from datetime import date
from decimal import Decimal

import pytest

from caudal.facts.currency import UnknownCurrencyError, exchange_rates


def test_the_dollar_is_the_dollar() -> None:
    assert Decimal(1) == exchange_rates().of("usd").usd_per_unit


def test_a_rate_published_the_other_way_round_is_turned() -> None:
    assert Decimal("7.2807") == (1 / exchange_rates().of("CNY").usd_per_unit).quantize(
        Decimal("0.0001")
    )


def test_every_rate_has_a_day_and_a_source() -> None:
    for rate in exchange_rates().rates.values():
        assert rate.rate_on <= rate.source.read_on
        assert rate.source.where


def test_a_currency_without_a_rate_is_an_error() -> None:
    with pytest.raises(UnknownCurrencyError) as caught:
        exchange_rates().of("EUX")

    assert "EUR" in caught.value.remedy
    assert exchange_rates().find("EUX") is None


def test_the_users_own_rate_replaces_ours() -> None:
    rates = exchange_rates().with_rates({"EUR": Decimal("1.08")}, on=date(2026, 11, 30))

    assert Decimal("1.08") == rates.of("EUR").usd_per_unit
    assert "given by the user" == rates.of("EUR").source.where
    assert Decimal(1) == rates.of("USD").usd_per_unit
