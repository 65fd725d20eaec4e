"""From a complete question to a report: search, rank, and put the best into rows."""

from datetime import date
from decimal import Decimal

from caudal.fit.budget import MemoryBudget, memory_budget
from caudal.offers.book import OfferBook
from caudal.offers.offer import Age, Offer
from caudal.plan.candidate import Candidate
from caudal.plan.cost import full_price
from caudal.plan.currency import offers_at
from caudal.plan.gates import Gates
from caudal.plan.operation import operation_of, tokens_per_month
from caudal.plan.question import Question
from caudal.plan.ranking import Choice, Ranking, choice_of, rank
from caudal.plan.report import Considered, Gate, Memory, Operation, PlanReport, PlanRow, Price
from caudal.plan.search import GpuRow, Search
from caudal.plan.use import Use
from caudal.plan.verification import Verified, verified
from caudal.plan.warnings import row_warnings
from caudal.simulate.compiled import is_compiled
from caudal.traffic.workload import Workload
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.money import UsdPerMillionTokens, UsdPerMonth, cents

MILLION = Decimal(1_000_000)
NOT_SIMULATED = (
    "latencies rest on closed forms: the simulator that checks them is built by a C compiler "
    "when Caudal is installed, and there was none"
)
SIMULATED_ROWS = 10  # chosen: what a screen shows; each takes about 10 ms


def plan_deployment(
    question: Question, *, book: OfferBook, today: date, simulated: int = SIMULATED_ROWS
) -> PlanReport:
    """Return the cheapest ways to serve, ranked by full price, and why the others fell.

    The first `simulated` rows are tried under simulated load before they are shown.
    A report without rows is an answer: its `binding_gate` names what stood in the way.
    """
    offers = offers_at(book.select(question.offers), question.rates)
    gates = Gates()
    search = Search(question, gates, _gpu_rows(question, offers))
    search.run()
    ranking = rank(
        search.found,
        offers,
        gates=gates,
        budget_usd=_as_float(question.budget_usd_per_month),
        use=question.use,
    )
    best = verified(
        ranking,
        model=question.model,
        workload=question.workload,
        slo=question.slo,
        most=question.top,
        simulated=simulated,
        gate=gates[Gate.SIMULATION],
    )
    rows = tuple(_row(number, way, question, today) for number, way in enumerate(best, start=1))
    return PlanReport(
        model=question.model,
        workload=question.workload,
        slo=question.slo,
        rows=rows,
        gates=gates.reports(),
        considered=Considered(
            shapes=search.shapes,
            gpus=len(search.rows),
            candidates=search.pairs,
            priced=ranking.priced,
            offers=len(offers),
        ),
        assumptions=(*question.workload.assumptions, *question.assumptions),
        notes=(
            *question.notes,
            *_simulation_notes(rows),
            *_price_notes(rows),
            *_term_notes(ranking, rows, question.use),
        ),
        longest_tokens=question.workload.longest_tokens,
        use=question.use,
        oldest_price_days=max((row.price.age_days for row in rows), default=None),
    )


