"""What a GPU has cost over time, from the bundled lists and the user's database."""

from dataclasses import dataclass
from datetime import date

from caudal.facts.gpus import gpu_catalogue
from caudal.offers.history import DailyPrice, PriceChange, points_of, price_history
from caudal.offers.known import bundled_batches
from caudal.offers.offer import Term
from caudal.store.location import database_location
from caudal.vocabulary.errors import InfeasibleError


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryDocument:
    """Prices of a GPU over time."""

    gpus: tuple[str, ...]  # ids that the name may mean
    notes: tuple[str, ...]  # how an ambiguous name was read
    today: date
    observations: int
    sources: tuple[str, ...]
    daily: tuple[DailyPrice, ...]  # by term, then day
    changes: tuple[PriceChange, ...]  # oldest first


def find_history(
    gpu: str,
    *,
    regions: tuple[str, ...] = (),
    terms: frozenset[Term] = frozenset(),
    today: date,
    database: str | None = None,
) -> HistoryDocument:
    """Return the history of a GPU.

    Raises:
        UnknownGpuError, UnknownRegionError: with the nearest names.
        InfeasibleError: no price of it was ever seen there.
        DatabaseUnavailableError: the database cannot be read.
    """
    choice = gpu_catalogue().resolve(gpu)
    ids = frozenset(spec.id for spec in choice.specs)
    points = list(points_of(bundled_batches(), gpu_ids=ids))
    location = database_location(database)
    if location.named or location.may_hold_offers:
        from caudal.offers.stored_history import stored_points  # noqa: PLC0415 - SQLAlchemy

        points += stored_points(location, gpu_ids=ids)
    found = price_history(points, regions=regions, terms=terms)
    if not found.points:
        place = f" in {', '.join(regions)}" if regions else ""
        raise InfeasibleError(
            f"No price of {gpu}{place} was ever seen.",
            remedy="Leave out a filter, or import or refresh a source that has it.",
        )
    return HistoryDocument(
        gpus=tuple(spec.id for spec in choice.specs),
        notes=(choice.note,) if choice.note else (),
        today=today,
        observations=len(found.points),
        sources=tuple(sorted({point.source for point in found.points})),
        daily=found.daily,
        changes=found.changes,
    )
