"""Whether the offers may have changed since they were last read."""

import time
from collections.abc import Hashable
from pathlib import Path
from typing import Final

from caudal.store.location import database_location

LOOKED_AT_EVERY_SECONDS: Final = 30  # chosen: so long after a refresh a server's prices show


def database_state(named: str | None) -> Hashable:
    """Return a value that changes when the database does: of a file at once, of a server by time.

    Raises:
        InvalidDatabaseError: the URL cannot be meant.
    """
    location = database_location(named)
    if location.path is None:
        return int(time.monotonic() // LOOKED_AT_EVERY_SECONDS)
    journal = location.path.with_name(f"{location.path.name}-wal")
    return (_state_of(location.path), _state_of(journal))


def _state_of(path: Path) -> Hashable:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size)
