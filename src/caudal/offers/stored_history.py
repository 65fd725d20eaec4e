"""Every observation that the database keeps of some GPUs."""

from collections.abc import Iterator
from decimal import Decimal

from sqlalchemy import and_, select

from caudal.offers.history import PricePoint
from caudal.offers.offer import Term
from caudal.offers.tables import OFFERING, PRICE, SOURCE
from caudal.store.location import DatabaseLocation
from caudal.store.sessions import reading
from caudal.vocabulary.money import UsdPerHour


def stored_points(location: DatabaseLocation, *, gpu_ids: frozenset[str]) -> Iterator[PricePoint]:
    """Yield the observations of these GPUs, oldest first.

    Raises:
        DatabaseUnavailableError: it cannot be read.
    """
    same = and_(OFFERING.c.source_id == PRICE.c.source_id, OFFERING.c.key == PRICE.c.key)
    wanted = (
        select(
            *(SOURCE.c.name, OFFERING.c.provider, OFFERING.c.via, OFFERING.c.instance),
            *(OFFERING.c.region, OFFERING.c.country, OFFERING.c.gpu_id, OFFERING.c.gpu_count),
            *(OFFERING.c.term, PRICE.c.observed_on, PRICE.c.price, PRICE.c.currency),
            PRICE.c.usd_per_gpu_hour,
        )
        .select_from(PRICE.join(OFFERING, same).join(SOURCE, SOURCE.c.id == PRICE.c.source_id))
        .where(OFFERING.c.gpu_id.in_(sorted(gpu_ids)))
        .order_by(PRICE.c.observed_on, PRICE.c.id)
    )
    with reading(location) as session:
        for row in session.execute(wanted):
            each = row.usd_per_gpu_hour
            yield PricePoint(
                source=row.name,
                provider=row.provider,
                via=row.via,
                instance=row.instance,
                region=row.region,
                country=row.country,
                gpu_id=row.gpu_id,
                gpu_count=row.gpu_count,
                term=Term(row.term),
                observed_on=row.observed_on,
                price=None if row.price is None else Decimal(row.price),
                currency=row.currency,
                usd_per_gpu_hour=None if each is None else UsdPerHour(Decimal(each)),
            )
