"""Prices at another exchange rate than the bundled one, and a bill in another currency."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from caudal.facts.currency import ExchangeRate
from caudal.offers.offer import Offer
from caudal.plan.use import repriced


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMoney:
    """An amount of dollars in another currency, with the rate and its day."""

    currency: str
    amount: Decimal
    usd_per_unit: Decimal
    rate_on: date
    source: str


def offers_at(offers: Iterable[Offer], rates: Mapping[str, Decimal]) -> tuple[Offer, ...]:
    """Return the offers, those in these currencies at these rates (dollars a unit).

    Filters by price have seen the bundled rate; only what is reckoned with changes.
    """
    if not rates:
        return tuple(offers)
    return tuple(
        repriced(offer, usd_per_unit=rates[offer.currency]) if offer.currency in rates else offer
        for offer in offers
    )


def in_currency(usd: Decimal, rate: ExchangeRate) -> OtherMoney:
    """Return dollars at a dated rate."""
    return OtherMoney(
        currency=rate.currency,
        amount=usd / rate.usd_per_unit,
        usd_per_unit=rate.usd_per_unit,
        rate_on=rate.rate_on,
        source=rate.source.where,
    )
