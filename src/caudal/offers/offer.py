"""One thing that can be rented: where, how many GPUs, on which terms, at which price."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from caudal.facts.source import Source
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes


class Term(StrEnum):
    """For how long one commits."""

    HOURLY = "hourly"  # on demand
    SPOT = "spot"  # on demand, may be taken away
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Age(StrEnum):
    """How far a price may be trusted by its age; the limits are chosen, see docs."""

    FRESH = "fresh"
    STALE = "stale"
    HISTORICAL = "too old to quote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One priced term of one instance in one region. None means unknown, never zero.

    `price_usd_per_gpu_hour` is the one basis on which all are compared: what the whole instance
    costs per hour of its term, divided by the GPUs (fractions counted) in it.
    """

    provider: str
    instance: str
    gpu_id: str  # a key of the GPU catalogue
    gpu_count: int
    gpu_fraction: Decimal  # 1, or the part of a GPU that is sold
    term: Term
    price: Decimal  # of the whole instance, in `currency`, for one unit of the term
    currency: str
    hours_per_unit: Decimal  # hours in one unit of the term: 1, 168, 720
    price_usd_per_gpu_hour: UsdPerHour
    region: str  # the provider's own name
    country: str | None  # ISO 3166 alpha-2
    area: str | None  # "us", "eu", "asia", "me", "oceania", "latam", "africa", "ca"
    vcpus: int | None
    ram_bytes: Bytes | None
    stock: int | None  # GPUs that the list says are free
    minimum_gpus: int
    included_egress_bytes: Bytes | None
    egress_usd_per_byte: Decimal | None
    observed_on: date
    source: Source
    note: str = ""

    @property
    def total_gpus(self) -> Decimal:
        """Return how many whole GPUs the instance holds."""
        return self.gpu_count * self.gpu_fraction
