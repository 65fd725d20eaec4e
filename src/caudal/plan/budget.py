"""The five-step budget: tokens a day, GPU-hours, money, sensitivity, a spare node.

It needs no simulation, only a throughput that was measured or predicted, and says where the
money would move if the traffic were not as expected. `caudal.plan.answer` is the whole answer:
it knows latency, and that a GPU which is rented is paid for while it idles.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.money import Usd, UsdPerHour, UsdPerMillionTokens
from caudal.vocabulary.units import SECONDS_PER_HOUR, TokensPerSecond

HOURS_PER_DAY: Final = 24
DAYS_PER_MONTH: Final = 30  # as the 720 hours by which sellers of monthly terms divide
_MILLION: Final = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyDemand:
    """What one day asks for, and how fast one GPU works it off with the chosen model.

    Reading a prompt is far faster than writing an answer, so the two have a rate each; give the
    same rate twice where only one total is known.
    """

    requests_per_day: float
    input_tokens: float  # a request
    output_tokens: float  # a request
    input_tokens_per_s: TokensPerSecond  # one GPU
    output_tokens_per_s: TokensPerSecond  # one GPU
    price_usd_per_gpu_hour: UsdPerHour
    spare_nodes: int = 0
    gpus_per_node: int = 1

    def __post_init__(self) -> None:
        for name in (
            "requests_per_day",
            "input_tokens_per_s",
            "output_tokens_per_s",
            "price_usd_per_gpu_hour",
            "gpus_per_node",
        ):
            if not getattr(self, name) > 0:
                raise InvalidQuantityError(
                    f"{name} must be more than zero, not {getattr(self, name)}.",
                    remedy="Give a positive number.",
                )
        if min(self.input_tokens, self.output_tokens, self.spare_nodes) < 0:
            raise InvalidQuantityError(
                "Tokens and spare nodes cannot be negative.", remedy="Give zero or more."
            )
        if self.tokens_per_day <= 0:
            raise InvalidQuantityError(
                "A day without tokens needs no GPU.", remedy="Give input or output tokens."
            )

    @property
    def tokens_per_day(self) -> float:
        """Return the tokens of a day, prompts and answers together."""
        return self.requests_per_day * (self.input_tokens + self.output_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a day of this demand costs.

    `busy_usd_per_day` pays only the hours that are worked (metered, scaled to zero at once);
    `rented_usd_per_day` pays whole nodes around the clock, spares included.
    """

    tokens_per_day: float
    gpu_hours_per_day: float
    gpus: int  # whole nodes that work the day off, without spares
    gpus_with_spares: int
    busy_usd_per_day: Usd
    rented_usd_per_day: Usd

    @property
    def utilisation(self) -> float:
        """Return the share of the rented GPUs' time, spares included, that is worked."""
        return self.gpu_hours_per_day / (HOURS_PER_DAY * self.gpus_with_spares)

    @property
    def rented_usd_per_month(self) -> Usd:
        """Return the rent of thirty days."""
        return Usd(self.rented_usd_per_day * DAYS_PER_MONTH)

    @property
    def usd_per_million_tokens(self) -> UsdPerMillionTokens:
        """Return the rent, divided by the tokens that it really serves."""
        return UsdPerMillionTokens(
            self.rented_usd_per_day * _MILLION / Decimal(str(self.tokens_per_day))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """The budget with one thing changed by a factor, everything else as it was."""

    what: str
    factor: float
    budget: Budget
    busy_usd_per_day_change: Usd


def daily_budget(demand: DailyDemand) -> Budget:
    """Return GPU-hours and money for a day of `demand`.

    `gpu_hours = (input / input_rate + output / output_rate) / 3600`; nodes are rounded up to
    whole ones. Leaves out peaks within the day: where they matter, give the busiest hour's
    requests times 24.

    Source: a GPU cloud's guide, "¿Qué GPU deberías usar para la inferencia de LLM?", section
    "Un enfoque presupuestario" (its step 2 divides by tokens per second, which gives seconds).
    """
    seconds = demand.requests_per_day * (
        demand.input_tokens / demand.input_tokens_per_s
        + demand.output_tokens / demand.output_tokens_per_s
    )
    gpu_hours = seconds / SECONDS_PER_HOUR
    nodes = max(1, math.ceil(gpu_hours / HOURS_PER_DAY / demand.gpus_per_node))
    with_spares = (nodes + demand.spare_nodes) * demand.gpus_per_node
    return Budget(
        tokens_per_day=demand.tokens_per_day,
        gpu_hours_per_day=gpu_hours,
        gpus=nodes * demand.gpus_per_node,
        gpus_with_spares=with_spares,
        busy_usd_per_day=Usd(Decimal(str(gpu_hours)) * demand.price_usd_per_gpu_hour),
        rented_usd_per_day=Usd(with_spares * HOURS_PER_DAY * demand.price_usd_per_gpu_hour),
    )


def sensitivity(demand: DailyDemand, *, factors: Iterable[float] = (0.5, 2.0)) -> tuple[Swing, ...]:
    """Return what happens to the budget when one thing at a time is multiplied by each factor.

    Varied are prompt length, answer length, requests and throughput; largest change first.
    Leaves out that longer contexts also slow each token down: give `daily_budget` the slower
    rate to see that.
    """
    before = daily_budget(demand).busy_usd_per_day
    swings = [
        Swing(
            what=what,
            factor=factor,
            budget=budget,
            busy_usd_per_day_change=Usd(budget.busy_usd_per_day - before),
        )
        for factor in factors
        for what, changed in _varied(demand, factor)
        for budget in (daily_budget(changed),)
    ]
    return tuple(sorted(swings, key=lambda swing: -abs(swing.busy_usd_per_day_change)))


def _varied(demand: DailyDemand, factor: float) -> tuple[tuple[str, DailyDemand], ...]:
    return (
        ("input tokens", replace(demand, input_tokens=demand.input_tokens * factor)),
        ("output tokens", replace(demand, output_tokens=demand.output_tokens * factor)),
        ("requests", replace(demand, requests_per_day=demand.requests_per_day * factor)),
        (
            "throughput",
            replace(
                demand,
                input_tokens_per_s=TokensPerSecond(demand.input_tokens_per_s * factor),
                output_tokens_per_s=TokensPerSecond(demand.output_tokens_per_s * factor),
            ),
        ),
    )