def _as_float(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _gpu_rows(question: Question, offers: tuple[Offer, ...]) -> tuple[GpuRow, ...]:
    """Return every GPU asked about once; a GPU wished for twice may have either's counts."""
    cheapest: dict[str, float] = {}
    for offer in offers:
        price = float(offer.price_usd_per_gpu_hour)
        cheapest[offer.gpu_id] = min(price, cheapest.get(offer.gpu_id, price))
    totals: dict[str, tuple[int, ...] | None] = {}
    specs = {}
    for wish in question.gpus:
        for spec in wish.specs:
            specs[spec.id] = spec
            before = totals.get(spec.id, ())
            totals[spec.id] = (
                None
                if wish.counts is None or before is None
                else tuple(sorted({*before, *wish.counts}))
            )
    return tuple(
        GpuRow(spec, totals[gpu_id], cheapest.get(gpu_id, float("inf")))
        for gpu_id, spec in specs.items()
    )


def _row(number: int, way: Verified, question: Question, today: date) -> PlanRow:
    choice = choice_of(way.hosted)
    candidate = choice.candidate
    operation = operation_of(
        candidate,
        question.workload,
        question.slo,
        way.simulation,
        model_id=question.model.id,
    )
    budget = memory_budget(
        question.model,
        candidate.shape.serving,
        candidate.gpu,
        context_tokens=question.workload.longest_tokens,
        concurrency=1,
    )
    price = _price(choice, operation, question, today)
    memory = _memory(candidate, budget, question.workload)
    return PlanRow(
        rank=number,
        gpu=candidate.gpu,
        serving=candidate.shape.serving,
        support=candidate.support,
        memory=memory,
        operation=operation,
        price=price,
        warnings=row_warnings(candidate, price, memory, operation),
    )


def _memory(candidate: Candidate, budget: MemoryBudget, workload: Workload) -> Memory:
    needs, pool = candidate.shape.needs, budget.kv_pool_bytes
    length = workload.sequence_tokens
    held = pool.rising(lambda size: needs.kv.sequences(size, tokens=length))
    most = float(candidate.shape.serving.sequences)
    return Memory(
        usable_bytes=Estimate.exact(budget.usable_bytes),
        weights_bytes=needs.weights,
        kv_pool_bytes=pool,
        other_bytes=needs.activation + needs.graphs + needs.other,
        kv_bytes_per_token=needs.kv.request_bytes(length) / length,
        kv_tokens=held.rising(lambda sequences: sequences * length),
        concurrency=held.rising(lambda sequences: min(sequences, most)),
    )


def _price(choice: Choice, operation: Operation, question: Question, today: date) -> Price:
    hosting, offer = choice.hosting, choice.hosting.offer
    full = full_price(offer, question.use, instances=hosting.instances)
    per_month = UsdPerMonth(cents(full.usd_per_month))
    tokens = tokens_per_month(
        operation,
        question.workload,
        float(offer.month_hours),
        hours_per_day=float(question.use.hours_per_day),
    )
    return Price(
        offer=offer,
        age=offer.age(today),
        age_days=offer.age_days(today),
        instances=hosting.instances,
        gpus_paid=hosting.gpus_paid,
        usd_per_gpu_hour=offer.price_usd_per_gpu_hour,
        usd_per_hour=hosting.usd_per_hour,
        usd_per_month=per_month,
        usd_per_million_tokens=UsdPerMillionTokens(per_month * MILLION / Decimal(tokens)),
        full=full,
        same_price_regions=tuple(sorted({twin.region for twin in choice.twins} - {offer.region})),
    )


def _simulation_notes(rows: tuple[PlanRow, ...]) -> tuple[str, ...]:
    """Say what the latencies rest on, where all rows were tried under simulated load."""
    tried = [row for row in rows if row.operation.simulated is not None]
    if not tried:
        return () if is_compiled() or not rows else (NOT_SIMULATED,)
    which = "each row" if len(tried) == len(rows) else f"the first {len(tried)} rows"
    return (f"TTFT, TPOT and E2E of {which} are {tried[0].operation.simulated}",)


def _price_notes(rows: tuple[PlanRow, ...]) -> tuple[str, ...]:
    stale = sorted({row.price.age_days for row in rows if row.price.age is not Age.FRESH})
    if not stale:
        return ()
    span = f"{stale[0]} days" if len(stale) == 1 else f"{stale[0]} to {stale[-1]} days"
    return (f"some prices are {span} old: ask the provider before you commit",)


def _term_notes(ranking: Ranking, rows: tuple[PlanRow, ...], use: Use) -> tuple[str, ...]:
    """Say what the same costs without a commitment, where all rows ask for one."""
    if not rows or any(row.price.offer.term.is_metered for row in rows):
        return ()
    metered = next((hosted for hosted in ranking.first_of_each() if hosted.is_metered), None)
    if metered is None:
        return ()
    choice = choice_of(metered)
    offer = choice.hosting.offer
    price = full_price(offer, use, instances=choice.hosting.instances).usd
    note = (
        f"cheapest without a commitment: {choice.candidate.name} at {offer.provider} "
        f"{offer.region}, {offer.term}, ${price:,.0f} {use.period_text} (--term {offer.term})"
    )
    return (note,)
