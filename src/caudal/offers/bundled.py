"""The offers that come with Caudal: snapshots of price lists and two providers' quote sheets."""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from caudal.facts.currency import exchange_rates
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.offers.batch import OfferSource, ReadingFacts
from caudal.offers.book import OfferBook, assemble_book
from caudal.offers.sources.everxcloud import EVERXCLOUD
from caudal.offers.sources.gpu_rent_hub import GPU_RENT_HUB
from caudal.offers.sources.snapshot import SNAPSHOTS, snapshot_source

BUNDLED_SOURCES: Final[tuple[OfferSource, ...]] = (
    GPU_RENT_HUB,
    EVERXCLOUD,
    *(snapshot_source(listing) for listing in SNAPSHOTS.values()),
)


@lru_cache(maxsize=4)
def bundled_offers(*, today: date) -> OfferBook:
    """Return every bundled offer, checked against the GPU catalogue, as of `today`."""
    facts = ReadingFacts(gpus=_gpus(), rates=exchange_rates())
    return assemble_book([source.read(facts) for source in BUNDLED_SOURCES], today=today)


def _gpus() -> Mapping[str, GpuSpec]:
    return {gpu.id: gpu for gpu in gpu_catalogue().all}
