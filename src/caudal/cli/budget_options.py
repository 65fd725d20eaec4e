"""The options of `caudal budget` beside those of `caudal plan`."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import AMOUNT, DURATION, FRACTION
from caudal.documents.budget import stated_money

_OPTIONS: Final[dict[str, Option]] = {
    "row": click.option(
        "--row", type=click.IntRange(min=1), default=1, show_default=True, help="Of the plan."
    ),
    "utilisation": click.option(
        "--utilisation",
        type=FRACTION,
        help="How full replicas may be at the busiest hour: 80%. Default: as the SLO allows.",
    ),
    "batch_share": click.option(
        "--batch-share", type=FRACTION, help="Part of the traffic that can wait: 30%."
    ),
    "cached_share": click.option(
        "--cached-share", type=FRACTION, help="Part of the input that an API has cached: 50%."
    ),
    "spot_life": click.option(
        "--spot-life", type=DURATION, help="Mean life of a spot instance. Default: 1d, assumed."
    ),
    "restart_time": click.option(
        "--restart-time", type=DURATION, help="From a start to the first answer. Default: 8min."
    ),
    "drain_time": click.option(
        "--drain-time", type=DURATION, help="Notice before a spot instance goes. Default: none."
    ),
    "starts_per_day": click.option(
        "--starts-per-day",
        type=click.FloatRange(min=0),
        default=8.0,
        show_default=True,
        help="Cold starts a day if it scales to zero.",
    ),
    "failure_time": click.option(
        "--failure-time", type=DURATION, help="Mean time between failures of an instance: 260d."
    ),
    "repair_time": click.option(
        "--repair-time", type=DURATION, help="Until a failed instance is replaced. Default: 1h."
    ),
    "region_availability": click.option(
        "--region-availability", type=FRACTION, help="Of one region. Default: 99.99%."
    ),
}


budget_options = option_group(_OPTIONS, name="money", build=stated_money)


def daily_amounts(
    *, input_per_day: int | None, output_per_day: int | None
) -> tuple[float | None, float | None]:
    """Return a day's tokens in and out, as stated."""
    return (
        None if input_per_day is None else float(input_per_day),
        None if output_per_day is None else float(output_per_day),
    )


daily_options = option_group(
    {
        "input_per_day": click.option(
            "--input-per-day", type=AMOUNT, help="Tokens in a day, with --output-per-day: 40M."
        ),
        "output_per_day": click.option(
            "--output-per-day", type=AMOUNT, help="Tokens out a day: 10M."
        ),
    },
    name="daily",
    build=daily_amounts,
)
