"""All live sources at once: each in a thread of its own, within its own time."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import datetime
from threading import Thread

from caudal.offers.batch import OfferBatch, ReadingFacts, SetAside
from caudal.offers.recording import Recorded, record_batch, record_failure
from caudal.offers.sources.live import LiveSource, ask
from caudal.offers.sources.transport import SourceUnavailableError
from caudal.store.location import DatabaseLocation
from caudal.store.sessions import writing
from caudal.vocabulary.errors import CaudalError
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReport:
    """What became of one source."""

    source: str
    recorded: Recorded | None
    set_aside: tuple[SetAside, ...] = ()
    error: CaudalError | None = None  # its older rows are kept


def refresh(
    sources: Sequence[LiveSource],
    *,
    location: DatabaseLocation,
    facts: ReadingFacts,
    now: datetime,
    timeout_s: Seconds,
    tell: Callable[[RefreshReport], None],
) -> tuple[RefreshReport, ...]:
    """Ask every source and record what it offers; `tell` hears of each when it is done.

    A source that fails keeps its old rows and is noted as failed. Threads do not outlive the
    process: one that hangs beyond its time is left behind.

    Raises:
        DatabaseUnavailableError: the database cannot be written.
    """
    running = {_started(source, facts, now, timeout_s): source for source in sources}
    reports = {}
    pending = set(running)
    while pending:
        done, pending = wait(pending, timeout=2 * timeout_s + 1, return_when=FIRST_COMPLETED)
        for finished in done or pending:
            source = running[finished]
            report = _recorded(source, finished, location=location, now=now)
            reports[source.name] = report
            tell(report)
        if not done:
            break
    return tuple(reports[source.name] for source in sources)


def _started(
    source: LiveSource, facts: ReadingFacts, now: datetime, timeout_s: Seconds
) -> "Future[OfferBatch]":
    """Return the coming answer of a source, asked in a thread that ends with the process."""
    answer: Future[OfferBatch] = Future()

    def run() -> None:
        try:
            answer.set_result(ask(source, facts=facts, now=now, timeout_s=timeout_s))
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            answer.set_exception(error)

    Thread(target=run, name=f"refresh {source.name}", daemon=True).start()
    return answer


def _recorded(
    source: LiveSource, answer: "Future[OfferBatch]", *, location: DatabaseLocation, now: datetime
) -> RefreshReport:
    try:
        batch = answer.result(timeout=0)
    except CaudalError as error:
        return _failed(source, error, location=location, now=now)
    except TimeoutError:
        late = SourceUnavailableError(
            f"{source.title} did not answer in time.", remedy="Try again later."
        )
        return _failed(source, late, location=location, now=now)
    with writing(location) as session:
        recorded = record_batch(session, batch, file="", now=now, limits=source.age_limits)
    return RefreshReport(source=source.name, recorded=recorded, set_aside=batch.set_aside)


def _failed(
    source: LiveSource, error: CaudalError, *, location: DatabaseLocation, now: datetime
) -> RefreshReport:
    with writing(location) as session:
        record_failure(
            session,
            name=source.name,
            title=source.title,
            problem=error.problem,
            now=now,
            limits=source.age_limits,
        )
    return RefreshReport(source=source.name, recorded=None, error=error)
