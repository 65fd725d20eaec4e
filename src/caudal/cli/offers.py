"""`caudal offers`: what can be rented, on one basis, with the age of each price."""

from collections.abc import Iterator, Sequence
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.figures import UNKNOWN, age_text
from caudal.cli.offer_options import database_option, offer_options
from caudal.cli.offers_csv import offers_csv
from caudal.cli.offers_filters import Narrowing, narrowing_options
from caudal.cli.offers_history import history_command
from caudal.cli.offers_import import import_command
from caudal.cli.offers_sources import refresh_command, sources_command
from caudal.cli.output import print_document, print_text, terminal_width
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.table import Column, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand, TaughtGroup
from caudal.documents.offers import USUAL_ROWS, PricedOffer, find_offers
from caudal.offers.known import known_offers
from caudal.offers.offer import Age
from caudal.offers.query import OfferQuery
from caudal.vocabulary.errors import ContradictoryOptionsError
from caudal.vocabulary.money import cents

COLUMNS: Final = (
    Column(title="GPUs"),
    Column(title="$/GPU-h", numeric=True),
    Column(title="$/h", numeric=True),
    Column(title="$/month", numeric=True, priority=70),
    Column(title="provider", wraps=True),
    Column(title="instance", wraps=True, priority=80),
    Column(title="region", wraps=True),
    Column(title="term"),
    Column(title="price age", wraps=True),
    Column(title="stock", numeric=True, priority=30),
)


_NOTES: Final = (
    HOW_QUANTITIES_ARE_WRITTEN,
    (
        "$/GPU-h is the whole instance's price for an hour of its term, divided by its GPUs. "
        "A month has 730 h where time is metered, 720 h on a term. An offer whose list does not "
        "say what a filter asks for does not pass it."
    ),
)


@click.group(
    "offers",
    cls=TaughtGroup,
    default="list",
    examples=(
        ("caudal offers --gpu H100:8 --region us --max-price 25", "a node of eight under $25/h"),
        ("caudal offers --gpu 'H100|H200' --kind spot --nvlink", "either GPU, interruptible"),
        ("caudal offers history H100 --region eu", "what it has cost over time"),
        ("caudal offers import quotes.csv aws/vms.csv", "your own quotes and SkyPilot's list"),
    ),
    notes=_NOTES,
)
def offers_group() -> None:
    """List what can be rented, cheapest first."""


@offers_group.command(
    "list",
    cls=TaughtCommand,
    examples=(
        ("caudal offers --gpu H100:8 --region us --max-price 25", "a node of eight under $25/h"),
        ("caudal offers --gpu rtx4090 --term monthly --top 5", "the cheapest by the month"),
        ("caudal offers --gpu a100-80gb:1,2 --max-price-age 30d", "prices of the last month only"),
        (
            "caudal offers --fp8 --sort usd_per_million_tokens:llama-3.1-70b@fp8",
            "the cheapest tokens at full load",
        ),
    ),
    notes=_NOTES,
)
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU[:N]",
    help="H100, H100:8, H100:1..8, 'H100|H200'; repeatable.",
)
@offer_options
@narrowing_options
@click.option(
    "--sort",
    default="",
    metavar="FIELD",
    help="usd_per_hour, usd_per_memory, age … or usd_per_million_tokens:MODEL@FORMAT.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=USUAL_ROWS,
    show_default=True,
    help="How many to print.",
)
@database_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, in base units.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(
    *,
    gpus: tuple[str, ...],
    query: OfferQuery,
    narrowing: Narrowing,
    sort: str,
    top: int,
    database: str | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List what can be rented, cheapest first."""
    if as_csv and as_json:
        raise ContradictoryOptionsError(
            "--csv and --json exclude each other.", remedy="Leave out one of them."
        )
    book = known_offers(today=today(), database=database)
    document = find_offers(gpus, narrowing.of(query), book=book, top=top, sort=sort)
    if as_json:
        print_document("offers", document)
    elif as_csv:
        print_text(offers_csv(document.offers).removesuffix("\n"))
    else:
        _print_offers(document.offers, found=document.found, notes=document.notes)


def _print_offers(shown: Sequence[PricedOffer], *, found: int, notes: Sequence[str]) -> None:
    width = terminal_width()
    print_text(render_table(COLUMNS, [_row(item) for item in shown], width=width))
    print_text("")
    for sentence in (*notes, *_footnotes(shown, found=found)):
        print_text("\n".join(wrap_text(sentence, width)))


def _footnotes(shown: Sequence[PricedOffer], *, found: int) -> Iterator[str]:
    more = f", the first {len(shown)} are shown (--top)" if found > len(shown) else ""
    yield f"{found:,} offers pass{more}."
    yield "Prices are as their lists said on the day they were seen; ask before you rely on one."


def _row(item: PricedOffer) -> list[str]:
    offer = item.offer
    share = "" if not offer.is_fraction else f" ({offer.gpu_fraction.normalize():f} of one)"
    age = age_text(item.age_days)
    return [
        f"{offer.gpu_count} x {offer.gpu_id}{share}",
        f"{cents(offer.price_usd_per_gpu_hour):,}",
        f"{cents(item.usd_per_hour):,}",
        f"{item.usd_per_hour * offer.month_hours:,.0f}",
        offer.provider + (f" via {offer.via}" if offer.via else ""),
        offer.instance or UNKNOWN,
        offer.region or UNKNOWN,
        offer.term.value + (" (opens later)" if offer.opens_later else ""),
        age if item.age is Age.FRESH else f"{age} ({item.age.value})",
        UNKNOWN if offer.stock is None else str(offer.stock),
    ]


for _command in (history_command, import_command, refresh_command, sources_command):
    offers_group.add_command(_command)
