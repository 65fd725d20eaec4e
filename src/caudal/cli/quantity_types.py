"""Option types over `caudal.vocabulary.quantities`: text as people write it, to base units.

A value that does not parse keeps the room's own error (its code and its remedy); click adds
which option it was given to.
"""

from collections.abc import Callable
from typing import Final

import click

from caudal.cli.failures import ParameterError
from caudal.documents.written import parse_age_days, parse_batches, parse_monthly_budget
from caudal.fit.speculation import parse_speculation
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import CaudalError

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
AGE: Final = WrittenQuantity("age", parse_age_days)
SPECULATION: Final = WrittenQuantity("a:k", parse_speculation)
BATCHES: Final = WrittenQuantity("n,n", parse_batches)
BUDGET: Final = WrittenQuantity("$/month", parse_monthly_budget)
