"""Imports into real databases: what is kept, what is replaced, what the history says."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from caudal.offers.disagreement import disagreements
from caudal.offers.history import PriceHistory, price_history
from caudal.offers.importing import ImportReport, import_files
from caudal.offers.known import import_facts, known_offers
from caudal.offers.offer import AgeLimits
from caudal.offers.query import OfferQuery
from caudal.offers.recording import record_failure, set_limits
from caudal.offers.sources.list_formats import Wanted
from caudal.offers.stored import stored_parts, stored_set_aside
from caudal.offers.stored_history import stored_points
from caudal.store.location import DatabaseLocation
from caudal.store.sessions import HEAD, MIGRATIONS, writing
from list_cases import LISTS, RECORDED

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TODAY = NOW.date()
Quotes = Callable[..., Path]


def take(location: DatabaseLocation, *paths: Path) -> list[ImportReport]:
    return list(
        import_files(paths, location=location, wanted=Wanted(), now=NOW, facts=import_facts())
    )


def history(location: DatabaseLocation) -> PriceHistory:
    return price_history(stored_points(location, gpu_ids=frozenset({"l40s"})))


def asked(location: DatabaseLocation) -> list[tuple[str, Decimal]]:
    tables = [part.table for part in stored_parts(location)]
    offers = [table.offer(row) for table in tables for row in range(table.size)]
    return sorted((offer.instance, offer.price) for offer in offers)


def test_what_was_imported_is_offered_beside_what_comes_with_caudal(
    location: DatabaseLocation, database_url: str, quotes: Quotes
) -> None:
    take(location, quotes({"a": "0.79", "b": "0.85"}))

    book = known_offers(today=TODAY, database=database_url)

    found = book.select(OfferQuery(providers=frozenset({"acme"})))
    assert [("a", "DE", "eu"), ("b", "DE", "eu")] == [
        (offer.instance, offer.country, offer.area) for offer in found
    ]
    assert {"gpu-rent-hub", "quotes-own"} <= {source.name for source in book.sources}


def test_every_recorded_list_goes_in_and_comes_out(location: DatabaseLocation) -> None:
    reports = take(location, *(RECORDED / name for name in LISTS))

    assert not [report.error for report in reports if report.error]
    sources = {part.report.name: part for part in stored_parts(location)}
    assert len(LISTS) == len(sources)
    for report in reports:
        (one,) = report.recorded
        assert one.offers == sources[one.source].table.size == sources[one.source].report.offers
    assert sum(len(report.set_aside) for report in reports) == len(stored_set_aside(location))


def test_only_a_change_enters_the_history(location: DatabaseLocation, quotes: Quotes) -> None:
    take(location, quotes({"a": "0.79", "b": "0.85"}, day="2026-11-01"))
    (same,) = take(location, quotes({"a": "0.79", "b": "0.85"}, day="2026-11-08"))
    (moved,) = take(location, quotes({"a": "0.69", "c": "0.99"}, day="2026-11-15"))

    found = history(location)

    assert (0, 0, 0) == (same.recorded[0].new, same.recorded[0].changed, same.recorded[0].gone)
    assert (1, 1, 1) == (moved.recorded[0].new, moved.recorded[0].changed, moved.recorded[0].gone)
    assert [("a", Decimal("0.79")), ("b", Decimal("0.85"))] == [
        (point.instance, point.price) for point in found.points[:2]
    ]
    assert {("a", "0.69"), ("b", None), ("c", "0.99")} == {
        (point.instance, None if point.price is None else str(point.price))
        for point in found.points[2:]
    }
    assert [("a", pytest.approx(-12.66, abs=0.01)), ("b", None)] == [
        (change.after.instance, change.percent) for change in found.changes
    ]
    assert [("a", Decimal("0.69")), ("c", Decimal("0.99"))] == asked(location)


def test_an_offer_that_comes_back_is_seen_again(location: DatabaseLocation, quotes: Quotes) -> None:
    for prices, day in (({"a": "1", "b": "2"}, 1), ({"b": "2"}, 2), ({"a": "1", "b": "2"}, 3)):
        take(location, quotes(prices, day=f"2026-11-0{day}"))

    seen = [point.price for point in history(location).points if point.instance == "a"]

    assert [Decimal(1), None, Decimal(1)] == seen


def test_an_older_list_fills_in_the_history_and_replaces_nothing(
    location: DatabaseLocation, quotes: Quotes
) -> None:
    take(location, quotes({"a": "0.79"}, day="2026-11-15"))
    (older,) = take(location, quotes({"a": "0.99", "z": "3"}, day="2026-10-01"))
    (again,) = take(location, quotes({"a": "0.99", "z": "3"}, day="2026-10-01"))

    assert older.recorded[0].is_older
    assert [("a", Decimal("0.79"))] == asked(location)
    assert [date(2026, 10, 1), date(2026, 10, 1), date(2026, 11, 15)] == [
        point.observed_on for point in history(location).points
    ]
    assert 0 == again.recorded[0].new + again.recorded[0].changed


def test_observations_cannot_be_changed_or_deleted(
    location: DatabaseLocation, quotes: Quotes
) -> None:
    take(location, quotes({"a": "1"}))

    for statement in ("UPDATE offer_price SET price = '2'", "DELETE FROM offer_price"):
        with (
            pytest.raises(Exception, match="kept for ever") as caught,
            writing(location) as session,
        ):
            session.execute(text(statement))
        assert isinstance(caught.value, DBAPIError) or caught.value.__cause__


def test_a_file_that_fails_changes_nothing_and_stops_no_other(
    location: DatabaseLocation, quotes: Quotes, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("gpu,gpus,term,price,colour\nL4,1,hourly,1,red\n", encoding="utf-8")
    take(location, quotes({"a": "1"}))

    failed, done = take(location, bad, quotes({"b": "2"}, name="r.csv"))

    assert failed.error is not None
    assert "colour" in failed.error.problem
    assert done.error is None
    assert [("b", Decimal(2))] == asked(location)


def test_a_source_that_fails_keeps_its_rows_and_says_why(
    location: DatabaseLocation, quotes: Quotes
) -> None:
    take(location, quotes({"a": "1"}))
    with writing(location) as session:
        record_failure(
            session,
            name="quotes-own",
            title="",
            problem="HTTP 503",
            now=NOW,
            limits=AgeLimits(),
        )

    (part,) = stored_parts(location)

    assert ("HTTP 503", 1) == (part.report.problem, part.table.size)


def test_limits_of_a_source_are_those_of_its_prices(
    location: DatabaseLocation, database_url: str, quotes: Quotes
) -> None:
    take(location, quotes({"a": "1"}, day="2026-11-01"))
    with writing(location) as session:
        assert set_limits(session, "quotes-own", AgeLimits(fresh_days=1, stale_days=7))
        assert not set_limits(session, "nobody", AgeLimits())

    book = known_offers(today=TODAY, database=database_url)

    query = OfferQuery(providers=frozenset({"acme"}))
    assert () == book.select(query)
    assert 1 == len(book.select(OfferQuery(providers=frozenset({"acme"}), age_limits=AgeLimits())))


def test_two_lists_that_disagree_are_named(location: DatabaseLocation, database_url: str) -> None:
    take(location, RECORDED / "dstack.json")

    book = known_offers(today=TODAY, database=database_url)

    found = [item for item in disagreements(book) if item.source == "dstack"]
    assert found
    assert {"a2-highgpu-1g"} == {item.offer.instance for item in found}


def test_a_migration_brings_a_database_to_the_newest_version(location: DatabaseLocation) -> None:
    with writing(location) as session:
        version = session.execute(text("SELECT version_num FROM alembic_version")).scalar()

    scripts = sorted(MIGRATIONS.glob("versions/v*.py"))
    assert HEAD == version
    assert scripts[-1].name.startswith(f"v{HEAD}_")


def test_the_tables_of_the_code_are_those_of_the_migrations(location: DatabaseLocation) -> None:
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415
    from alembic.migration import MigrationContext  # noqa: PLC0415

    from caudal.store.sessions import METADATA  # noqa: PLC0415

    with writing(location) as session:
        context = MigrationContext.configure(session.connection())
        differences = [d for d in compare_metadata(context, METADATA) if isinstance(d, tuple)]

    assert [] == [d for d in differences if d[0] in {"add_table", "add_column", "remove_column"}]


IMPORT = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from caudal.offers.importing import import_files
from caudal.offers.known import import_facts
from caudal.offers.sources.list_formats import Wanted
from caudal.store.location import database_location
now = datetime(2026, 11, 30, 12, tzinfo=UTC)
for report in import_files([Path(sys.argv[2])], location=database_location(sys.argv[1]),
                           wanted=Wanted(), now=now, facts=import_facts()):
    print(report.recorded[0].offers, report.recorded[0].new, flush=True)
"""
KILLED = IMPORT.replace(
    "for report",
    """
import os, signal
from sqlalchemy import event
from sqlalchemy.engine import Engine
@event.listens_for(Engine, "before_cursor_execute")
def die(conn, cursor, statement, parameters, context, many):
    if statement.startswith("INSERT INTO offer_page"):
        os.kill(os.getpid(), signal.SIGKILL)
for report""",
    1,
)


