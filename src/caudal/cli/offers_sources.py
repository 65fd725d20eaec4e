"""`caudal offers sources` and `refresh`: where prices come from, and asking for new ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import islice
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.figures import UNKNOWN, age_text
from caudal.cli.offer_options import database_option
from caudal.cli.offers_import import RecordedSource
from caudal.cli.output import print_document, print_heading, print_text, terminal_width
from caudal.cli.quantity_types import DURATION
from caudal.cli.table import Column, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand
from caudal.documents.failure import ErrorBody
from caudal.documents.written import parse_age_days
from caudal.offers.batch import SetAside
from caudal.offers.book import OfferBook, SourceReport
from caudal.offers.disagreement import Disagreement, disagreements
from caudal.offers.known import known_offers
from caudal.offers.offer import Age, AgeLimits
from caudal.store.location import database_location
from caudal.vocabulary.errors import CaudalError, InvalidInputError, UnknownNameError
from caudal.vocabulary.money import cents
from caudal.vocabulary.units import Seconds

_MOST: Final = 10  # chosen: disagreements printed; --json has all
_COLUMNS: Final = (
    Column(title="source"),
    Column(title="offers", numeric=True),
    Column(title="set aside", numeric=True),
    Column(title="newest price"),
    Column(title="age", wraps=True),
    Column(title="stale after", numeric=True, priority=40),
    Column(title="where", priority=50),
    Column(title="last problem", wraps=True, priority=60),
)


class UnknownSourceError(UnknownNameError):
    """There is no source of offers of this name."""

    code, noun = "unknown-source", "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSourceState:
    """A source that can be asked, and whether its keys are set."""

    name: str
    about: str
    needs: tuple[str, ...]
    is_ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesDocument:
    """Every source, and where two of them disagree."""

    database: str
    sources: tuple[SourceReport, ...]
    live: tuple[LiveSourceState, ...]
    disagreements: tuple[Disagreement, ...]
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedSource:
    """What became of one source."""

    source: str
    recorded: RecordedSource | None
    set_aside: tuple[SetAside, ...]
    error: ErrorBody | None  # its older rows are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshDocument:
    """What became of every source asked."""

    database: str
    sources: tuple[RefreshedSource, ...]


@click.command(
    "sources",
    cls=TaughtCommand,
    examples=(
        ("caudal offers sources", "what there is, how old, and where lists disagree"),
        (
            "caudal offers sources --limits vastai=1d:14d",
            "fresh a day, too old after 14",
        ),
    ),
)
@click.option(
    "--limits",
    multiple=True,
    metavar="SOURCE=FRESH:STALE",
    help="How long its prices are fresh, and may be quoted: vastai=1d:14d.",
)
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def sources_command(*, limits: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Show where offers come from, how old they are, and where they disagree."""
    location = database_location(database)
    for text in limits:
        _set_limits(text, database=database)
    book = known_offers(today=today(), database=database)
    if as_json:
        document = SourcesDocument(
            database=location.shown,
            sources=book.sources,
            live=_live(),
            disagreements=tuple(disagreements(book)),
            set_aside=(*book.set_aside, *_stored_set_aside(database)),
        )
        print_document("offers sources", document)
        return
    _print_sources(book, database=location.shown)


@click.command(
    "refresh",
    cls=TaughtCommand,
    examples=(("caudal offers refresh vastai runpod --timeout 20s", "two marketplaces"),),
    notes=(
        (
            "Keys come from the environment, or from the file of keys "
            "(~/.config/caudal/keys.toml, mode 0600). Without a name, every source is asked "
            "whose keys are set."
        ),
    ),
)
@click.argument("names", nargs=-1, metavar="[SOURCE...]")
@click.option("--timeout", type=DURATION, default="30s", show_default=True, help="For each source.")
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def refresh_command(
    context: click.Context,
    *,
    names: tuple[str, ...],
    timeout: Seconds,
    database: str | None,
    as_json: bool,
) -> None:
    """Ask live sources for their offers, all at once; who fails keeps the old ones."""
    from caudal.offers.known import import_facts  # noqa: PLC0415 - likewise
    from caudal.offers.refreshing import RefreshReport, refresh  # noqa: PLC0415 - SQLAlchemy
    from caudal.offers.sources.live import LIVE_SOURCES  # noqa: PLC0415 - likewise

    for name in names:
        if name not in LIVE_SOURCES:
            hint = f"Known: {', '.join(LIVE_SOURCES)}."
            raise UnknownSourceError(name, known=LIVE_SOURCES, hint=hint)
    wanted = [LIVE_SOURCES[name] for name in dict.fromkeys(names)] or [
        source for source in LIVE_SOURCES.values() if source.needs and source.is_ready()
    ]
    if not wanted:
        raise InvalidInputError(
            "No source can be asked: no key is set.",
            remedy="Set a key (caudal offers sources lists them), or name a source.",
        )
    location = database_location(database)

    def tell(report: RefreshReport) -> None:
        click.echo(_progress(report.source, report.recorded, report.error), err=True)

    click.echo(f"Asking {', '.join(source.name for source in wanted)} …", err=True)
    reports = refresh(
        wanted,
        location=location,
        facts=import_facts(),
        now=datetime.combine(today(), time(12), UTC),
        timeout_s=timeout,
        tell=tell,
    )
    worst: CaudalError | None = None
    done = []
    for report in reports:
        worst = worst or report.error
        done.append(
            RefreshedSource(
                source=report.source,
                recorded=RecordedSource(**report.recorded._asdict()) if report.recorded else None,
                set_aside=report.set_aside,
                error=None if report.error is None else failure_of(report.error).body,
            )
        )
    if as_json:
        document = RefreshDocument(database=location.shown, sources=tuple(done))
        print_document("offers refresh", document)
    else:
        print_text(f"Database: {location.shown}")
    if worst is not None:
        failure = failure_of(worst)
        print_failure(failure, as_json=False)
        context.exit(failure.exit_code)


