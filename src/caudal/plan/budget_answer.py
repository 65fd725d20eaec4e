"""From a question to a budget: the plan's row, its bill, and every comparison with it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from math import ceil

from caudal.facts.gpu import GpuSpec
from caudal.offers.book import OfferBook
from caudal.offers.offer import Offer
from caudal.plan.answer import plan_deployment
from caudal.plan.break_even import BreakEven
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.cards import card_break_even, hourly_offers
from caudal.plan.comparisons import (
    Rents,
    answer_s,
    api_break_even,
    busy_hours_per_day,
    mix_at,
    mixes,
    rents_of,
    spot_break_evens,
    term_break_evens,
    zero_break_evens,
)
from caudal.plan.currency import offers_at
from caudal.plan.not_to_rent import advice_against
from caudal.plan.position import Bill, Position, bill_of
from caudal.plan.question import Question
from caudal.plan.redundancy import failure_rates, redundancies, redundancy_sentence
from caudal.plan.report import PlanReport, PlanRow
from caudal.plan.spot_tier import SpotRisk
from caudal.plan.tornado import tornado
from caudal.vocabulary.errors import InfeasibleError, InvalidInputError

_ROWS_COMPARED = 20  # chosen: a smaller card or one without NVLink is then most often among them


def plan_budget(
    question: Question,
    wishes: BudgetWishes,
    *,
    book: OfferBook,
    all_gpus: Sequence[GpuSpec],
    today: date,
) -> BudgetReport:
    """Return what the plan's row costs in this use, what moves that, and what to do instead.

    Raises:
        InfeasibleError: nothing serves as asked, or not at this utilisation.
        InvalidInputError: the plan has fewer rows.
        ContradictoryOptionsError: no amount of work is stated.
    """
    report = plan_deployment(
        replace(question, top=max(_ROWS_COMPARED, wishes.row)),
        book=book,
        today=today,
        simulated=wishes.row,
    )
    row = _row(report, wishes.row)
    bill = bill_of(_as_planned(_position(question, row, wishes), row))
    if bill is None:
        raise InfeasibleError(
            f"Row {wishes.row} does not serve at {wishes.utilisation:.0%} of what it can carry.",
            remedy="Raise --utilisation, or choose another --row.",
        )
    offers = offers_at(
        book.select(replace(question.offers, terms=None, fractions=False)), question.rates
    )
    return _report(bill, report, row, wishes, offers=offers, all_gpus=all_gpus)


def _report(
    bill: Bill,
    report: PlanReport,
    row: PlanRow,
    wishes: BudgetWishes,
    *,
    offers: Sequence[Offer],
    all_gpus: Sequence[GpuSpec],
) -> BudgetReport:
    risk = replace(wishes.risk, answer_s=answer_s(bill))
    rents = rents_of(bill, offers, report.rows)
    busy = busy_hours_per_day(bill)
    api = api_break_even(bill, cached_share=wishes.cached_share)
    offer = bill.position.offer
    rates = failure_rates(
        offer.gpu_count,
        failure_s=wishes.failure_s,
        repair_s=wishes.repair_s,
        region_availability=wishes.region_availability,
    )
    spares = redundancies(bill.price.instances, rates, usd_each=bill.usd / bill.price.instances)
    evens = [
        *term_break_evens(bill, rents),
        *spot_break_evens(rents, risk),
        *([] if api is None else [api]),
        *zero_break_evens(bill, rents, wishes, busy_hours=busy),
        *card_break_even(bill.position, hourly_offers(offers, all_gpus)),
    ]
    return BudgetReport(
        row=row,
        bill=bill,
        tornado=tornado(bill, rents.peers, spot=rents.spot_offer, risk=risk),
        failures=rates,
        redundancies=spares,
        redundancy_sentence=redundancy_sentence(spares, period=bill.period, days=bill.period_days),
        mix=mix_at(bill, rents, risk, share=wishes.batch_share) if wishes.batch_share else None,
        mix_curve=tuple(mixes(bill, rents, risk)),
        break_evens=tuple(evens),
        advice=advice_against(bill, rows=report.rows, api=api, busy_hours_per_day=busy),
        assumptions=tuple(_assumptions(bill, report, wishes, rates.basis, risk)),
        not_known=tuple(_not_known(bill, api=api, rents=rents)),
        notes=(*report.notes, *bill.price.notes),
    )


def _row(report: PlanReport, rank: int) -> PlanRow:
    if not report.rows:
        gate = report.binding_gate
        nearest = gate.nearest if gate else None
        raise InfeasibleError(
            f"Nothing serves {report.model.id} as asked"
            + (f": all candidates left fell at {gate.gate.value!r}" if gate else "")
            + ".",
            remedy=nearest.mend if nearest else "Widen the bounds; caudal plan shows the gates.",
        )
    found = next((row for row in report.rows if row.rank == rank), None)
    if found is None:
        raise InvalidInputError(
            f"There is no row {rank}: the plan has {len(report.rows)}.",
            remedy=f"Give --row a number from 1 to {len(report.rows)}.",
        )
    return found


def _position(question: Question, row: PlanRow, wishes: BudgetWishes) -> Position:
    return Position(
        model=question.model,
        serving=row.serving,
        gpu=row.gpu,
        offer=row.price.offer,
        workload=question.workload,
        slo=question.slo,
        use=question.use,
        utilisation=wishes.utilisation,
    )


def _as_planned(position: Position, row: PlanRow) -> Position:
    """Return the position that carries what the plan's row does, which may have been simulated."""
    plain = bill_of(replace(position, utilisation=1.0))
    if plain is None or plain.candidate.replicas == row.operation.replicas:
        return position
    largest, replicas = plain.candidate.largest_rate, row.operation.replicas
    carries = row.operation.largest_rate.value / replicas / largest
    rate = position.workload.rate
    if rate is not None and ceil(rate / (largest * carries) - 1e-9) != replicas:
        carries = rate / (largest * replicas)
    return replace(position, carries=carries)


def _assumptions(
    bill: Bill, report: PlanReport, wishes: BudgetWishes, failures: str, risk: SpotRisk
) -> Iterator[str]:
    yield from report.assumptions
    yield (
        f"throughput: {bill.candidate.largest_rate:.3g} requests/s a replica at most within the "
        f"latency bounds, of which {wishes.utilisation:.0%} are used at the busiest hour "
        "(--utilisation)"
    )
    yield (
        f"a replica at work spends {bill.day.prefill_share:.0%} of its time on prompts: that "
        "share of the bill is divided by the input tokens, the rest by the output tokens"
    )
    yield failures
    yield (
        f"a spot instance lives {risk.life_s / 3600:,.4g} h (--spot-life), takes "
        f"{risk.restart_s / 60:,.3g} min to serve again (--restart-time) and gives "
        f"{risk.drain_s:,.3g} s of notice (--drain-time)"
    )
    if not bill.position.use.data_out_bytes:
        yield "no data out is priced (--data-out 500GB)"
    if not bill.position.use.disk_bytes:
        yield "no disk is priced beyond what the instance holds (--disk 200GB)"


def _not_known(bill: Bill, *, api: BreakEven | None, rents: Rents) -> Iterator[str]:
    yield from bill.price.unknown
    if api is None:
        yield "what an API asks for this model or one of its class"
    if rents.spot_offer is None:
        yield f"a spot price of {bill.position.gpu.name} that holds such a replica"
