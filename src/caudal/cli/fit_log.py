"""`caudal fit --log FILE`: what an engine measured at its start, beside the prediction."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caudal.cli.figures import UNKNOWN, figure
from caudal.cli.model_options import NamedModel
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.table import Column, bullets, render_table, wrap_text
from caudal.documents.fit_log import FitLogDocument, MeasuredTerm, answer_fit_log
from caudal.vocabulary.errors import ContradictoryOptionsError, UnavailableError
from caudal.vocabulary.units import GIB, MIB

MOST_BYTES: Final = 64 * MIB  # chosen: a start is 200 kB; what follows it is not needed
_COLUMNS: Final = (
    Column(title="term"),
    Column(title="unit"),
    Column(title="measured", numeric=True),
    Column(title="predicted", numeric=True),
    Column(title="error", unit="%", numeric=True),
)
_OUTCOMES: Final = {
    "ok": "started",
    "oom": "ran out of memory",
    "kv_too_small": "had too little memory left for its longest sequence",
}


def show_fit_log(
    path: Path,
    *,
    named: NamedModel,
    gpus: tuple[str, ...],
    precision: str,
    as_json: bool,
) -> None:
    """Print the comparison for one log.

    Raises:
        ContradictoryOptionsError: more than one card is given.
        UnavailableError: the file cannot be read.
        InvalidLogError: it is no start-up log.
    """
    if len(gpus) > 1:
        raise ContradictoryOptionsError(
            f"A log is of one card; --gpu names {len(gpus)}.", remedy="Give --gpu once, or not."
        )
    text = _text_of(path)
    document = answer_fit_log(
        text,
        file=path.name,
        model=named.spec() if named.is_given else None,
        gpu=gpus[0].partition(":")[0] if gpus else None,
        precision=None if precision == "native" else precision,
    )
    if as_json:
        print_document("fit log", document)
    else:
        print_sections(_sections(document, width=terminal_width()))


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            raise UnavailableError(
                f"{path} is no file.", remedy="Name a text file with the engine's output."
            )
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"{path} cannot be read: {error}.", remedy="Check the path and its permissions."
        ) from error
    return raw[:MOST_BYTES].decode("utf-8", errors="replace")


def _sections(document: FitLogDocument, *, width: int) -> Iterator[tuple[str, str]]:
    yield "", "\n".join(wrap_text(_headline(document), width))
    rows = [_cells(term) for term in document.terms]
    if rows:
        yield "", render_table(_COLUMNS, rows, width=width)
    if document.assumptions:
        yield "Assumed", bullets(document.assumptions, width=width)


def _headline(document: FitLogDocument) -> str:
    version = f" {document.engine_version}" if document.engine_version else ""
    cards = (document.tensor or 1) * (document.pipeline or 1)
    where = f" on {cards} x {document.gpu_id}" if document.gpu_id else ""
    predicted = "" if document.verdict is None else f" Predicted: {document.verdict.value}."
    return (
        f"{document.model.id} on {document.engine}{version}{where} "
        f"{_OUTCOMES[document.outcome]}.{predicted}"
    )


def _cells(term: MeasuredTerm) -> list[str]:
    in_gib = term.unit == "bytes" and "a token" not in term.name
    unit = "GiB" if in_gib else term.unit
    divisor = GIB if in_gib else 1
    predicted = UNKNOWN if term.predicted is None else figure(term.predicted / divisor)
    error = UNKNOWN if term.error is None else f"{round(100 * term.error, 1) + 0.0:+.1f}"
    return [term.name, unit, figure(term.measured / divisor), predicted, error]
