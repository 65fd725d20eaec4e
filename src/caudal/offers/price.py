"""Arithmetic of prices: one basis per GPU-hour, discounts, egress, break-evens, token prices.

Pure functions on exact decimals; rounding happens only where a price list rounds (`discounted`)
and at the doors (`caudal.vocabulary.money.cents`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from caudal.vocabulary.money import (
    METERED_HOURS_PER_MONTH,
    TERM_HOURS_PER_MONTH,
    Usd,
    UsdPerHour,
    UsdPerMillionTokens,
    UsdPerMonth,
)
from caudal.vocabulary.units import GB, SECONDS_PER_HOUR, Bytes, Tokens, TokensPerSecond

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Discount:
    """A part of the list price that is taken off from a number of GPUs on."""

    from_gpus: int
    percent: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Prices of `from_gpus` or more GPUs are printed to the nearest `step`, halves up."""

    from_gpus: int
    step: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyBases:
    """A monthly price per hour, by both lengths of a month."""

    termed: UsdPerHour  # ÷ 720: 30 days, what sellers of terms print
    metered: UsdPerHour  # ÷ 730: the mean month, comparable with a metered price


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressTier:
    """The price of traffic up to a cumulative volume; None is without end."""

    up_to_bytes: Bytes | None
    usd_per_byte: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPrice:
    """What data out to the internet costs in a month: first what is free, then tier by tier."""

    included_bytes: Bytes
    tiers: tuple[EgressTier, ...]


def usd_per_gpu_hour(
    price: Decimal, *, hours_per_unit: Decimal, gpus: Decimal | int, usd_per_unit: Decimal
) -> UsdPerHour:
    """Return `price · usd_per_unit / (hours_per_unit · gpus)`, the basis of all comparison.

    `price` is of the whole instance for one unit of its term, `usd_per_unit` the worth of its
    currency.
    """
    return UsdPerHour(price * usd_per_unit / (hours_per_unit * gpus))


def hourly_bases(monthly: UsdPerMonth | Decimal) -> HourlyBases:
    """Return a monthly price per hour of a 30-day month and of a mean month."""
    return HourlyBases(
        termed=UsdPerHour(monthly / TERM_HOURS_PER_MONTH),
        metered=UsdPerHour(monthly / METERED_HOURS_PER_MONTH),
    )


def discount_percent(gpus: int, discounts: Sequence[Discount]) -> Decimal:
    """Return the discount for `gpus`: that of the highest step reached, 0 below the first."""
    reached = [step for step in discounts if step.from_gpus <= gpus]
    return max(reached, key=lambda step: step.from_gpus).percent if reached else Decimal(0)


def discounted(
    price_per_gpu: Decimal,
    *,
    gpus: int,
    discounts: Sequence[Discount],
    roundings: Sequence[Rounding] = (),
) -> Decimal:
    """Return `gpus · price_per_gpu · (1 - discount)`, rounded as the list rounds it."""
    price = gpus * price_per_gpu * (100 - discount_percent(gpus, discounts)) / 100
    steps = [rounding for rounding in roundings if rounding.from_gpus <= gpus]
    if not steps:
        return price
    return round_to(price, max(steps, key=lambda rounding: rounding.from_gpus).step)


def round_to(amount: Decimal, step: Decimal) -> Decimal:
    """Return the multiple of `step` nearest to `amount`, halves up."""
    return (amount / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step


def egress_usd(sent_bytes: Bytes, price: EgressPrice) -> Usd:
    """Return what a month's data out costs.

    What is included is used up first; the rest fills the tiers from the first on, each up to its
    cumulative bound. Leaves out traffic between regions and over private links.
    """
    billed = max(0, sent_bytes - price.included_bytes)
    total, floor = Decimal(0), 0
    for tier in price.tiers:
        ceiling = billed if tier.up_to_bytes is None else min(billed, tier.up_to_bytes)
        total += max(0, ceiling - floor) * tier.usd_per_byte
        floor = max(floor, ceiling)
    assert floor == billed, "the last tier of an egress price must be without end"
    return Usd(total)


def tokens_within(traffic_bytes: Bytes, *, bytes_per_token: Decimal | int) -> Tokens:
    """Return how many streamed tokens a volume of traffic carries, framing included."""
    return Tokens(int(traffic_bytes // bytes_per_token))


def break_even_hours(termed: Decimal, *, hourly: Decimal) -> Decimal:
    """Return the hours of use from which a term at a flat price is cheaper than paying by hour."""
    return termed / hourly


def break_even_tokens(monthly: Decimal, *, api: UsdPerMillionTokens | Decimal) -> Tokens:
    """Return the tokens a month at which a flat monthly price equals an API's price."""
    return Tokens(int(monthly / api * _MILLION))


def usd_per_million_tokens(cost: Decimal, *, tokens: Tokens | int) -> UsdPerMillionTokens:
    """Return what a million tokens cost if `cost` buys `tokens` of them."""
    return UsdPerMillionTokens(cost * _MILLION / tokens)


def usd_per_million_at_rate(
    hourly: Decimal, *, tokens_per_s: TokensPerSecond | float
) -> UsdPerMillionTokens:
    """Return what a million tokens cost at a steady rate, the whole hour in use."""
    return usd_per_million_tokens(
        hourly, tokens=Tokens(round(tokens_per_s * SECONDS_PER_HOUR)) or Tokens(1)
    )


def api_usd(
    *,
    input_tokens: Tokens | int,
    output_tokens: Tokens | int,
    input_price: Decimal,
    output_price: Decimal,
) -> Usd:
    """Return what a token API asks; prices are per million tokens."""
    return Usd((input_tokens * input_price + output_tokens * output_price) / _MILLION)


def usd_per_gb(usd_per_byte: Decimal) -> Decimal:
    """Return a price per byte as lists print it, per GB of 10⁹ bytes."""
    return usd_per_byte * GB
