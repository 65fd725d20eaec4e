"""What a budget says, and what may be asked of it."""

from dataclasses import dataclass, field

from caudal.plan.break_even import BreakEven
from caudal.plan.not_to_rent import Advice
from caudal.plan.position import Bill
from caudal.plan.redundancy import FailureRates, Redundancy
from caudal.plan.report import PlanRow
from caudal.plan.spot_tier import Mix, SpotRisk
from caudal.plan.tornado import Tornado
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetWishes:
    """How the money is to be reckoned; the defaults take the plan's first row."""

    row: int = 1  # of the plan
    utilisation: float = 1.0  # of what the SLO allows, at the busiest hour
    risk: SpotRisk = field(default_factory=SpotRisk)
    batch_share: float = 0.0  # of the traffic that can wait
    cached_share: float = 0.0  # of the input that an API has cached
    starts_per_day: float = 8.0  # scaling to zero; chosen: about one an hour of a working day
    cold_start_s: Seconds | None = None  # None: as long as a spot instance takes to restart
    failure_s: Seconds | None = None
    repair_s: Seconds | None = None
    region_availability: float | None = None

    def __post_init__(self) -> None:
        for name in ("utilisation", "batch_share", "cached_share", "region_availability"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise InvalidQuantityError(
                    f"{name.replace('_', ' ')} is {share}.", remedy="Give a share from 0 to 100%."
                )
        if self.utilisation == 0 or self.starts_per_day < 0 or self.row < 1:
            raise InvalidQuantityError(
                "Utilisation and row must be above zero, starts a day not below.",
                remedy="Leave them out for the usual values.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReport:
    """From tokens to money, what moves it, and when not to rent."""

    row: PlanRow  # of the plan that the budget is about
    bill: Bill
    tornado: Tornado
    failures: FailureRates
    redundancies: tuple[Redundancy, ...]
    redundancy_sentence: str
    mix: Mix | None  # where a part of the traffic can wait and there is a spot offer
    mix_curve: tuple[Mix, ...]  # over the share that can wait
    break_evens: tuple[BreakEven, ...]
    advice: tuple[Advice, ...]
    assumptions: tuple[str, ...]
    not_known: tuple[str, ...]
    notes: tuple[str, ...]
