"""Interruptible instances for work that can wait: what is lost, and what the mix saves.

In a cycle an instance lives for a mean time `L`, then is taken away. Of `L`, starting the model
and what was under way at the end are lost; then a replacement is waited for. So the share of paid
time that does work is `(L − start − lost) / L`. Waiting is not paid, it delays.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import SECONDS_PER_HOUR, Seconds

# Chosen: one interruption a day. Clouds print monthly shares by class at most; users report from
# none in a month to several an hour. `--spot-life` sets it.
USUAL_LIFE_S: Final = Seconds(86_400.0)
# Source: spotinference.com, "anatomy of a GPU wake": a 70B server is budgeted 8 minutes from the
# wake to the first answer, with weights on a local volume.
USUAL_RESTART_S: Final = Seconds(480.0)
# AWS gives two minutes at best and none on hibernation (its user guide, "Spot Instance
# termination notices"), so a plan may count on none.
USUAL_DRAIN_S: Final = Seconds(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRisk:
    """How spot instances come and go."""

    life_s: Seconds = USUAL_LIFE_S  # mean time between interruptions of one instance
    restart_s: Seconds = USUAL_RESTART_S  # paid, from the new instance to its first answer
    drain_s: Seconds = USUAL_DRAIN_S  # notice in which answers may be finished
    answer_s: Seconds = USUAL_DRAIN_S  # mean time of one answer

    def __post_init__(self) -> None:
        if self.life_s <= 0 or min(self.restart_s, self.drain_s, self.answer_s) < 0:
            raise InvalidQuantityError(
                "An instance's life must be above zero, restart and drain not below.",
                remedy="Give --spot-life 24h --restart-time 8min --drain-time 0s, for example.",
            )

    @property
    def lost_s(self) -> float:
        """Return the work that an interruption undoes: half an answer less the notice."""
        return max(0.0, self.answer_s / 2 - self.drain_s)

    @property
    def useful_share(self) -> float:
        """Return the part of the paid time that does work that is kept; 0 if none is left."""
        return max(0.0, 1 - (self.restart_s + self.lost_s) / self.life_s)

    @property
    def interruptions_per_day(self) -> float:
        """Return how often one instance is taken away in a day."""
        return 86_400.0 / self.life_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Live traffic on demand, work that can wait on spot, against all of it on demand."""

    batch_share: float
    live_instances: int
    spot_instance_hours_per_day: float
    all_on_demand_usd_per_month: float
    mix_usd_per_month: float

    @property
    def saves_usd_per_month(self) -> float:
        """Return what the mix saves; below zero where it costs more."""
        return self.all_on_demand_usd_per_month - self.mix_usd_per_month


def mix_of(
    *,
    batch_share: float,
    instances_of_work: float,
    on_demand_usd_per_hour: float,
    spot_usd_per_hour: float,
    risk: SpotRisk,
) -> Mix | None:
    """Return a mix, None if interruptions leave spot no time for work.

    `instances_of_work` is what the whole load keeps busy, a fraction included. On-demand
    instances are rented whole and always; spot hours are what the batch work takes, divided by
    the useful share. Leaves out that spot stock may be missing: batch work then waits.
    """
    if risk.useful_share <= 0:
        return None
    live = (1 - batch_share) * instances_of_work
    whole = ceil(live - 1e-9)
    room = whole - live  # live instances that idle take batch work first
    left = max(0.0, batch_share * instances_of_work - room)
    hours = left * 24 / risk.useful_share
    month = 730.0
    return Mix(
        batch_share=batch_share,
        live_instances=whole,
        spot_instance_hours_per_day=hours,
        all_on_demand_usd_per_month=(
            ceil(instances_of_work - 1e-9) * on_demand_usd_per_hour * month
        ),
        mix_usd_per_month=whole * on_demand_usd_per_hour * month
        + hours * spot_usd_per_hour * month / 24,
    )


def break_even_life_s(
    *, on_demand_usd_per_hour: float, spot_usd_per_hour: float, risk: SpotRisk
) -> float | None:
    """Return the life between interruptions at which spot costs as much for work that is kept.

    `p_spot / (1 − lost / L) = p` gives `L = lost · p / (p − p_spot)`; None if spot is not cheaper.
    """
    gain = on_demand_usd_per_hour - spot_usd_per_hour
    if gain <= 0:
        return None
    return (risk.restart_s + risk.lost_s) * on_demand_usd_per_hour / gain


def life_text(seconds: float) -> str:
    """Return a life in hours or minutes."""
    hours = seconds / SECONDS_PER_HOUR
    return f"{hours:,.1f} h" if hours >= 1 else f"{seconds / 60:,.0f} min"
