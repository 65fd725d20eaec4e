"""Files of offers into the database: each file in one transaction, with a report of every row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from caudal.offers.batch import OfferBatch, ReadingFacts, SetAside
from caudal.offers.offer import DEFAULT_AGE_LIMITS, AgeLimits
from caudal.offers.recording import Recorded, record_batch
from caudal.offers.sources.files import InvalidListError, ListFile, read_list_files
from caudal.offers.sources.list_formats import Wanted, read_list
from caudal.store.location import DatabaseLocation
from caudal.store.sessions import writing
from caudal.vocabulary.errors import CaudalError, UnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of one file."""

    file: str
    recorded: tuple[Recorded, ...]  # one a source in the file
    set_aside: tuple[SetAside, ...]
    ignored: int  # rows that sell no GPU, or say the same again
    notes: tuple[str, ...]
    error: CaudalError | None = None  # nothing of the file was taken


def import_files(
    paths: Sequence[Path],
    *,
    location: DatabaseLocation,
    wanted: Wanted,
    now: datetime,
    facts: ReadingFacts,
) -> Iterator[ImportReport]:
    """Yield the report of each file when it is done; a file that fails changes nothing.

    Raises:
        DatabaseUnavailableError: the database cannot be written.
    """
    for path in paths:
        try:
            batches, notes = _read(path, wanted=wanted, now=now, facts=facts)
        except CaudalError as error:
            yield ImportReport(
                file=str(path), recorded=(), set_aside=(), ignored=0, notes=(), error=error
            )
            continue
        with writing(location) as session:
            recorded = tuple(
                record_batch(session, batch, file=path.name, now=now, limits=_limits(batch))
                for batch in batches
            )
        yield ImportReport(
            file=str(path),
            recorded=recorded,
            set_aside=tuple(row for batch in batches for row in batch.set_aside),
            ignored=sum(batch.ignored for batch in batches),
            notes=notes,
        )


def _read(
    path: Path, *, wanted: Wanted, now: datetime, facts: ReadingFacts
) -> tuple[list[OfferBatch], tuple[str, ...]]:
    modified = _modified_on(path)
    batches: dict[str, OfferBatch] = {}
    notes: list[str] = []
    failures: list[InvalidListError] = []
    for file in read_list_files(path):
        try:
            batch = _list(file, wanted=wanted, modified_on=modified, now=now, facts=facts)
        except InvalidListError as error:
            failures.append(error)
            notes.append(f"Left out: {error.problem}")
            continue
        notes.extend(batch.notes)
        before = batches.get(batch.source)
        batches[batch.source] = batch if before is None else _both(before, batch)
    if failures and not batches:
        raise failures[0]
    return list(batches.values()), tuple(dict.fromkeys(notes))


def _list(
    file: ListFile, *, wanted: Wanted, modified_on: date, now: datetime, facts: ReadingFacts
) -> OfferBatch:
    if not file.text.strip():
        raise InvalidListError(f"{file.name} is empty.", remedy="Fetch it again.")
    return read_list(file, wanted=wanted, modified_on=modified_on, today=now.date(), facts=facts)


def _both(first: OfferBatch, second: OfferBatch) -> OfferBatch:
    """Return two lists of one source as one."""
    return first._replace(
        offers=(*first.offers, *second.offers),
        set_aside=(*first.set_aside, *second.set_aside),
        ignored=first.ignored + second.ignored,
    )


def _limits(batch: OfferBatch) -> AgeLimits:
    return batch.offers[0].age_limits if batch.offers else DEFAULT_AGE_LIMITS


def _modified_on(path: Path) -> date:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
    except OSError as missing:
        raise UnavailableError(
            f"{path} cannot be read: {missing.strerror or missing}.",
            remedy="Check the path and its permissions.",
        ) from missing
