"""`caudal accuracy speed`: predicted step times and throughput against measured rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from caudal.calibrate.speed_accuracy import By, MetricErrors, SpeedAccuracy, speed_accuracy
from caudal.cli.figures import UNKNOWN, figure
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.table import Column, bullets, render_table
from caudal.cli.teaching import TaughtCommand

COLUMNS: Final = (
    Column(title="group", wraps=True),
    Column(title="metric"),
    Column(title="n", numeric=True),
    Column(title="median", unit="%", numeric=True),
    Column(title="p90", unit="%", numeric=True),
    Column(title="within 25 %", unit="%", numeric=True),
)
MOST_REASONS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAccuracyDocument:
    """Predicted speed against measured; errors are fractions of the measured value."""

    rows: int
    answered: int
    metrics: Mapping[str, MetricErrors]
    coverage_80: float | None  # share of measured values inside the predicted 80 % ranges
    by: Mapping[str, Mapping[str, MetricErrors]]  # per value of --by
    unanswered: Mapping[str, str]  # row → why

    @classmethod
    def of(cls, accuracy: SpeedAccuracy) -> "SpeedAccuracyDocument":
        """Return the document of one run."""
        return cls(
            rows=accuracy.rows,
            answered=accuracy.answered,
            metrics=accuracy.metrics,
            coverage_80=accuracy.coverage_80,
            by=accuracy.by,
            unanswered=accuracy.unanswered,
        )


@click.command(
    "speed",
    cls=TaughtCommand,
    examples=(
        ("caudal accuracy speed perf.jsonl.gz --models ./models --by gpu", "errors per GPU"),
    ),
    notes=(
        (
            "ROWS holds one JSON object a line (also .gz). --models is the folder of architecture "
            "files; perf_models.json there, above it or beside ROWS maps names to files."
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
@click.option(
    "--by",
    type=click.Choice([by.value for by in By]),
    default=By.KIND.value,
    show_default=True,
    help="Judge each of these apart.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def speed_command(*, rows: Path, models: Path, by: str, as_json: bool) -> None:
    """Judge the speed predictions by what was measured."""
    document = SpeedAccuracyDocument.of(speed_accuracy(rows, models=models, by=By(by)))
    if as_json:
        print_document("accuracy speed", document)
        return
    print_sections(_sections(document, width=terminal_width()))


def _sections(document: SpeedAccuracyDocument, *, width: int) -> Iterator[tuple[str, str]]:
    share = document.answered / document.rows if document.rows else 0.0
    covered = document.coverage_80
    ranges = "" if covered is None else f" {covered:.0%} of values lie in their 80 % range."
    yield "", f"{document.answered} of {document.rows} rows answered ({share:.0%}).{ranges}"
    groups = {"all": document.metrics, **document.by}
    rows = [
        [name if at == 0 else "", metric, *_cells(errors)]
        for name, metrics in groups.items()
        for at, (metric, errors) in enumerate(
            item for item in metrics.items() if item[1].n or name == "all"
        )
    ]
    yield "Errors", render_table(COLUMNS, rows, width=width)
    if document.unanswered:
        reasons = Counter(document.unanswered.values()).most_common(MOST_REASONS)
        yield "Not answered", bullets([f"{n} rows: {why}" for why, n in reasons], width=width)


def _cells(errors: MetricErrors) -> list[str]:
    shares = (errors.median_ape, errors.p90_ape, errors.within_25pct)
    return [
        str(errors.n),
        *(UNKNOWN if share is None else figure(100 * share) for share in shares),
    ]
