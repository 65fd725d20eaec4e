"""The options that say how a rental is used, and at which exchange rates it is priced."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import BANDWIDTH, FRACTION, RATE, SIZE, WrittenQuantity
from caudal.documents.use import parse_number, stated_use
from caudal.vocabulary.errors import ContradictoryOptionsError, InvalidQuantityError

_EXCHANGE: Final = "caudal.exchange-rates"  # the key in click's context


def parse_rate_or_exchange(text: str) -> tuple[str, Decimal] | float:
    """Return requests a second of `5/s`, or a currency and its dollars of `EUR=1.08`.

    Raises:
        InvalidQuantityError: neither can be meant.
    """
    name, equals, worth = text.partition("=")
    if not equals:
        rate = RATE.parse(text)
        assert isinstance(rate, float), "a rate is a number"
        return rate
    currency = name.strip().upper()
    if len(currency) != 3 or not currency.isalpha() or not currency.isascii():
        raise InvalidQuantityError(
            f"{name!r} is no currency.", remedy="Write the worth of one unit: EUR=1.08."
        )
    number = parse_number(worth)
    if number <= 0:
        raise InvalidQuantityError(
            f"One {currency} cannot be worth {number} dollars.", remedy="Write EUR=1.08."
        )
    return currency, number


RATE_OR_EXCHANGE: Final = WrittenQuantity("rate", parse_rate_or_exchange)
NUMBER: Final = WrittenQuantity("number", parse_number)


def one_rate(
    context: click.Context, _: click.Parameter, values: Sequence[float | tuple[str, Decimal]]
) -> float | None:
    """Return the rate of requests among the values; keep exchange rates for the command."""
    rates = [value for value in values if isinstance(value, float)]
    if len(rates) > 1:
        raise ContradictoryOptionsError(
            "--rate states the requests twice.", remedy="Keep one; EUR=1.08 may stand beside it."
        )
    pairs = [value for value in values if not isinstance(value, float)]
    context.meta[_EXCHANGE] = dict(pairs)
    return rates[0] if rates else None


def exchange_rates_given(context: click.Context) -> dict[str, Decimal]:
    """Return the dollars a unit of each currency for which --rate gave them."""
    given: dict[str, Decimal] = context.meta.get(_EXCHANGE, {})
    return given


_OPTIONS: Final[dict[str, Option]] = {
    "hours_per_day": click.option(
        "--hours-per-day", type=NUMBER, help="Hours a day that it serves; it stops for the rest."
    ),
    "days": click.option(
        "--days", type=NUMBER, help="Days it is needed for. Default: a month that goes on."
    ),
    "starts": click.option(
        "--starts", type=click.IntRange(min=1), help="Starts in that time. Default: one a day."
    ),
    "data_out": click.option("--data-out", type=SIZE, help="Data out in that time: 500GB."),
    "disk": click.option("--disk", type=SIZE, help="Disk of each instance: 200GB."),
    "download_rate": click.option(
        "--download-rate", type=BANDWIDTH, help="At which a start fetches the model: 1GB/s."
    ),
    "discount": click.option("--discount", type=FRACTION, help="Negotiated, on instances: 10%."),
    "vat": click.option("--vat", type=FRACTION, help="Add a line for tax: 19%."),
}


use_options = option_group(_OPTIONS, name="use", build=stated_use)
