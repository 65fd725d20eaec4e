"""Exchange rates to the US dollar, each with its day: a small table, replaced by the user's own."""

import csv
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from io import StringIO

from caudal.facts.source import Source
from caudal.vocabulary.errors import UnknownNameError


class UnknownCurrencyError(UnknownNameError):
    """There is no exchange rate for a currency."""

    code, noun = "unknown-currency", "currency"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRate:
    """What one unit of a currency was worth on a day."""

    currency: str  # ISO 4217, such as "CNY"
    usd_per_unit: Decimal
    rate_on: date
    source: Source
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExchangeRates:
    """One rate a currency."""

    rates: Mapping[str, ExchangeRate]

    def find(self, currency: str) -> ExchangeRate | None:
        """Return the rate of `currency`, None where there is none."""
        return self.rates.get(currency)

    def of(self, currency: str) -> ExchangeRate:
        """Return the rate of `currency`.

        Raises:
            UnknownCurrencyError: there is no rate for it.
        """
        rate = self.rates.get(currency.upper())
        if rate is None:
            raise UnknownCurrencyError(
                currency, known=self.rates, hint="Give its rate, such as GBP=1.25."
            )
        return rate

    def with_rates(self, rates: Mapping[str, Decimal], *, on: date) -> "ExchangeRates":
        """Return these rates with the user's own (US dollars a unit) in their place."""
        own = {
            currency: ExchangeRate(
                currency=currency,
                usd_per_unit=usd,
                rate_on=on,
                source=Source("given by the user", on),
            )
            for currency, usd in rates.items()
        }
        return ExchangeRates({**self.rates, **own})


@cache
def exchange_rates() -> ExchangeRates:
    """Return the bundled rates; they are dated, and no offer is quoted in another currency."""
    raw = pkgutil.get_data("caudal.facts", "data/currency.csv")
    assert raw is not None, "the wheel lacks data/currency.csv"
    rows = csv.DictReader(StringIO(raw.decode("utf-8")))
    return ExchangeRates({row["currency"]: _rate(row) for row in rows})


def _rate(row: Mapping[str, str]) -> ExchangeRate:
    """Return one row's rate; the table keeps the figure as published, either way round."""
    per_usd, usd_per_unit = row["per_usd"], row["usd_per_unit"]
    return ExchangeRate(
        currency=row["currency"],
        usd_per_unit=Decimal(usd_per_unit) if usd_per_unit else 1 / Decimal(per_usd),
        rate_on=date.fromisoformat(row["rate_on"]),
        source=Source(row["source"], date.fromisoformat(row["read_on"])),
        note=row["note"],
    )
