"""When not to rent: plain advice against the deployment that was asked about, with the figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from caudal.plan.break_even import BreakEven
from caudal.plan.position import Bill
from caudal.plan.report import PlanRow
from caudal.vocabulary.units import GIB

# Chosen: below this share of a month's hours at work, paying for all of them is worth a word.
_BUSY_SHARE: Final = 0.5
# Chosen: a card of which more than half stays empty at this load is larger than needed.
_FULL_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One reason not to rent this, and what to do."""

    name: str
    sentence: str


def advice_against(
    bill: Bill, *, rows: Sequence[PlanRow], api: BreakEven | None, busy_hours_per_day: float
) -> tuple[Advice, ...]:
    """Return the reasons that apply, the dearest mistake first; none is an answer too.

    `rows` are the plan's other ways to serve, to name a cheaper card or one without a fast link.
    """
    return (
        *_below_the_api(api),
        *_bursty_on_a_term(bill, busy_hours_per_day),
        *_card_too_large(bill, rows),
        *_link_for_nothing(bill, rows),
    )


def _below_the_api(api: BreakEven | None) -> Iterator[Advice]:
    if api is None or api.value is None or api.yours is None or api.yours >= api.value:
        return
    yield Advice(
        name="below the API's break-even",
        sentence=(
            f"You have {api.yours / 1e6:,.1f} M {api.unit}, the break-even is at "
            f"{api.value / 1e6:,.0f} M: buy tokens from an API until you have "
            f"{api.value / api.yours:,.1f} times as many."
        ),
    )


def _bursty_on_a_term(bill: Bill, busy_hours: float) -> Iterator[Advice]:
    offer = bill.position.offer
    if offer.term.is_metered or busy_hours / 24 > _BUSY_SHARE:
        return
    yield Advice(
        name="bursty traffic on a termed card",
        sentence=(
            f"The work of a day takes {busy_hours:,.1f} h, the {offer.term} price pays for 24: "
            f"${bill.usd * (1 - busy_hours / 24):,.0f} of ${bill.usd:,.0f} {bill.period} are for "
            "idle hours. Look at --term hourly and --hours-per-day."
        ),
    )


def _card_too_large(bill: Bill, rows: Sequence[PlanRow]) -> Iterator[Advice]:
    candidate = bill.candidate
    usable = float(candidate.gpu.usable_bytes)
    needs = candidate.shape.needs
    workload = bill.position.workload
    batch = max(1.0, _batch_now(bill))
    kv = batch * needs.kv.request_bytes(workload.sequence_tokens)
    fixed = (needs.weights + needs.activation + needs.graphs + needs.other).value
    used = min(usable, fixed + kv)
    if used / usable > _FULL_SHARE:
        return
    smaller = [row for row in rows if row.gpu.usable_bytes < candidate.gpu.usable_bytes]
    best = _cheapest(smaller, below=bill.usd)
    if best is not None:
        yield Advice(
            name="a card larger than needed",
            sentence=(
                f"At this load {used / GIB:,.1f} of {usable / GIB:,.1f} GiB a GPU are used: "
                f"{_instead(best, bill)}"
            ),
        )


def _batch_now(bill: Bill) -> float:
    """Return the sequences that one replica decodes at once, by the share of its rate in use."""
    candidate, workload = bill.candidate, bill.position.workload
    if workload.users is not None:
        return workload.users / candidate.replicas
    if workload.rate is None:
        return candidate.batch
    return candidate.batch * min(1.0, workload.rate / candidate.replicas / candidate.largest_rate)


def _link_for_nothing(bill: Bill, rows: Sequence[PlanRow]) -> Iterator[Advice]:
    candidate = bill.candidate
    if candidate.shape.serving.layout.gpus > 1 or not candidate.gpu.has_fast_link:
        return
    best = _cheapest([row for row in rows if not row.gpu.has_fast_link], below=bill.usd)
    if best is not None:
        yield Advice(
            name="NVLink paid for nothing",
            sentence=f"One GPU a replica uses no link: {_instead(best, bill)}",
        )


def _cheapest(rows: Sequence[PlanRow], *, below: float) -> PlanRow | None:
    best = min(rows, key=lambda row: row.price.full.usd, default=None)
    return best if best is not None and float(best.price.full.usd) < below else None


def _instead(row: PlanRow, bill: Bill) -> str:
    return (
        f"{row.gpus} x {row.gpu.name} at {row.price.offer.provider} ({row.price.offer.term}) "
        f"serves for ${row.price.full.usd:,.0f} instead of ${bill.usd:,.0f} {bill.period}."
    )
