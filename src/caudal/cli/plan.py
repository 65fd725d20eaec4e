"""`caudal plan`: what to rent for a model and its traffic, cheapest first."""

from dataclasses import replace
from datetime import date
from typing import Final

import click

from caudal.cli.clock import today
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, model_options
from caudal.cli.offer_options import database_option, offer_options
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.plan_options import latency_options, traffic_options, wish_options
from caudal.cli.plan_text import explain_text, report_text
from caudal.cli.plot_option import check_plot, plot_option, write_figure
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.teaching import TaughtCommand
from caudal.cli.use_options import exchange_rates_given, use_options
from caudal.documents.plan import PlanAsked, answer_plan
from caudal.facts.model import ModelSpec
from caudal.offers.book import OfferBook
from caudal.offers.known import known_offers
from caudal.offers.query import OfferQuery
from caudal.plan.question import Traffic, Wishes
from caudal.plan.use import Use
from caudal.traffic.slo import Objective

ROWS_DRAWN: Final = 40  # chosen: a front is seen among many rows, not among the ten printed


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
        (
            "caudal plan llama-3.1-8b --rate 2/s --hours-per-day 10 --plot front.svg",
            "priced for ten hours a day, cost against TTFT and throughput drawn",
        ),
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
@use_options
@database_option
@click.option("--explain", type=click.IntRange(min=1), metavar="N", help="Derive row N.")
@plot_option
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
    use: Use,
    database: str | None,
    explain: int | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Rank the cheapest ways to serve MODEL within the SLO."""
    check_plot(plot)
    day = today()
    book = known_offers(today=day, database=database)
    asked = PlanAsked(
        model=model,
        traffic=traffic,
        objectives=objectives,
        wishes=replace(wishes, use=use, rates=exchange_rates_given(context)),
        query=query,
        explain=explain,
    )
    answer = answer_plan(asked, book=book, today=day)
    if plot is not None and answer.report.rows:
        _draw(asked, plot, book=book, day=day)
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


def _draw(asked: PlanAsked, name: str, *, book: OfferBook, day: date) -> None:
    """Draw the front over more rows than are printed."""
    from caudal.figures.plan import plan_figure  # noqa: PLC0415 - only where it is drawn

    many = replace(asked.wishes, top=max(ROWS_DRAWN, asked.wishes.top))
    answer = answer_plan(replace(asked, wishes=many, explain=None), book=book, today=day)
    write_figure(plan_figure(answer.report), name)