def started(script: str, url: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, url, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_imports_at_once_into_a_new_database_leave_it_whole(
    location: DatabaseLocation, database_url: str, quotes: Quotes
) -> None:
    many = {f"i{number}": f"1.{number:03d}" for number in range(400)}
    paths = [quotes(many, name=f"q{at}.csv") for at in range(2)]

    running = [started(IMPORT, database_url, path) for path in (*paths, RECORDED / "vastai.json")]
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]

    assert [0, 0, 0] == [code for _, code in ended], ended
    assert ["0", "400"] == sorted(out.split()[1] for (out, _), _ in ended[:2])
    assert 404 == len(asked(location))
    assert 400 == len(history(location).points)


def test_an_import_that_is_killed_in_the_middle_leaves_no_trace(
    location: DatabaseLocation, database_url: str, quotes: Quotes
) -> None:
    take(location, quotes({"a": "1"}, day="2026-11-01"))
    before = asked(location), history(location)

    process = started(KILLED, database_url, quotes({"a": "2", "b": "3"}, day="2026-11-20"))
    _, problem = process.communicate(timeout=60)

    assert -9 == process.returncode, problem
    assert before == (asked(location), history(location))
    (again,) = take(location, quotes({"a": "2", "b": "3"}, day="2026-11-20"))
    assert (1, 1) == (again.recorded[0].new, again.recorded[0].changed)
