"""`caudal plan`: what to rent for a model and its traffic, cheapest first."""

import click

from caudal.cli.clock import today
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, model_options
from caudal.cli.offer_options import offer_options
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.plan_options import latency_options, traffic_options, wish_options
from caudal.cli.plan_text import explain_text, report_text
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.teaching import TaughtCommand
from caudal.documents.plan import PlanAsked, answer_plan
from caudal.facts.model import ModelSpec
from caudal.offers.bundled import bundled_offers
from caudal.offers.query import OfferQuery
from caudal.plan.question import Traffic, Wishes
from caudal.traffic.slo import Objective


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
    asked = PlanAsked(
        model=model,
        traffic=traffic,
        objectives=objectives,
        wishes=wishes,
        query=query,
        explain=explain,
    )
    answer = answer_plan(asked, book=bundled_offers(today=day), today=day)
    if as_json:
        print_document("plan", answer.document)
    else:
        width = terminal_width()
        sections = [
            *report_text(answer.report, width=width),
            *explain_text(answer.derivation, width=width),
        ]
        print_sections(sections)
    if answer.error is not None:
        failure = failure_of(answer.error)
        print_failure(failure, as_json=False)
        context.exit(failure.exit_code)
