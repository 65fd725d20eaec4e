"""The one session factory. Whoever asks gets a database with all migrations applied.

SQLite: one writer at a time, who waits for another up to a minute; readers are never kept waiting
(write-ahead log). PostgreSQL: the rows that an import replaces are locked by it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from caudal.store.location import DatabaseLocation, DatabaseUnavailableError

try:
    from sqlalchemy import Connection, Engine, MetaData, create_engine, event, inspect, text
    from sqlalchemy.exc import (
        ArgumentError,
        DataError,
        DBAPIError,
        IntegrityError,
        ProgrammingError,
    )
    from sqlalchemy.orm import Session, sessionmaker
    from sqlalchemy.pool import NullPool
except ImportError as _missing:
    raise DatabaseUnavailableError(
        "The database needs SQLAlchemy and Alembic, which are not installed.",
        remedy="pip install 'caudal[store]'",
    ) from _missing

if TYPE_CHECKING:
    from sqlite3 import Connection as SqliteConnection

HEAD: Final = "0001"  # the newest migration; a test compares it with the scripts
METADATA: Final = MetaData()  # every room's tables
MIGRATIONS: Final = Path(__file__).parent / "migrations"
_WAIT_S: Final = 60  # chosen: an import of 10⁶ rows takes half of it
_CONNECT_S: Final = 10  # chosen: a server that is there answers within a second
_MIGRATION_LOCK: Final = 0x_CA_0D_A1  # chosen: any number that no other program takes


@contextmanager
def writing(location: DatabaseLocation) -> Iterator[Session]:
    """Open one transaction; it is kept if the block ends, and undone if it does not.

    Raises:
        DatabaseUnavailableError: it cannot be reached or written.
    """
    with _explained(location), session_factory(location).begin() as session:
        yield session


@contextmanager
def reading(location: DatabaseLocation) -> Iterator[Session]:
    """Open a transaction that only reads, and waits for no writer.

    Raises:
        DatabaseUnavailableError: it cannot be reached or read.
    """
    with _explained(location):
        engine = _engine(location).execution_options(begin="DEFERRED")
        session_factory(location)  # migrates
        with Session(engine) as session:
            yield session


@lru_cache(maxsize=8)
def session_factory(location: DatabaseLocation) -> sessionmaker[Session]:
    """Return the factory of sessions on a database; the first call brings it up to date."""
    engine = _engine(location)
    _bring_up_to_date(engine)
    return sessionmaker(engine, expire_on_commit=False)


@lru_cache(maxsize=8)
def _engine(location: DatabaseLocation) -> Engine:
    # No pool: a command opens a connection or two, and none may outlive its session.
    if location.path is None:
        return create_engine(
            location.url, poolclass=NullPool, connect_args={"connect_timeout": _CONNECT_S}
        )
    location.path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(location.url, poolclass=NullPool, connect_args={"timeout": _WAIT_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: "SqliteConnection", _record: object) -> None:
    connection.isolation_level = None  # we begin ourselves: the driver would begin too late
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA busy_timeout={_WAIT_S * 1000}")


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("begin", "IMMEDIATE")
    connection.exec_driver_sql(f"BEGIN {mode}")


def _bring_up_to_date(engine: Engine) -> None:
    """Apply the migrations that are missing; of several processes one does, the others wait."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        if _version(connection) == HEAD:
            return
        from alembic import command  # noqa: PLC0415 - 0.2 s that only a new database needs
        from alembic.config import Config  # noqa: PLC0415

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


@contextmanager
def _explained(location: DatabaseLocation) -> Iterator[None]:
    """Say in our words what the database's driver could not do; never print the URL."""
    try:
        yield
    except (DataError, IntegrityError, ProgrammingError):
        raise  # a mistake of ours
    except DBAPIError as broken:
        reason = str(broken.orig).splitlines()[0] if broken.orig else type(broken).__name__
        raise DatabaseUnavailableError(
            f"The database {location.shown} refused: {reason}.",
            remedy="Check the file or server, and that nothing else keeps it locked.",
        ) from broken
    except (ArgumentError, OSError) as broken:
        raise DatabaseUnavailableError(
            f"The database {location.shown} cannot be opened: {type(broken).__name__}.",
            remedy="Check the URL, the path and its permissions.",
        ) from broken
