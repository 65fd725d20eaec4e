"""The options that `plan` and `offers` share: which offers may be taken."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import AGE, PRICE_PER_HOUR
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, Term
from caudal.offers.query import OfferQuery
from caudal.vocabulary.money import UsdPerHour

_OPTIONS: Final[dict[str, Option]] = {
    "regions": click.option(
        "--region",
        "regions",
        multiple=True,
        metavar="NAME",
        help="us, eu, asia …, a country, or a provider's region; may be repeated.",
    ),
    "providers": click.option(
        "--provider", "providers", multiple=True, metavar="NAME", help="Only from these providers."
    ),
    "without": click.option(
        "--without-provider", "without", multiple=True, metavar="NAME", help="Not from these."
    ),
    "terms": click.option(
        "--term",
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


def offer_query(
    *,
    regions: tuple[str, ...],
    providers: tuple[str, ...],
    without: tuple[str, ...],
    terms: tuple[str, ...],
    max_price: UsdPerHour | None,
    max_gpu_price: UsdPerHour | None,
    max_price_age: int | None,
) -> OfferQuery:
    """Return the query that the shared options ask, for any GPU.

    An age beyond the limit for quoting admits such prices too: whoever names it, wants them.
    """
    beyond = max_price_age is not None and max_price_age > DEFAULT_AGE_LIMITS.stale_days
    return OfferQuery(
        regions=regions,
        terms=frozenset(Term(term) for term in terms) or None,
        providers=frozenset(providers),
        without_providers=frozenset(without),
        max_usd_per_hour=max_price,
        max_usd_per_gpu_hour=max_gpu_price,
        oldest=Age.HISTORICAL if beyond else Age.STALE,
        max_age_days=max_price_age,
    )


offer_options = option_group(_OPTIONS, name="query", build=offer_query)
