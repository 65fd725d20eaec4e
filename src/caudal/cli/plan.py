"""`caudal plan`: what to rent for a model and its traffic, cheapest first."""

from dataclasses import dataclass, replace
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, ModelSummary, model_options
from caudal.cli.offer_options import offer_options
from caudal.cli.offers import check_providers
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.plan_options import latency_options, traffic_options, wish_options
from caudal.cli.plan_text import explain_text, report_text
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.teaching import TaughtCommand
from caudal.documents.failure import ErrorBody
from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.offers.bundled import bundled_offers
from caudal.offers.query import OfferQuery
from caudal.plan.answer import plan_deployment
from caudal.plan.derivation import explain_row
from caudal.plan.question import Traffic, Wishes, build_question
from caudal.plan.report import Considered, DerivationStep, GateReport, PlanReport, PlanRow
from caudal.traffic.slo import Objective, Slo
from caudal.traffic.workload import Workload
from caudal.vocabulary.errors import InfeasibleError, InvalidInputError
from caudal.vocabulary.units import Tokens

USUAL_ENGINE: Final = "vllm"  # what most of the measured servers run


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


@click.command(
    "plan",
    cls=TaughtCommand,
    examples=(
        (
            (
                "caudal plan llama-3.1-70b --input 2000 --output 300 --rate 5/s "
                "--ttft-p95 1s --tpot-p95 50ms --region eu"
            ),
            "live traffic with latency bounds",
        ),
        (
            (
                "caudal plan ./my-model/ --users 40 --context 8k --precision fp8 "
                "--gpu H100:1..8 --term monthly"
            ),
            "forty users, one kind of GPU, by the month",
        ),
        ("caudal plan qwen3-32b --tokens-per-day 50M --batch", "work that may wait"),
        ("caudal plan --params 13B --rate 300/min --explain 1", "row 1 derived term by term"),
    ),
    notes=(
        HOW_MODELS_ARE_NAMED,
        HOW_QUANTITIES_ARE_WRITTEN,
        "Exit code 4 if nothing meets what was asked; the answer then says which gate binds.",
    ),
)
@model_options
@traffic_options
@latency_options
@wish_options
@offer_options
@click.option("--explain", type=click.IntRange(min=1), metavar="N", help="Derive row N.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def plan_command(
    context: click.Context,
    *,
    model: ModelSpec,
    traffic: Traffic,
    objectives: tuple[Objective, ...],
    wishes: Wishes,
    query: OfferQuery,
    explain: int | None,
    as_json: bool,
) -> None:
    """Rank the cheapest ways to serve MODEL within the SLO."""
    day = today()
    book = bundled_offers(today=day)
    check_providers(book, query)
    question = build_question(
        model,
        traffic,
        objectives,
        replace(wishes, offers=query),
        all_gpus=gpu_catalogue().all,
        usual_engine=engine(USUAL_ENGINE),
    )
    report = plan_deployment(question, book=book, today=day)
    failure = None if report.rows else failure_of(_nothing_serves(report))
    steps = () if explain is None or failure else explain_row(report, _row(report, explain))
    if as_json:
        print_document("plan", _document(report, steps, failure.body if failure else None))
    else:
        width = terminal_width()
        sections = [*report_text(report, width=width), *explain_text(steps, width=width)]
        print_sections(sections)
    if failure is not None:
        print_failure(failure, as_json=False)
        context.exit(failure.exit_code)


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


def _document(
    report: PlanReport, steps: tuple[DerivationStep, ...], error: ErrorBody | None
) -> PlanDocument:
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
        derivation=steps,
        error=error,
    )
