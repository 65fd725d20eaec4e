"""The options of `caudal offers` beyond those it shares with `plan`."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import BANDWIDTH, DURATION, FRACTION, SIZE, WrittenQuantity
from caudal.documents.offers import BILLING_UNITS, narrowed
from caudal.offers.query import OfferQuery
from caudal.vocabulary.quantities import parse_gpu_counts

_COUNTS: Final = WrittenQuantity("counts", lambda text: parse_gpu_counts(text, name=""))

_OPTIONS: Final[dict[str, Option]] = {
    "counts": click.option(
        "--count", "counts", type=_COUNTS, help="GPUs in the instance: 8, 1..8 or 1,2,4."
    ),
    "fp8": click.option("--fp8", is_flag=True, help="Only GPUs that multiply FP8 natively."),
    "nvlink": click.option(
        "--nvlink", is_flag=True, help="Only where GPUs are joined by more than PCIe."
    ),
    "min_total_memory": click.option(
        "--min-total-memory", type=SIZE, help="GPU memory of the whole instance: 160GB."
    ),
    "min_bandwidth": click.option(
        "--min-bandwidth", type=BANDWIDTH, help="Memory bandwidth of one GPU: 3TB/s."
    ),
    "countries": click.option(
        "--country", "countries", multiple=True, metavar="DE,FR", help="Only in these countries."
    ),
    "billing": click.option(
        "--billing",
        type=click.Choice(list(BILLING_UNITS)),
        help="Time is billed in units of at most this.",
    ),
    "max_cold_start": click.option(
        "--max-cold-start", type=DURATION, help="From a start to a running machine: 5min."
    ),
    "min_reliability": click.option(
        "--min-reliability", type=FRACTION, help="The marketplace's own score: 99%."
    ),
    "verified": click.option(
        "--verified", is_flag=True, help="Only hosts that the marketplace vouches for."
    ),
    "in_stock": click.option(
        "--in-stock", is_flag=True, help="Not those of which the list has too few."
    ),
}


class Narrowing:
    """What the options add to a query."""

    __slots__ = ("_filters",)

    def __init__(self, filters: dict[str, object]) -> None:
        self._filters = filters

    def of(self, query: OfferQuery) -> OfferQuery:
        """Return the query with these filters too."""
        return narrowed(query, **self._filters)  # type: ignore[arg-type]  # the options' own types


def _narrowing(**filters: object) -> Narrowing:
    return Narrowing(filters)


narrowing_options = option_group(_OPTIONS, name="narrowing", build=_narrowing)
