"""`caudal accuracy`: predictions against measured rows, as tables or one JSON document."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import click

from caudal.calibrate.memory_accuracy import (
    FIELDS,
    ErrorSummary,
    Judged,
    MemoryAccuracy,
    memory_accuracy,
)
from caudal.calibrate.memory_rows import read_memory_rows
from caudal.calibrate.row_models import read_row_models
from caudal.cli.accuracy_speed import speed_command
from caudal.cli.figures import UNKNOWN, figure
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.table import Column, bullets, render_table
from caudal.cli.teaching import TaughtCommand, TaughtGroup
from caudal.vocabulary.errors import UnavailableError

FIELD_COLUMNS: Final = (
    Column(title="group", wraps=True),
    Column(title="field"),
    Column(title="n", numeric=True),
    Column(title="median", unit="%", numeric=True),
    Column(title="p90", unit="%", numeric=True),
)
WORST_COLUMNS: Final = (
    Column(title="row", wraps=True),
    Column(title="field"),
    Column(title="predicted", numeric=True),
    Column(title="measured", numeric=True),
    Column(title="error", unit="%", numeric=True),
)
MOST_BYTES: Final = 512 * 2**20  # chosen: a hundred times the largest set of rows there is
WORST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCounts:
    """How often a start was judged wrongly."""

    n: int
    false_fit: int  # called a fit, and did not start
    false_refusal: int  # refused, and started


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart:
    """The errors of one group of rows, as fractions."""

    fields: Mapping[str, ErrorSummary]
    verdicts: VerdictCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A row for which there is no prediction, and why."""

    row: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccuracyDocument:
    """Predicted start-up memory against measured; errors are fractions."""

    rows: int
    answered: int
    fields: Mapping[str, ErrorSummary]
    verdicts: VerdictCounts
    by: Mapping[str, MemoryPart]  # per engine or family with --by, else empty
    worst: tuple[Judged, ...]
    unanswered: tuple[Unanswered, ...]


@click.group(
    "accuracy",
    cls=TaughtGroup,
    examples=(
        (
            "caudal accuracy memory memory.jsonl --models ./models --by engine",
            "start-up memory against what servers printed",
        ),
        ("caudal accuracy speed perf.jsonl.gz --models ./models --by kind", "step times"),
    ),
)
def accuracy_group() -> None:
    """Judge the predictions by measured rows."""


accuracy_group.add_command(speed_command)


@accuracy_group.command(
    "memory",
    cls=TaughtCommand,
    examples=(
        (
            "caudal accuracy memory memory.jsonl --models ./models --by engine",
            "errors per engine, and the ten worst terms",
        ),
    ),
    notes=(
        (
            "ROWS holds one JSON object a line (also .gz). --models is the folder of architecture "
            "files; memory_models.json there, above it or beside ROWS maps names to files. A term "
            "that a row does not pin down is not judged."
        ),
    ),
)
@click.argument("rows", type=click.Path(path_type=Path))
@click.option(
    "--models",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder of the architecture files.",
)
@click.option("--by", type=click.Choice(["engine", "family"]), help="Judge each of these apart.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def memory_command(
    *, rows: Path, models: Path, by: Literal["engine", "family"] | None, as_json: bool
) -> None:
    """Judge the memory predictions by what servers printed at their start."""
    found = read_memory_rows(_lines(rows), file=rows.name)
    accuracy = memory_accuracy(found, read_row_models(models, rows=rows).model, by=by)
    document = _document(accuracy)
    if as_json:
        print_document("accuracy memory", document)
        return
    print_sections(_sections(document, width=terminal_width()))


def _lines(path: Path) -> list[str]:
    """Return the lines of a plain or compressed text file of bounded size.

    Raises:
        UnavailableError: it cannot be read, or has more than 512 MiB.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
            text = raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{path} cannot be read: {error}.", remedy="Give a .jsonl or .jsonl.gz file of rows."
        ) from error
    if len(raw) > MOST_BYTES:
        raise UnavailableError(
            f"{path} has more than {MOST_BYTES:,} bytes.", remedy="Split the file."
        )
    return text.splitlines()


def _document(accuracy: MemoryAccuracy) -> MemoryAccuracyDocument:
    whole = _part(accuracy, None)
    return MemoryAccuracyDocument(
        rows=accuracy.rows,
        answered=accuracy.answered,
        fields=whole.fields,
        verdicts=whole.verdicts,
        by={group: _part(accuracy, group) for group in accuracy.groups},
        worst=accuracy.worst(WORST),
        unanswered=tuple(Unanswered(row=row, why=why) for row, why in accuracy.unanswered),
    )


def _part(accuracy: MemoryAccuracy, group: str | None) -> MemoryPart:
    verdicts = [
        item
        for item in accuracy.verdicts
        if group is None or group == (item.family if accuracy.by == "family" else item.engine)
    ]
    return MemoryPart(
        fields={field: accuracy.summary(field, group=group) for field in FIELDS},
        verdicts=VerdictCounts(
            n=len(verdicts),
            false_fit=sum(item.false_fit for item in verdicts),
            false_refusal=sum(item.false_refusal for item in verdicts),
        ),
    )


def _sections(document: MemoryAccuracyDocument, *, width: int) -> Iterator[tuple[str, str]]:
    share = document.answered / document.rows if document.rows else 0.0
    yield "", f"{document.answered} of {document.rows} rows answered ({share:.0%})."
    parts = {
        "all": MemoryPart(fields=document.fields, verdicts=document.verdicts),
        **document.by,
    }
    rows = [
        [name if at == 0 else "", field, str(summary.n), *_percents(summary)]
        for name, part in parts.items()
        for at, (field, summary) in enumerate(
            item for item in part.fields.items() if item[1].n or name == "all"
        )
    ]
    yield "Errors of the terms", render_table(FIELD_COLUMNS, rows, width=width)
    verdicts = [
        _verdict_text(name, part.verdicts) for name, part in parts.items() if part.verdicts.n
    ]
    yield "Verdicts", bullets(verdicts, width=width)
    yield f"The {WORST} terms furthest off", _worst_table(document.worst, width=width)
    if document.unanswered:
        reasons = [f"{item.row}: {item.why}" for item in document.unanswered]
        yield "Not answered", bullets(reasons, width=width)


def _verdict_text(name: str, counts: VerdictCounts) -> str:
    return (
        f"{name}: {counts.n} judged, {counts.false_fit} called a fit that did not start, "
        f"{counts.false_refusal} refused that started"
    )


def _percents(summary: ErrorSummary) -> list[str]:
    return [
        UNKNOWN if error is None else figure(100 * error)
        for error in (summary.median_ape, summary.p90_ape)
    ]


def _worst_table(worst: Sequence[Judged], *, width: int) -> str:
    rows = [
        [
            item.row,
            item.field,
            figure(item.predicted),
            figure(item.measured),
            figure(100 * item.error),
        ]
        for item in worst
    ]
    return render_table(WORST_COLUMNS, rows, width=width)
