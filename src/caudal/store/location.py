"""Which database is meant: named by the user, else a SQLite file in the user's data folder.

Imports nothing of the database: whoever has none pays nothing for it.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from caudal.vocabulary.errors import InvalidInputError, UnavailableError

VARIABLE: Final = "CAUDAL_DATABASE_URL"
FILE_NAME: Final = "caudal.sqlite3"


class InvalidDatabaseError(InvalidInputError):
    """The URL of the database cannot be meant."""

    code = "invalid-database"


class DatabaseUnavailableError(UnavailableError):
    """The database cannot be reached, read or written now, or its driver is not installed."""

    code = "database-unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseLocation:
    """One database. `path` is the file of a SQLite database, None for a server."""

    url: str  # as SQLAlchemy takes it; may hold a password: never print it, print `shown`
    path: Path | None
    named: bool  # by the user, so that it must be there

    @property
    def shown(self) -> str:
        """Return the place without a password."""
        if self.path is not None:
            return str(self.path)
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        place = f"{name}@{host}" if name else host
        return urlunsplit(("postgresql", place, parts.path, "", ""))

    @property
    def may_hold_offers(self) -> bool:
        """Return whether it is worth opening: a server, or a file that exists."""
        return self.path is None or self.path.is_file()


def database_location(named: str | None = None) -> DatabaseLocation:
    """Return the database: as named, else by CAUDAL_DATABASE_URL, else the user's own file.

    Raises:
        InvalidDatabaseError: the URL is of neither SQLite nor PostgreSQL.
    """
    text = (named or os.environ.get(VARIABLE, "")).strip()
    if not text:
        return _file(data_folder() / FILE_NAME, named=False)
    scheme, colon, rest = text.partition("://")
    if not colon:
        return _file(Path(text).expanduser(), named=True)
    match scheme.partition("+")[0]:
        case "sqlite":
            if rest in {"", "/"} or not rest.startswith("/"):
                raise InvalidDatabaseError(
                    f"The database {text!r} names no file.",
                    remedy="Write sqlite:////folder/offers.sqlite3, or the path alone.",
                )
            return _file(Path(rest[1:]).expanduser(), named=True)
        case "postgresql" | "postgres":
            return DatabaseLocation(url=f"postgresql+psycopg://{rest}", path=None, named=True)
    raise InvalidDatabaseError(
        f"Databases of the kind {scheme!r} are not supported.",
        remedy="Give the path of a SQLite file, or postgresql://user@host/name.",
    )


def data_folder() -> Path:
    """Return the folder for a user's own data, as the system wants it.

    Source: XDG Base Directory Specification 0.8 (Linux), Apple's File System Programming Guide,
    Microsoft's KNOWNFOLDERID.
    """
    told = os.environ.get("XDG_DATA_HOME")
    if told:
        return Path(told) / "caudal"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "caudal"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "caudal"
    return Path.home() / ".local" / "share" / "caudal"


def _file(path: Path, *, named: bool) -> DatabaseLocation:
    return DatabaseLocation(url=f"sqlite:///{path.absolute()}", path=path.absolute(), named=named)
