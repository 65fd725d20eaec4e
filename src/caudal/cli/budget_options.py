"""The options of `caudal budget` beside those of `caudal plan`."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import AMOUNT, DURATION, FRACTION
from caudal.plan.budget_report import BudgetWishes
from caudal.plan.spot_tier import SpotRisk
from caudal.vocabulary.units import Seconds

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


def stated_money(
    *,
    row: int,
    utilisation: float | None,
    batch_share: float | None,
    cached_share: float | None,
    spot_life: Seconds | None,
    restart_time: Seconds | None,
    drain_time: Seconds | None,
    starts_per_day: float,
    failure_time: Seconds | None,
    repair_time: Seconds | None,
    region_availability: float | None,
) -> BudgetWishes:
    """Return the wishes as stated; what was not said is as usual, and listed as assumed."""
    usual = SpotRisk()
    return BudgetWishes(
        row=row,
        utilisation=1.0 if utilisation is None else utilisation,
        risk=SpotRisk(
            life_s=usual.life_s if spot_life is None else spot_life,
            restart_s=usual.restart_s if restart_time is None else restart_time,
            drain_s=usual.drain_s if drain_time is None else drain_time,
        ),
        batch_share=batch_share or 0.0,
        cached_share=cached_share or 0.0,
        starts_per_day=starts_per_day,
        failure_s=failure_time,
        repair_s=repair_time,
        region_availability=region_availability,
    )


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
