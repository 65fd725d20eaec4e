"""Every offer that Caudal knows here: those that come with it, and those in the user's database."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from statistics import median

from caudal.facts.currency import exchange_rates
from caudal.facts.gpus import gpu_catalogue
from caudal.offers.batch import OfferBatch, ReadingFacts, UsualPrice
from caudal.offers.book import OfferBook
from caudal.offers.bundled import BUNDLED_SOURCES, bundled_offers
from caudal.store.location import database_location


def known_offers(*, today: date, database: str | None = None) -> OfferBook:
    """Return the bundled offers and those of the database, if one is named or exists.

    Where both price the same instance, region and term, the later observation is offered.

    Raises:
        InvalidDatabaseError: the URL cannot be meant.
        DatabaseUnavailableError: the database is named and cannot be read, or is damaged.
    """
    location = database_location(database)
    if not location.may_hold_offers and not location.named:
        return bundled_offers(today=today)
    from caudal.offers.stored import stored_parts  # noqa: PLC0415 - only who has a database pays

    bundled = bundled_offers(today=today)
    return OfferBook(parts=(*bundled.parts, *stored_parts(location)), today=today)


@cache
def bundled_batches() -> tuple[OfferBatch, ...]:
    """Return the bundled lists as they were read, before the later ones replace the earlier."""
    facts = ReadingFacts(gpus={gpu.id: gpu for gpu in gpu_catalogue().all}, rates=exchange_rates())
    return tuple(source.read(facts) for source in BUNDLED_SOURCES)


@lru_cache(maxsize=1)
def import_facts() -> ReadingFacts:
    """Return what foreign rows are judged by: GPUs, rates, usual prices, and known instances.

    The bundled lists say which GPU an instance such as `p5.48xlarge` holds, and what is usually
    asked for each GPU.
    """
    offers = [offer for batch in bundled_batches() for offer in batch.offers]
    prices: dict[str, list[Decimal]] = {}
    instances: dict[tuple[str, str], set[str]] = {}
    for offer in offers:
        prices.setdefault(offer.gpu_id, []).append(offer.price_usd_per_gpu_hour)
        instances.setdefault((offer.provider, offer.instance), set()).add(offer.gpu_id)
    return ReadingFacts(
        gpus={gpu.id: gpu for gpu in gpu_catalogue().all},
        rates=exchange_rates(),
        usual_usd={
            gpu_id: UsualPrice(median(found), max(found)) for gpu_id, found in prices.items()
        },
        instances={name: next(iter(ids)) for name, ids in instances.items() if len(ids) == 1},
    )


def with_own_names(facts: ReadingFacts, names: Mapping[str, str]) -> ReadingFacts:
    """Return the facts with the user's own readings of GPU names.

    Raises:
        UnknownGpuError: one of the readings is no GPU of the catalogue.
    """
    own = {name.casefold(): gpu_catalogue().get(gpu_id).id for name, gpu_id in names.items()}
    return facts._replace(own_names={**facts.own_names, **own})
