"""What to rent for a model and its traffic: from what was asked to the document."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Final

from caudal.documents.failure import ErrorBody
from caudal.documents.models import ModelSummary
from caudal.documents.offers import check_providers
from caudal.facts.engines import engine, usual_engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format
from caudal.fit.speculation import Speculation
from caudal.offers.book import OfferBook
from caudal.offers.query import OfferQuery
from caudal.plan.answer import plan_deployment
from caudal.plan.derivation import explain_row
from caudal.plan.question import GpuWish, Traffic, Wishes, build_question
from caudal.plan.report import Considered, DerivationStep, GateReport, PlanReport, PlanRow
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.workload import Workload
from caudal.vocabulary.errors import InfeasibleError, InvalidInputError
from caudal.vocabulary.units import Seconds, Tokens

PERCENTILES: Final = (50, 90, 95, 99)  # that a bound may be asked for
MOST_ROWS: Final = 1000  # chosen: more rows than anyone reads


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """Ranked ways to serve, what was assumed, and why the other candidates fell."""

    model: ModelSummary
    workload: Workload
    slo: Slo
    rows: tuple[PlanRow, ...]
    gates: tuple[GateReport, ...]  # in the order they are passed
    binding_gate: GateReport | None  # where nothing was left, if there is no row
    considered: Considered
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    longest_tokens: Tokens  # that one sequence must be able to reach
    oldest_price_days: int | None
    derivation: tuple[DerivationStep, ...]  # of the row that --explain names
    error: ErrorBody | None  # why there is no row


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAsked:
    """A question as a door understood it: every name resolved, nothing filled in yet."""

    model: ModelSpec
    traffic: Traffic
    objectives: tuple[Objective, ...] = ()
    wishes: Wishes = field(default_factory=Wishes)  # its `offers` are those of `query`
    query: OfferQuery = field(default_factory=OfferQuery)
    explain: int | None = None  # the rank of the row to derive


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """The report, the derivation that was asked for, and the error if nothing serves."""

    report: PlanReport
    derivation: tuple[DerivationStep, ...]
    error: InfeasibleError | None

    @property
    def document(self) -> PlanDocument:
        """Return what a door shows."""
        report = self.report
        return PlanDocument(
            model=ModelSummary.of(report.model),
            workload=report.workload,
            slo=report.slo,
            rows=report.rows,
            gates=report.gates,
            binding_gate=report.binding_gate,
            considered=report.considered,
            assumptions=report.assumptions,
            notes=report.notes,
            longest_tokens=report.longest_tokens,
            oldest_price_days=report.oldest_price_days,
            derivation=self.derivation,
            error=None if self.error is None else ErrorBody.of(self.error),
        )


def answer_plan(asked: PlanAsked, *, book: OfferBook, today: date) -> PlanAnswer:
    """Return the cheapest ways to serve; without one, an error that names the binding gate.

    Raises:
        ContradictoryOptionsError, InvalidQuantityError: see `build_question`.
        UnknownProviderError: no offer is from a provider that was named.
        InvalidInputError: the row to explain does not exist.
    """
    check_providers(book, asked.query)
    question = build_question(
        asked.model,
        asked.traffic,
        asked.objectives,
        replace(asked.wishes, offers=asked.query),
        all_gpus=gpu_catalogue().all,
        usual_engine=usual_engine(asked.model),
    )
    report = plan_deployment(question, book=book, today=today)
    error = None if report.rows else _nothing_serves(report)
    steps: tuple[DerivationStep, ...] = ()
    if asked.explain is not None and error is None:
        steps = explain_row(report, _row(report, asked.explain))
    return PlanAnswer(report=report, derivation=steps, error=error)


def stated_objectives(bounds: Mapping[str, Seconds | None]) -> tuple[Objective, ...]:
    """Return the objectives of names such as `ttft_p95`, those that have a bound."""
    found = []
    for name, bound in bounds.items():
        if bound is not None:
            metric, percentile = name.split("_p")
            found.append(Objective(Metric(metric), int(percentile) / 100, bound))
    return tuple(found)


def stated_wishes(
    *,
    gpus: Iterable[str] = (),
    precisions: tuple[str, ...] = (),
    kv_precisions: Iterable[str] = (),
    engine_names: Iterable[str] = (),
    budget: Decimal | None = None,
    top: int = 10,
    speculation: Speculation | None = None,
) -> Wishes:
    """Return what was added to the question, every name resolved.

    Raises:
        UnknownGpuError, UnknownPrecisionError, UnknownEngineError: with the nearest names.
    """
    choices = [gpu_catalogue().resolve(name) for name in gpus]
    return Wishes(
        gpus=tuple(GpuWish(specs=choice.specs, counts=choice.counts) for choice in choices),
        precisions=precisions,
        kv_precisions=tuple(dict.fromkeys(kv_format(name).name for name in kv_precisions)),
        engines=tuple(engine(name) for name in engine_names),
        budget_usd_per_month=budget,
        top=top,
        speculation=speculation,
        notes=tuple(dict.fromkeys(choice.note for choice in choices if choice.note)),
    )


def _row(report: PlanReport, rank: int) -> PlanRow:
    """Return the row of this rank.

    Raises:
        InvalidInputError: the plan has fewer rows.
    """
    found = next((row for row in report.rows if row.rank == rank), None)
    if found is None:
        raise InvalidInputError(
            f"There is no row {rank} to explain: the plan has {len(report.rows)}.",
            remedy=f"Give --explain a number from 1 to {len(report.rows)}, or a larger --top.",
        )
    return found


def _nothing_serves(report: PlanReport) -> InfeasibleError:
    """Return the error for a plan without rows: the gate that binds, and what would mend it."""
    gate = report.binding_gate
    looked = report.considered
    if gate is None:
        return InfeasibleError(
            f"None of {looked.candidates:,} candidates serves {report.model.id} as asked.",
            remedy="Widen the latency bounds, the GPUs or the offers asked for.",
        )
    problem = (
        f"Nothing serves {report.model.id} as asked: all {gate.fell:,} candidates left fell at "
        f"the gate {gate.gate.value!r}."
    )
    if gate.nearest is None:
        return InfeasibleError(problem, remedy="Widen what that gate checks.")
    nearest = gate.nearest
    return InfeasibleError(
        f"{problem} Nearest: {nearest.candidate}: {nearest.reason}.", remedy=nearest.mend
    )
