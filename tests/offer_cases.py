"""Offers for tests: sound by default, changed in the one respect that a test is about."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Final

from caudal.facts.currency import exchange_rates
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.source import Source
from caudal.offers.batch import OfferBatch, ReadingFacts
from caudal.offers.book import OfferBook, assemble_book
from caudal.offers.offer import Offer, Term
from caudal.vocabulary.money import UsdPerHour

TODAY: Final = date(2026, 11, 30)
FACTS: Final = ReadingFacts(
    gpus={gpu.id: gpu for gpu in gpu_catalogue().all}, rates=exchange_rates()
)

PLAIN: Final = Offer(
    provider="acme",
    instance="acme.1",
    gpu_id="h100-sxm",
    gpu_count=1,
    gpu_fraction=Decimal(1),
    term=Term.HOURLY,
    price=Decimal(2),
    currency="USD",
    hours_per_unit=Decimal(1),
    price_usd_per_gpu_hour=UsdPerHour(Decimal(2)),
    region="us-east-1",
    country="US",
    area="us",
    vcpus=None,
    ram_bytes=None,
    stock=None,
    minimum_gpus=1,
    included_egress_bytes=None,
    egress_usd_per_byte=None,
    observed_on=date(2026, 11, 1),
    source=Source("a test", date(2026, 11, 1)),
)


def offer_of(
    gpus: int,
    usd_per_gpu_hour: str,
    *,
    gpu_id: str = PLAIN.gpu_id,
    instance: str | None = None,
    stock: int | None = None,
    gpu_fraction: str = "1",
) -> Offer:
    """Return an hourly offer of `gpus` GPUs at this price each."""
    each = Decimal(usd_per_gpu_hour)
    return replace(
        PLAIN,
        instance=instance or f"{gpu_id}.{gpus}.{usd_per_gpu_hour}",
        gpu_id=gpu_id,
        gpu_count=gpus,
        gpu_fraction=Decimal(gpu_fraction),
        price=each * gpus * Decimal(gpu_fraction),
        price_usd_per_gpu_hour=UsdPerHour(each),
        stock=stock,
    )


def batch_of(*offers: Offer, source: str = "a list") -> OfferBatch:
    """Return a batch of these offers."""
    return OfferBatch(
        source=source, title=source, licence="MIT", offers=tuple(offers), set_aside=()
    )


def book_of(*offers: Offer) -> OfferBook:
    """Return a book of these offers alone."""
    return assemble_book([batch_of(*offers)], today=TODAY)
