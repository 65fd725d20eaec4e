"""A few rows out of a database without SQLAlchemy, whose import costs more than the answer.

Only for reading: `sessions` writes.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from caudal.store.location import DatabaseLocation, DatabaseUnavailableError

Cell = None | int | float | str | bytes


def quick_rows(location: DatabaseLocation, statement: str) -> list[tuple[Cell, ...]]:
    """Return the rows of a statement; none where the tables are not made yet.

    Raises:
        DatabaseUnavailableError: it cannot be reached or read.
    """
    return _of_file(location, statement) if location.path else _of_server(location, statement)


def _of_file(location: DatabaseLocation, statement: str) -> list[tuple[Cell, ...]]:
    assert location.path is not None, "a server has no file"
    if not location.path.is_file():
        raise _unavailable(location, "there is no such file", "Import offers into it first.")
    address = f"{location.path.as_uri()}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=30)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as broken:
        if "no such table" in str(broken):
            return []
        raise _unavailable(location, str(broken), "Check the file.") from broken


def _of_server(location: DatabaseLocation, statement: str) -> list[tuple[Cell, ...]]:
    try:
        import psycopg  # noqa: PLC0415 - an extra, and 60 ms
    except ImportError as missing:
        raise _unavailable(
            location, "psycopg is not installed", "pip install 'caudal[store]'"
        ) from missing
    address = location.url.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            # The statement is one of ours; psycopg only takes literal texts.
            rows = connection.execute(cast("Any", statement), binary=True).fetchall()
    except psycopg.errors.UndefinedTable:
        return []
    except psycopg.Error as broken:
        reason = str(broken).splitlines()[0] if str(broken) else type(broken).__name__
        raise _unavailable(location, reason, "Check the URL and the server.") from broken
    return cast("list[tuple[Cell, ...]]", rows)


def first_text(rows: Sequence[tuple[Cell, ...]]) -> str | None:
    """Return the only cell of the first row as text, None where there is none."""
    return str(rows[0][0]) if rows else None


def _unavailable(location: DatabaseLocation, reason: str, remedy: str) -> DatabaseUnavailableError:
    return DatabaseUnavailableError(
        f"The database {location.shown} cannot be read: {reason}.", remedy=remedy
    )
