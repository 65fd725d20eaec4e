"""One thing that can be rented: where, how many GPUs, on which terms, at which price."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from caudal.facts.source import Source
from caudal.vocabulary.money import METERED_HOURS_PER_MONTH, TERM_HOURS_PER_MONTH, UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds


class Term(StrEnum):
    """For how long one commits."""

    HOURLY = "hourly"  # on demand
    SPOT = "spot"  # on demand, may be taken away
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    QUARTERLY = "3-month"
    HALF_YEARLY = "6-month"
    YEARLY = "1-year"
    THREE_YEARLY = "3-year"

    @property
    def is_metered(self) -> bool:
        """Return whether one pays for the time used rather than for a term."""
        return self in {Term.HOURLY, Term.SPOT}


class Age(StrEnum):
    """How far a price may be trusted by its age."""

    FRESH = "fresh"
    STALE = "stale"
    HISTORICAL = "too old to quote"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeLimits:
    """The days after which a price is stale, and after which it is too old to quote.

    Both are chosen. 45: of 34 list prices that two of our sources saw 105 days apart, one had
    moved (by 16 %), so a price within a month and a half is most likely still asked. 365: within
    about a year rental rates of H100, H200 and B200 moved by 12 to 42 %
    (SemiAnalysisAI/InferenceX-app#1071), which is more than the gap between two plans.
    """

    fresh_days: int = 45
    stale_days: int = 365

    def age(self, days: int) -> Age:
        """Return the class of a price that was seen `days` ago."""
        if days <= self.fresh_days:
            return Age.FRESH
        return Age.STALE if days <= self.stale_days else Age.HISTORICAL


DEFAULT_AGE_LIMITS = AgeLimits()


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
    region: str  # the provider's own name, "" where it is unknown
    country: str | None  # ISO 3166 alpha-2
    area: str | None  # "us", "ca", "latam", "eu", "europe", "asia", "me", "oceania", "africa"
    vcpus: int | None
    ram_bytes: Bytes | None
    stock: int | None  # GPUs that the list says are free
    minimum_gpus: int
    included_egress_bytes: Bytes | None  # per month and instance
    egress_usd_per_byte: Decimal | None
    observed_on: date
    source: Source
    note: str = ""
    via: str = ""  # the marketplace that resells it
    opens_later: bool = False  # priced, but cannot be rented yet
    tax: str = ""  # "excluded", "included", "" where it is not said
    mig_slice: str | None = None  # the part of a GPU as its maker calls it, such as "1g.10gb"
    interconnect: str | None = None  # between the GPUs of the node, as the list says
    local_disk_bytes: Bytes | None = None  # included in the price
    billing_unit_s: Seconds | None = None  # time is rounded up to this
    minimum_s: Seconds | None = None  # charged at each start
    setup_s: Seconds | None = None  # from the order to the hand-over
    setup_usd: Decimal | None = None  # once
    cold_start_s: Seconds | None = None  # from a start to a running machine
    storage_usd_per_byte_hour: Decimal | None = None  # disk beyond what is included
    stopped_usd_per_hour: Decimal | None = None  # of the whole instance, while it is stopped
    network_bytes_per_s: BytesPerSecond | None = None  # to the internet, outwards
    reliability: float | None = None  # the marketplace's own score, 0 to 1
    verified: bool | None = None  # whether the marketplace vouches for the host
    age_limits: AgeLimits = DEFAULT_AGE_LIMITS  # how fast the prices of its source grow old

    @property
    def total_gpus(self) -> Decimal:
        """Return how many whole GPUs the instance holds."""
        return self.gpu_count * self.gpu_fraction

    @property
    def usd_per_hour(self) -> UsdPerHour:
        """Return what the whole instance costs per hour of its term."""
        return UsdPerHour(self.price_usd_per_gpu_hour * self.total_gpus)

    @property
    def month_hours(self) -> Decimal:
        """Return the length of a month by which this offer is sold: 730 h metered, 720 termed."""
        return METERED_HOURS_PER_MONTH if self.term.is_metered else TERM_HOURS_PER_MONTH

    @property
    def is_fraction(self) -> bool:
        """Return whether a part of a GPU is sold, which cannot hold what a whole one can."""
        return self.gpu_fraction != 1

    @property
    def is_short_of_stock(self) -> bool:
        """Return whether the list says that fewer GPUs are free than the offer holds."""
        return self.stock is not None and self.stock < self.gpu_count

    def age_days(self, today: date) -> int:
        """Return the days since the price was seen."""
        return (today - self.observed_on).days

    def age(self, today: date, limits: AgeLimits | None = None) -> Age:
        """Return how far the price may be trusted on `today`, by its source's limits."""
        return (limits or self.age_limits).age(self.age_days(today))
