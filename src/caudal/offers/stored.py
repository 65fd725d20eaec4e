"""What the user's database offers, read as columns in milliseconds and without SQLAlchemy."""

from datetime import date, datetime
from typing import Final

from caudal.offers.batch import SetAside
from caudal.offers.book import BookPart, SourceReport
from caudal.offers.offer import AgeLimits
from caudal.offers.page import StoredTable, write_page
from caudal.store.location import DatabaseLocation
from caudal.store.quick import Cell, quick_rows

_SOURCES: Final = """
    SELECT s.name, s.title, s.licence, s.fresh_days, s.stale_days, s.tried_at, s.problem,
           CAST(s.first_seen AS VARCHAR(10)), CAST(s.last_seen AS VARCHAR(10)), p.offers, p.body,
           (SELECT COUNT(*) FROM offer_set_aside a WHERE a.source_id = s.id)
    FROM offer_source s LEFT JOIN offer_page p ON p.source_id = s.id
    ORDER BY s.id
"""
_SET_ASIDE: Final = """
    SELECT s.name, a.place, a.what, a.reason
    FROM offer_set_aside a JOIN offer_source s ON s.id = a.source_id
    ORDER BY a.source_id, a.id
"""


def stored_parts(location: DatabaseLocation) -> tuple[BookPart, ...]:
    """Return what each source of the database offers; none where it has no tables yet.

    Raises:
        DatabaseUnavailableError: it cannot be read.
    """
    return tuple(_part(row) for row in quick_rows(location, _SOURCES))


def stored_set_aside(location: DatabaseLocation) -> tuple[SetAside, ...]:
    """Return the rows that the imports kept out, with place and reason.

    Raises:
        DatabaseUnavailableError: it cannot be read.
    """
    return tuple(
        SetAside(source=str(name), where=str(place), what=str(what), reason=str(reason))
        for name, place, what, reason in quick_rows(location, _SET_ASIDE)
    )


def _part(row: tuple[Cell, ...]) -> BookPart:
    name, title, licence, fresh, stale, tried, problem, first, last, offers, body, aside = row
    limits = AgeLimits(fresh_days=int(str(fresh)), stale_days=int(str(stale)))
    page = bytes(body) if isinstance(body, bytes | memoryview) else write_page([])
    return BookPart(
        table=StoredTable(page, age_limits=limits),
        report=SourceReport(
            name=str(name),
            title=str(title),
            licence=str(licence),
            offers=int(str(offers or 0)),
            set_aside=int(str(aside)),
            first_seen=_day(first),
            last_seen=_day(last),
            age_limits=limits,
            stored=True,
            tried_at=datetime.fromisoformat(str(tried)) if tried else None,
            problem=str(problem or ""),
        ),
    )


def _day(cell: Cell) -> date | None:
    return date.fromisoformat(str(cell)) if cell else None
