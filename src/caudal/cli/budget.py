"""`caudal budget`: from tokens to money, what moves it, and when not to rent."""

from dataclasses import replace

import click

from caudal.cli.budget_options import budget_options, daily_options
from caudal.cli.budget_text import budget_text
from caudal.cli.clock import today
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, model_options
from caudal.cli.offer_options import database_option, offer_options
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.plan_options import latency_options, traffic_options, wish_options
from caudal.cli.plot_option import check_plot, plot_option, write_figure
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN
from caudal.cli.teaching import TaughtCommand
from caudal.cli.use_options import exchange_rates_given, use_options
from caudal.documents.budget import BudgetAsked, answer_budget
from caudal.facts.model import ModelSpec
from caudal.offers.known import known_offers
from caudal.offers.query import OfferQuery
from caudal.plan.budget_report import BudgetWishes
from caudal.plan.daily import with_daily_tokens
from caudal.plan.question import Traffic, Wishes
from caudal.plan.use import Use
from caudal.traffic.slo import Objective


@click.command(
    "budget",
    cls=TaughtCommand,
    examples=(
        (
            "caudal budget llama-3.1-70b --precision fp8 --input 2000 --output 300 --rate 5/s",
            "always on: the bill, what moves it, and what an API would ask",
        ),
        (
            "caudal budget llama-3.1-8b --tokens-per-day 2M --peak-factor 8 --plot budget.html",
            "bursty traffic, drawn on a page that works offline",
        ),
        (
            "caudal budget llama-3.1-405b --rate 1/s --days 7 --data-out 200GB --vat 19%",
            "a week, with data out and tax",
        ),
        (
            (
                "caudal budget qwen3-32b --input-per-day 40M --output-per-day 10M "
                "--hours-per-day 10 --term hourly --currency EUR --rate EUR=1.08"
            ),
            "ten hours a day, in euros at your own rate",
        ),
    ),
    notes=(
        HOW_MODELS_ARE_NAMED,
        HOW_QUANTITIES_ARE_WRITTEN,
        "What is not known is listed and is in no figure. Exit code 4 if nothing serves.",
    ),
)
@model_options
@traffic_options
@daily_options
@latency_options
@wish_options
@offer_options
@database_option
@use_options
@budget_options
@click.option("--currency", metavar="CODE", help="Show the bill in this currency too: EUR.")
@plot_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def budget_command(
    context: click.Context,
    *,
    model: ModelSpec,
    traffic: Traffic,
    daily: tuple[float | None, float | None],
    objectives: tuple[Objective, ...],
    wishes: Wishes,
    query: OfferQuery,
    database: str | None,
    use: Use,
    money: BudgetWishes,
    currency: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Turn MODEL and its traffic into money, and say what moves it."""
    check_plot(plot)
    day = today()
    asked = BudgetAsked(
        model=model,
        traffic=with_daily_tokens(traffic, input_per_day=daily[0], output_per_day=daily[1]),
        objectives=objectives,
        wishes=replace(wishes, use=use, rates=exchange_rates_given(context)),
        query=query,
        money=money,
        currency=currency,
    )
    report, document = answer_budget(
        asked, book=known_offers(today=day, database=database), today=day
    )
    if plot is not None:  # first, so that a reader who stops early still gets the file
        from caudal.figures.budget import budget_figure  # noqa: PLC0415 - only where it is drawn

        write_figure(budget_figure(report), plot)
    if as_json:
        print_document("budget", document)
    else:
        print_sections(budget_text(document, width=terminal_width()))
