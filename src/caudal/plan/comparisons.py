"""A bill beside other ways to pay for the same: by the hour, on spot, at an API, not at night."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from caudal.facts.api_prices import prices_for
from caudal.offers.hosting import hosting_problem
from caudal.offers.offer import Offer, Term
from caudal.plan.break_even import (
    BreakEven,
    own_against_api,
    spot_against_on_demand,
    term_against_hourly,
    zero_against_always_on,
)
from caudal.plan.budget_report import BudgetWishes
from caudal.plan.cost import full_price
from caudal.plan.position import Bill
from caudal.plan.report import PlanRow
from caudal.plan.spot_tier import Mix, SpotRisk, mix_of
from caudal.plan.use import Use
from caudal.traffic.workload import Mode
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rent:
    """A way to rent what carries the same load."""

    name: str
    offer: Offer
    usd_per_hour: float  # of the whole deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class Rents:
    """The ways to rent that a bill is compared with; None where no offer is known.

    `hourly` is of the same card or, where that is not sold by the hour, of the plan's cheapest
    deployment that is.
    """

    peers: tuple[Offer, ...]  # of the same card, provider and term
    same_card_hourly: Rent | None
    hourly: Rent | None
    monthly: Rent | None
    spot: Rent | None

    @property
    def spot_offer(self) -> Offer | None:
        """Return the interruptible offer of the same card."""
        return None if self.spot is None else self.spot.offer


def rents_of(bill: Bill, offers: Sequence[Offer], rows: Sequence[PlanRow]) -> Rents:
    """Return the cheapest way to rent on each term."""
    own = bill.position.offer
    same = [offer for offer in offers if offer.gpu_id == own.gpu_id]
    by_term = {
        term: _rent(bill, [offer for offer in same if offer.term is term])
        for term in (Term.HOURLY, Term.MONTHLY, Term.SPOT)
    }
    hourly = by_term[Term.HOURLY]
    return Rents(
        peers=tuple(o for o in same if o.provider == own.provider and o.term is own.term),
        same_card_hourly=hourly,
        hourly=hourly or _other_card(rows),
        monthly=by_term[Term.MONTHLY],
        spot=by_term[Term.SPOT],
    )


def _rent(bill: Bill, offers: Sequence[Offer]) -> Rent | None:
    """Return the offer that carries the same replicas for least, None where none can."""
    size, replicas = bill.position.serving.layout.gpus, bill.candidate.replicas
    rents = [
        Rent(
            name=f"{offer.provider} {offer.term}",
            offer=offer,
            usd_per_hour=-(-replicas // (offer.gpu_count // size)) * float(offer.usd_per_hour),
        )
        for offer in offers
        if hosting_problem(offer, gpus_per_replica=size) is None
    ]
    return min(rents, key=lambda rent: rent.usd_per_hour, default=None)


def _other_card(rows: Sequence[PlanRow]) -> Rent | None:
    metered = [row for row in rows if row.price.offer.term is Term.HOURLY]
    best = min(metered, key=lambda row: row.price.usd_per_hour, default=None)
    if best is None:
        return None
    price = best.price
    return Rent(
        name=f"{best.gpus} x {best.gpu.name} at {price.offer.provider} by the hour",
        offer=price.offer,
        usd_per_hour=float(price.usd_per_hour),
    )


def busy_hours_per_day(bill: Bill) -> float:
    """Return the hours of a day in which work comes.

    Live traffic that peaks at P times its mean would come in 24 / P hours at the peak's rate;
    work that can wait takes the hours that it keeps the deployment busy.
    """
    workload, served = bill.position.workload, float(bill.position.use.hours_per_day)
    if workload.mode is Mode.BATCH:
        return min(served, bill.day.gpu_hours_worked / bill.candidate.gpus)
    if workload.mean_rate is None or not workload.rate:
        return served
    return min(served, 24 * workload.mean_rate / workload.rate)


def answer_s(bill: Bill) -> Seconds:
    """Return the mean time of one answer at the batch that is allowed."""
    curve, at = bill.candidate.curve, bill.candidate.batch
    index = int(abs(curve.batches - at).argmin())
    tokens = bill.position.workload.output_tokens
    return Seconds(float(curve.prompt_s[index] + curve.tpot_s[index] * tokens))


def term_break_evens(bill: Bill, rents: Rents) -> Iterator[BreakEven]:
    """Yield the hours from which the term is cheaper than paying by the hour."""
    own, termed = bill.position.offer, rents.monthly
    if not own.term.is_metered:
        termed = Rent(name=f"{own.provider} {own.term}", offer=own, usd_per_hour=bill.usd_per_hour)
    if termed is None or rents.hourly is None:
        return
    hours = float(termed.offer.hours_per_unit)
    used = float(bill.price.used_hours)
    if bill.position.use.days is None:
        used *= hours / float(bill.price.period_hours)
    yield term_against_hourly(
        term=termed.name,
        term_usd=termed.usd_per_hour * hours,
        term_hours=hours,
        hourly=rents.hourly.name,
        hourly_usd_per_hour=rents.hourly.usd_per_hour,
        used_hours=min(used, hours),
    )


def spot_break_evens(rents: Rents, risk: SpotRisk) -> Iterator[BreakEven]:
    """Yield the life from which spot is cheaper than on demand, both of the same card."""
    if rents.same_card_hourly is not None and rents.spot is not None:
        yield spot_against_on_demand(
            on_demand_usd_per_hour=rents.same_card_hourly.usd_per_hour,
            spot_usd_per_hour=rents.spot.usd_per_hour,
            risk=risk,
        )


def api_break_even(bill: Bill, *, cached_share: float) -> BreakEven | None:
    """Return the tokens at which the rental costs what an API would, None if no price is known."""
    days = bill.period_days
    return own_against_api(
        own_usd=float(bill.price.usd_before_tax),
        prices=prices_for(bill.position.model),
        input_tokens=bill.day.input_tokens * days,
        output_tokens=bill.day.output_tokens * days,
        capacity_tokens=bill.capacity_tokens_per_day * days,
        period=bill.period,
        cached_share=cached_share,
    )


def zero_break_evens(
    bill: Bill, rents: Rents, wishes: BudgetWishes, *, busy_hours: float
) -> Iterator[BreakEven]:
    """Yield the busy hours a day up to which stopping in between is cheaper."""
    if rents.hourly is None:
        return
    whole = full_price(bill.position.offer, Use(), instances=bill.price.instances)
    cold = wishes.risk.restart_s if wishes.cold_start_s is None else wishes.cold_start_s
    yield zero_against_always_on(
        usd_per_hour=rents.hourly.usd_per_hour,
        always_usd_per_month=float(whole.usd_per_month),
        busy_hours_per_day=busy_hours,
        starts_per_day=wishes.starts_per_day,
        cold_start_s=cold,
        stopping=rents.hourly.name,
    )


def mixes(bill: Bill, rents: Rents, risk: SpotRisk) -> Iterator[Mix]:
    """Yield the mix of on-demand and spot for every tenth of the traffic that can wait."""
    for tenths in range(11):
        mix = mix_at(bill, rents, risk, share=tenths / 10)
        if mix is not None:
            yield mix


def mix_at(bill: Bill, rents: Rents, risk: SpotRisk, *, share: float) -> Mix | None:
    """Return the mix at one share; the work is what the busiest hour keeps busy."""
    hourly, spot = rents.same_card_hourly, rents.spot
    if hourly is None or spot is None:
        return None
    size = bill.position.serving.layout.gpus
    held = hourly.offer.gpu_count // size
    spot_each = float(spot.offer.usd_per_hour) / (spot.offer.gpu_count // size) * held
    return mix_of(
        batch_share=share,
        instances_of_work=bill.candidate.replicas * _fullness(bill) / held,
        on_demand_usd_per_hour=float(hourly.offer.usd_per_hour),
        spot_usd_per_hour=spot_each,
        risk=risk,
    )


def _fullness(bill: Bill) -> float:
    rate = bill.position.workload.rate
    if rate is None:
        return 1.0
    return min(1.0, rate / (bill.candidate.largest_rate * bill.candidate.replicas))
