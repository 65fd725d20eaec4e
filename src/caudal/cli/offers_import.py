"""`caudal offers import`: files of offers into the database, with a report of every row."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.offer_options import database_option
from caudal.cli.output import print_document, print_text, terminal_width
from caudal.cli.table import wrap_text
from caudal.cli.teaching import TaughtCommand
from caudal.documents.failure import ErrorBody
from caudal.offers.batch import SetAside
from caudal.store.location import database_location
from caudal.vocabulary.errors import CaudalError, InvalidInputError

_SHOWN: Final = 20  # chosen: rows set aside that are printed for each file; --json has all


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSource:
    """What a list changed in the database."""

    source: str
    offers: int
    set_aside: int
    new: int
    changed: int  # prices
    gone: int
    is_older: bool  # than what the database had: only the history was filled in


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What became of one file."""

    file: str
    sources: tuple[RecordedSource, ...]
    set_aside: tuple[SetAside, ...]
    ignored: int  # rows that sell no GPU, or say the same again
    notes: tuple[str, ...]
    error: ErrorBody | None  # nothing of the file was taken


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDocument:
    """What became of every file, in their order."""

    database: str
    files: tuple[ImportedFile, ...]


def _parse_day(_context: click.Context, _option: click.Parameter, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as broken:
        raise InvalidInputError(
            f"{text!r} is no day.", remedy="Write a day as 2026-11-30."
        ) from broken


@click.command(
    "import",
    cls=TaughtCommand,
    examples=(
        ("caudal offers import quotes.csv", "your own quote sheet"),
        ("caudal offers import catalogs/aws/vms.csv --observed-on 2026-11-01", "SkyPilot's list"),
        ("caudal offers import reply.json --gpu-name H100=h100-sxm", "a saved reply"),
    ),
    notes=(
        (
            "Formats: skypilot, gpuhunt, quotes (CSV), vastai, runpod, shadeform, dstack (JSON), "
            "quote-sheet (TOML); .gz and .zip are unpacked. Each file is one transaction."
        ),
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "format_name", default="", help="The format, if it is not recognised.")
@click.option("--provider", default="", help="Whose prices they are, if the file does not say.")
@click.option(
    "--observed-on",
    callback=_parse_day,
    metavar="DAY",
    help="When they were seen, if the file does not say. Default: the day of the file.",
)
@click.option(
    "--gpu-name",
    "gpu_names",
    multiple=True,
    metavar="NAME=GPU",
    help="What a name in the file means: H100=h100-sxm; may be repeated.",
)
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def import_command(
    context: click.Context,
    *,
    files: tuple[str, ...],
    format_name: str,
    provider: str,
    observed_on: date | None,
    gpu_names: tuple[str, ...],
    database: str | None,
    as_json: bool,
) -> None:
    """Import offers from FILE… into your database."""
    from caudal.offers.importing import import_files  # noqa: PLC0415 - loads SQLAlchemy
    from caudal.offers.known import import_facts, with_own_names  # noqa: PLC0415 - likewise
    from caudal.offers.sources.list_formats import Wanted  # noqa: PLC0415 - likewise

    location = database_location(database)
    worst: CaudalError | None = None
    done: list[ImportedFile] = []
    for report in import_files(
        [Path(name) for name in files],
        location=location,
        wanted=Wanted(format_name, provider, observed_on),
        now=datetime.combine(today(), time(12), UTC),
        facts=with_own_names(import_facts(), _names(gpu_names)),
    ):
        imported = ImportedFile(
            file=report.file,
            sources=tuple(RecordedSource(**one._asdict()) for one in report.recorded),
            set_aside=report.set_aside,
            ignored=report.ignored,
            notes=report.notes,
            error=None if report.error is None else failure_of(report.error).body,
        )
        done.append(imported)
        worst = worst or report.error
        if not as_json:
            for line in _lines(imported):
                print_text("\n".join(wrap_text(line, terminal_width())))
    if as_json:
        document = ImportDocument(database=location.shown, files=tuple(done))
        print_document("offers import", document)
    else:
        print_text(f"Database: {location.shown}")
    if worst is not None:
        failure = failure_of(worst)
        print_failure(failure, as_json=False)
        context.exit(failure.exit_code)


def _names(pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, gpu_id = pair.rpartition("=")
        if not equals or not name:
            raise InvalidInputError(
                f"--gpu-name {pair!r} is no pair.", remedy="Write it as H100=h100-sxm."
            )
        found[name] = gpu_id
    return found


def _lines(imported: ImportedFile) -> Iterator[str]:
    if imported.error is not None:
        yield f"{imported.file}: not imported. {imported.error.problem}"
        return
    for one in imported.sources:
        older = (
            " It is older than what is known: the history was filled in." if one.is_older else ""
        )
        yield (
            f"{imported.file}: {one.offers:,} offers of {one.source}: {one.new:,} new, "
            f"{one.changed:,} prices changed, {one.gone:,} gone; {one.set_aside:,} rows set aside."
            + older
        )
    if imported.ignored:
        yield f"{imported.ignored:,} rows sell no GPU, or say the same again."
    yield from imported.notes
    for row in imported.set_aside[:_SHOWN]:
        yield f"- {row.where}: {row.what}: {row.reason}"
    if len(imported.set_aside) > _SHOWN:
        yield f"- … and {len(imported.set_aside) - _SHOWN:,} more (--json lists all)."
