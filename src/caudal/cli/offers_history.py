"""`caudal offers history`: what a GPU has cost, in a table and drawn."""

from collections.abc import Iterator
from datetime import date
from typing import Final

import click

from caudal.cli.chart import step_chart
from caudal.cli.clock import today
from caudal.cli.offer_options import database_option
from caudal.cli.output import print_document, print_heading, print_text, terminal_width
from caudal.cli.table import Column, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand
from caudal.documents.offers_history import HistoryDocument, find_history
from caudal.offers.history import PriceChange
from caudal.offers.offer import Term
from caudal.vocabulary.money import cents

_DAILY: Final = (
    Column(title="from"),
    Column(title="least", unit="$/GPU-h", numeric=True),
    Column(title="median", unit="$/GPU-h", numeric=True),
    Column(title="offers", numeric=True),
)
_CHANGES: Final = (
    Column(title="day"),
    Column(title="provider", wraps=True),
    Column(title="instance", wraps=True),
    Column(title="region", wraps=True),
    Column(title="term"),
    Column(title="$/GPU-h", numeric=True),
    Column(title="change", numeric=True),
)


@click.command(
    "history",
    cls=TaughtCommand,
    examples=(("caudal offers history H100-SXM --region eu --term hourly", "on demand in the EU"),),
    notes=("A price holds until the next observation of the same instance, region and term.",),
)
@click.argument("gpu")
@click.option("--region", "regions", multiple=True, metavar="NAME", help="us, eu, de …")
@click.option(
    "--term",
    "--kind",
    "terms",
    multiple=True,
    type=click.Choice([term.value for term in Term]),
    help="Only on these terms; may be repeated.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=20, show_default=True, help="Changes to print."
)
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def history_command(
    *,
    gpu: str,
    regions: tuple[str, ...],
    terms: tuple[str, ...],
    top: int,
    database: str | None,
    as_json: bool,
) -> None:
    """Show what GPU has cost, with every change of a price."""
    document = find_history(
        gpu,
        regions=regions,
        terms=frozenset(Term(term) for term in terms),
        today=today(),
        database=database,
    )
    if as_json:
        print_document("offers history", document)
        return
    width = terminal_width()
    for term in dict.fromkeys(day.term for day in document.daily):
        _print_term(document, term, width=width)
    _print_changes(document.changes[-top:], width=width)
    print_text("")
    for sentence in (*document.notes, *_footnotes(document, top=top)):
        print_text("\n".join(wrap_text(sentence, width)))


def _print_term(document: HistoryDocument, term: Term, *, width: int) -> None:
    days = [day for day in document.daily if day.term is term]
    print_heading(f"{', '.join(document.gpus)}, {term.value}: least price")
    rows = [
        [
            str(day.day),
            f"{cents(day.least_usd_per_gpu_hour):,}",
            f"{cents(day.median_usd_per_gpu_hour):,}",
            f"{day.offers:,}",
        ]
        for day in days
    ]
    print_text(render_table(_DAILY, rows, width=width))
    print_text("")
    points: list[tuple[date, float]] = [
        (day.day, float(day.least_usd_per_gpu_hour)) for day in days
    ]
    print_text(step_chart(points, until=document.today, width=min(width, 100)))
    print_text("")


def _print_changes(changes: tuple[PriceChange, ...], *, width: int) -> None:
    if changes:
        print_heading("Changes of a price")
        print_text(render_table(_CHANGES, [_change(item) for item in changes], width=width))


def _change(change: PriceChange) -> list[str]:
    after = change.after
    price, percent = after.usd_per_gpu_hour, change.percent
    what = f"{percent:+.1f} %" if percent is not None else ("gone" if price is None else "back")
    return [
        str(after.observed_on),
        after.provider + (f" via {after.via}" if after.via else ""),
        after.instance,
        after.region,
        after.term.value,
        "–" if price is None else f"{cents(price):,}",
        what,
    ]


def _footnotes(document: HistoryDocument, *, top: int) -> Iterator[str]:
    shown = min(top, len(document.changes))
    yield (
        f"{document.observations:,} observations from {', '.join(document.sources)}; "
        f"{len(document.changes):,} changes of a price"
        + (f", the last {shown} are shown (--top)." if shown < len(document.changes) else ".")
    )
