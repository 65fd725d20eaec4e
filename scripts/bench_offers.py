"""Time how long offers take to load from the database and to query, from 10³ to 10⁶ of them.

Load is `known_offers`: the bundled lists, and the page of a SQLite database. Query is `find` with
six filters, from a book that was never asked before (cold) and asked again (warm), and the twenty
cheapest built. Ends with 1 if 100,000 offers miss a budget by half.
"""

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeVar

from caudal.offers.bundled import bundled_offers
from caudal.offers.known import known_offers
from caudal.offers.offer import Age, Offer, Term
from caudal.offers.page import write_page
from caudal.offers.query import OfferQuery
from caudal.store.location import database_location
from caudal.store.sessions import session_factory
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import GB, Bytes, BytesPerSecond

Answer = TypeVar("Answer")
TODAY: Final = date(2026, 11, 30)
LOAD_BUDGET_S: Final = 0.3
QUERY_BUDGET_S: Final = 0.05
BUDGET_AT: Final = 100_000
TOLERANCE: Final = 1.5  # chosen: a shared machine is slower by less than this
QUERY: Final = OfferQuery(
    regions=("eu", "us"),
    terms=frozenset({Term.HOURLY, Term.SPOT}),
    without_providers=frozenset({"aws"}),
    max_usd_per_hour=UsdPerHour(Decimal(40)),
    native_fp8=True,
    min_total_memory_bytes=Bytes(80 * GB),
    min_memory_bytes_per_s=BytesPerSecond(1e12),
    oldest=Age.STALE,
)


def made_offers(size: int) -> list[Offer]:
    """Return offers like the bundled ones, each with a name of its own."""
    patterns = bundled_offers(today=TODAY).offers
    return [replace(patterns[at % len(patterns)], instance=f"machine {at}") for at in range(size)]


def made_database(path: Path, size: int) -> None:
    """Write a database that offers so many things."""
    session_factory(database_location(str(path)))  # makes the tables
    body = write_page(made_offers(size))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO offer_source (id, name, title, licence, fresh_days, stale_days, problem,"
            " limits_by_user) VALUES (1, 'made', 'Made', '', 45, 365, '', 0)"
        )
        connection.execute("INSERT INTO offer_page VALUES (1, ?, ?)", (size, body))
    connection.close()


def seconds(run: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return how long a call took, and what it returned."""
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def measured(path: Path, runs: int) -> tuple[float, float, float, int]:
    """Return medians of load, cold and warm query, and how many offers pass."""
    loads, colds, warms, found = [], [], [], 0
    for _ in range(runs):
        load_s, book = seconds(lambda: known_offers(today=TODAY, database=str(path)))
        cold_s, selection = seconds(lambda book=book: book.find(QUERY).first(20))  # type: ignore[misc]
        warm_s, _ = seconds(lambda book=book: book.find(QUERY).first(20))  # type: ignore[misc]
        found = len(book.find(QUERY))
        assert selection, "the query finds nothing"
        loads.append(load_s)
        colds.append(cold_s)
        warms.append(warm_s)
    return statistics.median(loads), statistics.median(colds), statistics.median(warms), found


def main() -> int:
    """Run the bench and print the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="loads of each size (default 5)")
    parser.add_argument("--most", type=int, default=1_000_000, help="the largest size")
    told = parser.parse_args()
    late = False
    known_offers(today=TODAY, database=None)  # imports and reads the bundled lists
    print(f"median of {told.runs} runs, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print(f"{'offers':>9} {'load [s]':>9} {'cold query [s]':>15} {'warm [s]':>15} {'found':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for size in (10**3, 10**4, 10**5, 10**6):
            if size > told.most:
                break
            path = Path(folder) / f"{size}.sqlite3"
            made_database(path, size)
            load, cold, warm, found = measured(path, told.runs)
            print(f"{size:>9,} {load:>9.3f} {cold:>15.4f} {warm:>15.4f} {found:>8,}")
            if size == BUDGET_AT:
                late = load > LOAD_BUDGET_S * TOLERANCE or cold > QUERY_BUDGET_S * TOLERANCE
    print(f"budgets at {BUDGET_AT:,}: load {LOAD_BUDGET_S} s, query {QUERY_BUDGET_S} s")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
