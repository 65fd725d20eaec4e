"""Spare instances and regions: how often the service is whole, and what that costs.

Instances fail alone: one is up for a share `MTBF / (MTBF + MTTR)` of the time, and of `n` at least
`k` are up with the binomial probability. Leaves out failures that take several at once within a
region (power, a bad release), which is what a second region is for.
"""

from dataclasses import dataclass
from math import comb
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import SECONDS_PER_HOUR, Seconds

# 419 unexpected interruptions in 54 days on 16,384 H100: one in 50,677 GPU-hours.
# Source: The Llama 3 Herd of Models, arXiv:2407.21783 table 5.
GPU_HOURS_PER_FAILURE: Final = 16_384 * 54 * 24 / 419
# Chosen: another instance is ordered and loads the model. A wake from a stopped disk takes 8
# minutes (spotinference.com, "anatomy of a GPU wake"), a new order is often longer.
USUAL_REPAIR_S: Final = Seconds(3600.0)
# What AWS, Google and Azure promise for a region in their compute agreements: a promise, no
# measurement.
REGION_AVAILABILITY: Final = 0.9999
_HOURS_PER_MONTH: Final = 730.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRates:
    """How often an instance fails and how long it is away."""

    failure_hours: float  # mean time between failures of one instance
    repair_hours: float
    region_availability: float
    basis: str

    def __post_init__(self) -> None:
        if self.failure_hours <= 0 or self.repair_hours <= 0:
            raise InvalidQuantityError(
                "Times between failures and of repair must be above zero.",
                remedy="Give --failure-time 260d and --repair-time 1h, for example.",
            )

    @property
    def instance_availability(self) -> float:
        """Return the share of time that one instance is up: `MTBF / (MTBF + MTTR)`."""
        return self.failure_hours / (self.failure_hours + self.repair_hours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """One way to stand failures: instances needed, spares, regions; what it costs and gives."""

    name: str  # "N", "N+1" …
    needed: int
    spares: int
    regions: int
    availability: float  # share of time in which the whole load is carried
    down_minutes_per_month: float
    usd: float  # in the period
    more_usd: float  # than without spares


def failure_rates(
    gpus_per_instance: int,
    *,
    failure_s: Seconds | None = None,
    repair_s: Seconds | None = None,
    region_availability: float | None = None,
) -> FailureRates:
    """Return the rates to reckon with: the user's own, else those of a published fleet.

    An instance of n GPUs fails n times as often as one GPU.
    """
    usual = GPU_HOURS_PER_FAILURE / gpus_per_instance
    parts = [
        f"a failure in {usual:,.0f} h an instance (arXiv:2407.21783 table 5: 419 in 54 days on "
        "16,384 H100)"
        if failure_s is None
        else f"a failure in {failure_s / SECONDS_PER_HOUR:,.0f} h an instance, as given",
        "1 h to replace it (assumed; --repair-time)"
        if repair_s is None
        else f"{repair_s / SECONDS_PER_HOUR:g} h to replace it, as given",
        "a region up 99.99 % (what large clouds promise; --region-availability)"
        if region_availability is None
        else f"a region up {region_availability:.4%}, as given",
    ]
    return FailureRates(
        failure_hours=usual if failure_s is None else failure_s / SECONDS_PER_HOUR,
        repair_hours=(USUAL_REPAIR_S if repair_s is None else repair_s) / SECONDS_PER_HOUR,
        region_availability=(
            REGION_AVAILABILITY if region_availability is None else region_availability
        ),
        basis="; ".join(parts),
    )


def at_least(needed: int, total: int, *, up: float) -> float:
    """Return the probability that at least `needed` of `total` are up, each with chance `up`."""
    return sum(
        comb(total, count) * up**count * (1 - up) ** (total - count)
        for count in range(needed, total + 1)
    )


def redundancies(
    needed: int, rates: FailureRates, *, usd_each: float, most_spares: int = 2
) -> tuple[Redundancy, ...]:
    """Return no spare up to `most_spares`, then the whole twice in two regions.

    One region: `A_region · P(at least k of n)`; two: `1 - (1 - that)²` with each whole.
    """
    up = rates.instance_availability
    base = needed * usd_each
    rows = []
    for spares in range(most_spares + 1):
        share = rates.region_availability * at_least(needed, needed + spares, up=up)
        name = "N" if spares == 0 else f"N+{spares}"
        rows.append((name, spares, 1, share, (needed + spares) * usd_each))
    alone = rates.region_availability * at_least(needed, needed, up=up)
    rows.append(("2 regions, N each", needed, 2, 1 - (1 - alone) ** 2, 2 * base))
    return tuple(
        Redundancy(
            name=name,
            needed=needed,
            spares=spares,
            regions=regions,
            availability=share,
            down_minutes_per_month=(1 - share) * _HOURS_PER_MONTH * 60,
            usd=usd,
            more_usd=usd - base,
        )
        for name, spares, regions, share, usd in rows
    )


def redundancy_sentence(rows: tuple[Redundancy, ...], *, period: str, days: float) -> str:
    """Return what the first spare costs and buys, in one sentence."""
    none, one = rows[0], rows[1]
    saved = none.down_minutes_per_month - one.down_minutes_per_month
    month = 730.0 / days / 24
    minute = (
        f"${one.more_usd * month / saved:,.0f} for each minute" if saved > 0 else "it buys nothing"
    )
    return (
        f"One spare costs ${one.more_usd:,.0f} more {period} and takes the time without "
        f"full capacity from {none.down_minutes_per_month:,.1f} to "
        f"{one.down_minutes_per_month:,.1f} minutes a month: "
        f"{minute}."
    )
