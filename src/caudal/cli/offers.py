"""`caudal offers`: what can be rented, on one basis, with the age of each price."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.figures import UNKNOWN, age_text
from caudal.cli.offer_options import offer_options
from caudal.cli.output import print_document, print_text, terminal_width
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.table import Column, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand
from caudal.documents.offers import USUAL_ROWS, PricedOffer, find_offers
from caudal.offers.bundled import bundled_offers
from caudal.offers.offer import Age
from caudal.offers.query import OfferQuery
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


@click.command(
    "offers",
    cls=TaughtCommand,
    examples=(
        ("caudal offers --gpu H100:8 --region us --max-price 25", "a node of eight under $25/h"),
        ("caudal offers --gpu rtx4090 --term monthly --top 5", "the cheapest by the month"),
        ("caudal offers --gpu a100-80gb:1,2 --max-price-age 30d", "prices of the last month only"),
    ),
    notes=(
        HOW_QUANTITIES_ARE_WRITTEN,
        (
            "$/GPU-h is the whole instance's price for an hour of its term, divided by its GPUs. "
            "A month has 730 h where time is metered, 720 h on a term."
        ),
    ),
)
@click.option(
    "--gpu", "gpus", multiple=True, metavar="GPU[:N]", help="H100, H100:8, H100:1..8; repeatable."
)
@offer_options
@click.option("--in-stock", is_flag=True, help="Not those of which the list has too few.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=USUAL_ROWS,
    show_default=True,
    help="How many to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def offers_command(
    *,
    gpus: tuple[str, ...],
    query: OfferQuery,
    in_stock: bool,
    top: int,
    as_json: bool,
) -> None:
    """List what can be rented, cheapest first."""
    book = bundled_offers(today=today())
    document = find_offers(gpus, replace(query, in_stock_only=in_stock), book=book, top=top)
    if as_json:
        print_document("offers", document)
        return
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
