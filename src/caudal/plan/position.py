"""A deployment on an offer under a load, and its whole bill: what a budget varies and compares."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.fit.serving import Serving
from caudal.offers.hosting import hosting_cost, hosting_problem
from caudal.offers.offer import Offer
from caudal.plan.candidate import Candidate
from caudal.plan.cost import FullPrice, full_price
from caudal.plan.shapes import possible_layouts
from caudal.plan.single import candidate_of
from caudal.plan.token_money import Day, TokenPrices, day_of, token_prices
from caudal.plan.use import Use
from caudal.traffic.slo import Slo
from caudal.traffic.workload import Workload

# Whole nodes are divided into halves: the sizes that offers sell.
_REPLICA_SIZES = frozenset({1, 2, 4, 8})


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What is served how, where and under which load."""

    model: ModelSpec
    serving: Serving
    gpu: GpuSpec
    offer: Offer
    workload: Workload
    slo: Slo
    use: Use
    utilisation: float = 1.0  # of what the SLO allows, at the busiest hour
    carries: float = 1.0  # of the steady state's rate, where a simulation knows better


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a position costs, and what it does for that."""

    position: Position
    candidate: Candidate
    price: FullPrice
    day: Day
    tokens: TokenPrices

    @property
    def usd(self) -> float:
        """Return the bill of the period."""
        return float(self.price.usd)

    @property
    def period(self) -> str:
        """Return the period as sentences end with it: "a month" or "in 7 days"."""
        return self.position.use.period_text

    @property
    def period_days(self) -> float:
        """Return the days of the period; a month is as long as the offer's."""
        return float(self.price.period_hours) / 24

    @property
    def usd_per_hour(self) -> float:
        """Return the list price of an hour of all instances."""
        return float(self.position.offer.usd_per_hour) * self.price.instances

    @property
    def capacity_tokens_per_day(self) -> float:
        """Return the tokens of a day in which every replica is as full as is allowed."""
        workload, use = self.position.workload, self.position.use
        rate = self.candidate.largest_rate * self.candidate.replicas * self.position.utilisation
        return rate * workload.sequence_tokens * float(use.hours_per_day) * 3600


def bill_of(position: Position) -> Bill | None:
    """Return the bill of a position, None where it does not serve or the offer cannot hold it."""
    candidate = candidate_of(
        position.model,
        position.serving,
        position.gpu,
        workload=position.workload,
        slo=position.slo,
        utilisation=position.utilisation,
        carries=position.carries,
    )
    size = position.serving.layout.gpus
    if candidate is None or hosting_problem(position.offer, gpus_per_replica=size):
        return None
    hosting = hosting_cost(position.offer, gpus_per_replica=size, replicas=candidate.replicas)
    if hosting.exceeds_stock:
        return None
    price = full_price(position.offer, position.use, instances=hosting.instances)
    share = float(price.billed_hours / price.period_hours)
    day = day_of(
        candidate,
        position.workload,
        utilisation=position.utilisation,
        hours_per_day=float(position.use.hours_per_day),
        gpu_hours_rented=hosting.gpus_paid * share * 24,
    )
    return Bill(
        position=position,
        candidate=candidate,
        price=price,
        day=day,
        tokens=token_prices(float(price.usd_per_day), day),
    )


def settled(position: Position, offers: Iterable[Offer]) -> Bill | None:
    """Return the cheapest bill with layout and instance chosen anew, all else as it stands.

    The position's own layout and offer are tried too, so a settled bill is never dearer.
    """
    engine = position.serving.engine
    layouts = {position.serving.layout, *possible_layouts(_REPLICA_SIZES, engine)}
    instances = _cheapest_of_each_size((position.offer, *offers))
    bills = []
    for layout in sorted(layouts, key=_layout_order):
        if layout.pipeline > 1 and layout != position.serving.layout:
            continue
        changed = replace(position, serving=replace(position.serving, layout=layout))
        for offer in instances:
            bill = bill_of(replace(changed, offer=offer))
            if bill is not None:
                bills.append(bill)
    return min(bills, key=lambda bill: bill.usd, default=None)


def _cheapest_of_each_size(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    best: dict[int, Offer] = {}
    for offer in offers:
        known = best.get(offer.gpu_count)
        if known is None or offer.price_usd_per_gpu_hour < known.price_usd_per_gpu_hour:
            best[offer.gpu_count] = offer
    return tuple(best.values())


def _layout_order(layout: Layout) -> tuple[int, int]:
    return (layout.gpus, layout.pipeline)
