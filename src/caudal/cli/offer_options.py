"""The options that `plan` and `offers` share: which offers may be taken."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import AGE, PRICE_PER_HOUR
from caudal.documents.offers import offer_query
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Term

_OPTIONS: Final[dict[str, Option]] = {
    "regions": click.option(
        "--region",
        "regions",
        multiple=True,
        metavar="NAME",
        help="us, eu, asia …, a country, or a provider's region; may be repeated.",
    ),
    "providers": click.option(
        "--provider",
        "providers",
        multiple=True,
        metavar="NAME",
        help="Only from these providers; '!aws' is all but this one. May be repeated.",
    ),
    "without": click.option(
        "--without-provider", "without", multiple=True, metavar="NAME", help="Not from these."
    ),
    "terms": click.option(
        "--term",
        "--kind",
        "terms",
        multiple=True,
        type=click.Choice([term.value for term in Term]),
        help="Only on these terms; may be repeated.",
    ),
    "max_price": click.option(
        "--max-price",
        type=PRICE_PER_HOUR,
        help="At most this for the whole instance: 25 or $25/h.",
    ),
    "max_gpu_price": click.option(
        "--max-gpu-price", type=PRICE_PER_HOUR, help="At most this for a GPU: $2.50/h."
    ),
    "max_price_age": click.option(
        "--max-price-age",
        type=AGE,
        help=(
            "Only prices seen within this time: 90d, 6months, 3y. "
            f"Default: {DEFAULT_AGE_LIMITS.stale_days} days."
        ),
    ),
}


offer_options = option_group(_OPTIONS, name="query", build=offer_query)

database_option: Final = click.option(
    "--database",
    metavar="PATH|URL",
    help="Offers of your own: a SQLite file or postgresql://… "
    "Default: CAUDAL_DATABASE_URL, else the user's data folder.",
)
