"""`caudal simulate`: run written scenarios and say how each went."""

import click

from caudal.cli.output import print_document, print_heading, print_sections, terminal_width
from caudal.cli.plot_option import check_plot, plot_option, write_figure
from caudal.cli.progress import ProgressBar
from caudal.cli.quantity_types import RATE
from caudal.cli.scenario_files import scenario_from_file
from caudal.cli.simulate_text import comparison_table, run_sections
from caudal.cli.teaching import TaughtCommand
from caudal.documents.simulation import RunDocument, SimulateDocument, run_document
from caudal.simulate.run import Simulation, simulate
from caudal.simulate.scenario import MOST_REQUESTS
from caudal.vocabulary.units import RequestsPerSecond


@click.command(
    "simulate",
    cls=TaughtCommand,
    examples=(
        ("caudal simulate chat.toml", "latency, goodput and queue of one scenario"),
        ("caudal simulate two.toml three.toml --compare", "side by side, on the same requests"),
        ("caudal simulate chat.toml --rate 8/s --plot chat.svg", "at another rate, drawn"),
    ),
    notes=(
        (
            "A scenario names model, replica, deployment, load and SLO; docs/how-to/simulate.md "
            "has an example of each. The same file and seed give the same bytes."
        ),
        (
            "Latency is stated with the 95 % interval of its sampling, which says nothing of how "
            "well step times are known. Where the queue grows without end there is none."
        ),
    ),
)
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO.toml...")
@click.option("--compare", is_flag=True, help="One table, a column for each scenario.")
@click.option(
    "--requests", type=click.IntRange(100, MOST_REQUESTS), help="Instead of the scenario's number."
)
@click.option("--seed", type=click.IntRange(0, 2**31), help="Instead of the scenario's seed.")
@click.option("--rate", type=RATE, help="Instead of the scenario's rate: 8/s.")
@plot_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def simulate_command(
    *,
    scenarios: tuple[str, ...],
    compare: bool,
    requests: int | None,
    seed: int | None,
    rate: RequestsPerSecond | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Run written scenarios under load and say how each went."""
    check_plot(plot)
    asked = [
        scenario_from_file(name, requests=requests, seed=seed, rate=rate) for name in scenarios
    ]
    runs: dict[str, Simulation] = {}
    shown: list[RunDocument] = []
    for scenario in asked:
        bar = ProgressBar(scenario.name)
        run = simulate(
            scenario.deployment,
            scenario.load,
            requests=scenario.requests,
            seed=scenario.seed,
            slo=scenario.slo,
            warm_up=scenario.warm_up,
            narrow=scenario.narrow,
            progress=bar,
        )
        bar.finish()
        name = scenario.name if scenario.name not in runs else f"{scenario.name} ({len(runs) + 1})"
        runs[name] = run
        shown.append(run_document(scenario, run))
    if as_json:
        print_document("simulate", SimulateDocument(runs=tuple(shown)))
    else:
        _print(shown, compare=compare)
    if plot is not None:
        from caudal.figures.load import runs_figure  # noqa: PLC0415 - only where it is drawn

        write_figure(runs_figure(runs), plot)


def _print(shown: list[RunDocument], *, compare: bool) -> None:
    width = terminal_width()
    if compare:
        print_heading("Simulated on the same seed")
        print_sections([("", comparison_table(shown, width=width))])
        return
    for at, run in enumerate(shown):
        if at:
            click.echo()
        print_sections(run_sections(run, width=width))
