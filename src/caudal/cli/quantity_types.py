"""Option types over `caudal.vocabulary.quantities`: text as people write it, to base units.

A value that does not parse keeps the room's own error (its code and its remedy); click adds
which option it was given to.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import click

from caudal.cli.failures import ParameterError
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.money import METERED_HOURS_PER_MONTH

HOW_QUANTITIES_ARE_WRITTEN: Final = (
    "Quantities: sizes 80GB (10^9) or 79.6GiB (2^30); times 500ms, 1.5s, 2min; rates 5/s, "
    "300/min, 50M/day; lengths 8192, 8k (8,192 tokens), 128k; amounts 13B, 50M; prices $2.50/h, "
    "$1,690/month; GPUs H100, h100-sxm:4, H100:1..8."
)


class WrittenQuantity(click.ParamType):  # type: ignore[type-arg]  # generic only in recent click
    """Text that one of the vocabulary's parsers reads; what is no text is passed through."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self.parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value in base units, or fail with the room's error and the option's name."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except CaudalError as error:
            raise ParameterError(error, param=param, ctx=ctx) from error


SIZE: Final = WrittenQuantity("size", quantities.parse_bytes)
DURATION: Final = WrittenQuantity("duration", quantities.parse_duration)
RATE: Final = WrittenQuantity("rate", quantities.parse_rate)
LENGTH: Final = WrittenQuantity("tokens", quantities.parse_tokens)
AMOUNT: Final = WrittenQuantity("amount", quantities.parse_count)
BANDWIDTH: Final = WrittenQuantity("bandwidth", quantities.parse_bandwidth)
PRICE_PER_HOUR: Final = WrittenQuantity("price/h", quantities.parse_usd_per_hour)
PRICE: Final = WrittenQuantity("price", quantities.parse_price)
FRACTION: Final = WrittenQuantity("share", quantities.parse_fraction)
_DAYS: Final = {
    **dict.fromkeys(("", "d", "day", "days"), 1.0),
    **dict.fromkeys(("w", "week", "weeks"), 7.0),
    **dict.fromkeys(("mo", "month", "months"), 365 / 12),
    **dict.fromkeys(("y", "year", "years"), 365.0),
}
_LONGEST_AGE_DAYS: Final = 36_500  # chosen: a century, so that "all of them" can be said


def parse_age_days(text: str) -> int:
    """Return whole days of an age such as `90`, `90d`, `6 months` or `3y`."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    factor = _DAYS.get(text.strip()[len(number) :].strip())
    if not (number.isascii() and number.isdigit()) or factor is None:
        raise InvalidQuantityError(
            f"{text!r} is not an age.", remedy="Write an age such as 90d, 6months or 3y."
        )
    return min(int(int(number[:9]) * factor), _LONGEST_AGE_DAYS)


AGE: Final = WrittenQuantity("age", parse_age_days)


def parse_monthly_budget(text: str) -> Decimal:
    """Return dollars a month of `$5,000`, `$5,000/month` or, metered (730 h), `$7/h`.

    Raises:
        InvalidQuantityError: no price, or one for another thing than a time.
    """
    price = quantities.parse_price(text)
    hours = {quantities.Per.HOUR: 1, quantities.Per.DAY: 24, quantities.Per.WEEK: 168}
    if price.per in {quantities.Per.ONCE, quantities.Per.MONTH}:
        return price.amount_usd
    if price.per not in hours:
        raise InvalidQuantityError(
            f"{text!r} is a price per {price.per}, not per time.",
            remedy="Write a budget such as $5,000 or $7/h.",
        )
    return price.amount_usd * METERED_HOURS_PER_MONTH / hours[price.per]


BUDGET: Final = WrittenQuantity("$/month", parse_monthly_budget)