def _progress(source: str, recorded: object, error: CaudalError | None) -> str:
    if error is not None:
        return f"{source}: {error.problem} Its older offers are kept."
    found = RecordedSource(**recorded._asdict())  # type: ignore[attr-defined]
    return (
        f"{source}: {found.offers:,} offers, {found.new:,} new, {found.changed:,} prices changed, "
        f"{found.gone:,} gone, {found.set_aside:,} set aside."
    )


def _set_limits(text: str, *, database: str | None) -> None:
    from caudal.offers.recording import set_limits  # noqa: PLC0415 - loads SQLAlchemy
    from caudal.store.sessions import writing  # noqa: PLC0415 - likewise

    name, _, days = text.partition("=")
    fresh, colon, stale = days.partition(":")
    if not colon:
        raise InvalidInputError(
            f"--limits {text!r} is not understood.", remedy="Write it as vastai=1d:14d."
        )
    limits = AgeLimits(fresh_days=parse_age_days(fresh), stale_days=parse_age_days(stale))
    if limits.fresh_days > limits.stale_days:
        raise InvalidInputError(
            f"--limits {text!r}: a price is fresh for longer than it may be quoted.",
            remedy="Give the shorter time first.",
        )
    with writing(database_location(database)) as session:
        known = set_limits(session, name, limits)
    if not known:
        raise UnknownSourceError(name, known=(), hint="It must be in your database.")


def _live() -> tuple[LiveSourceState, ...]:
    from caudal.offers.sources.live import LIVE_SOURCES  # noqa: PLC0415 - likewise

    return tuple(
        LiveSourceState(
            name=source.name, about=source.about, needs=source.needs, is_ready=source.is_ready()
        )
        for source in LIVE_SOURCES.values()
    )


def _stored_set_aside(database: str | None) -> tuple[SetAside, ...]:
    from caudal.offers.stored import stored_set_aside  # noqa: PLC0415 - likewise

    location = database_location(database)
    return stored_set_aside(location) if location.may_hold_offers else ()


def _print_sources(book: OfferBook, *, database: str) -> None:
    width = terminal_width()
    rows = [_row(report, book) for report in book.sources]
    print_text(render_table(_COLUMNS, rows, width=width))
    print_text("")
    print_heading("To be asked: caudal offers refresh")
    for live in _live():
        state = "ready" if live.is_ready else f"needs {', '.join(live.needs)}"
        print_text(f"  {live.name:<10} {live.about} ({state})")
    print_text("")
    for sentence in _footnotes(book, database=database):
        print_text("\n".join(wrap_text(sentence, width)))


def _row(report: SourceReport, book: OfferBook) -> list[str]:
    last, age = report.last_seen, report.age(book.today)
    days = "" if last is None else age_text((book.today - last).days)
    return [
        report.name,
        f"{report.offers:,}",
        f"{report.set_aside:,}",
        UNKNOWN if last is None else str(last),
        days if age in {None, Age.FRESH} else f"{days} ({age})",
        f"{report.age_limits.fresh_days} d",
        "database" if report.stored else "bundled",
        report.problem,
    ]


def _footnotes(book: OfferBook, *, database: str) -> Iterator[str]:
    found = list(disagreements(book))
    conflicts = sum(item.is_conflict for item in found)
    yield (
        f"Two sources price {len(book.overlap.losers):,} instances alike; {conflicts:,} prices "
        f"conflict (seen within a week), {len(found) - conflicts:,} have drifted since."
    )
    for item in islice(sorted(found, key=lambda one: -abs(one.percent)), _MOST):
        offer = item.offer
        yield (
            f"- {offer.provider} {offer.instance} {offer.region} {offer.term}: "
            f"${cents(offer.price_usd_per_gpu_hour)} ({item.source}, {offer.observed_on}), "
            f"${cents(item.other_usd_per_gpu_hour)} ({item.other_source}, "
            f"{item.other_observed_on}), {item.percent:+.0f} %"
        )
    yield f"Database: {database}"
