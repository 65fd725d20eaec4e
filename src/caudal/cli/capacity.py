"""`caudal capacity`: the most that a deployment carries within its SLO, and the curve to it."""

from dataclasses import replace

import click

from caudal.cli.capacity_text import capacity_sections
from caudal.cli.failures import failure_of, print_failure
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.plan_options import latency_options
from caudal.cli.plot_option import check_plot, plot_option, write_figure
from caudal.cli.progress import ProgressBar
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN, LENGTH
from caudal.cli.scenario_files import scenario_from_file
from caudal.cli.teaching import TaughtCommand
from caudal.documents.simulation import capacity_document
from caudal.facts.models import resolve_model
from caudal.simulate.run import REQUESTS, SEED, Simulation
from caudal.simulate.scenario import MOST_REQUESTS, Scenario, read_scenario
from caudal.simulate.search import Capacity, find_capacity
from caudal.traffic.slo import Objective, Slo
from caudal.traffic.trace import Trace
from caudal.vocabulary.errors import ContradictoryOptionsError, InfeasibleError
from caudal.vocabulary.units import Tokens

_USUAL_TRIALS = 22  # how many runs a search takes, about: for the bar alone


@click.command(
    "capacity",
    cls=TaughtCommand,
    examples=(
        (
            "caudal capacity qwen3-32b --gpu H100 --input 2k --output 300 --ttft-p95 1s",
            "how many requests/s one replica carries",
        ),
        ("caudal capacity chat.toml --plot curve.svg", "a written scenario, and its curve"),
        (
            "caudal capacity llama-3.1-8b --gpu L4 --input 1k --output 200 --by-users",
            "how many users at once",
        ),
    ),
    notes=(
        (
            "TARGET is a model as caudal plan takes it, or a scenario file (.toml). Every rate is "
            "tried on the same requests; exit code 4 if no rate keeps the SLO."
        ),
        HOW_QUANTITIES_ARE_WRITTEN,
    ),
)
@click.argument("target", metavar="TARGET")
@click.option("--gpu", metavar="GPU", help="Of each replica: H100. Needed with a model.")
@click.option("--tp", type=click.IntRange(1, 1024), default=1, help="GPUs that share each layer.")
@click.option("--pp", type=click.IntRange(1, 1024), default=1, help="Stages that share the stack.")
@click.option("--replicas", type=click.IntRange(1, 1024), default=1, help="How many there are.")
@click.option("--precision", default="native", show_default=True, help="Of the weights: fp8.")
@click.option("--kv-precision", help="Of the KV cache: fp8. Default: as the checkpoint asks.")
@click.option("--engine", default="vllm", show_default=True, help='"vllm", "vllm 0.8", "sglang".')
@click.option("--input", "input_tokens", type=LENGTH, help="Mean tokens in: 2000, 2k.")
@click.option("--output", "output_tokens", type=LENGTH, help="Mean tokens out.")
@click.option(
    "--variation",
    type=click.FloatRange(0, 20),
    default=1.0,
    show_default=True,
    help="Of lengths: deviation over mean, lognormal; 0 for fixed ones.",
)
@click.option("--by-users", is_flag=True, help="Seek users at once, not a rate.")
@latency_options
@click.option(
    "--requests", type=click.IntRange(100, MOST_REQUESTS), help="Of each run. Default: 20,000."
)
@click.option("--seed", type=click.IntRange(0, 2**31), help="Default: 7.")
@plot_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def capacity_command(
    context: click.Context,
    *,
    target: str,
    gpu: str | None,
    tp: int,
    pp: int,
    replicas: int,
    precision: str,
    kv_precision: str | None,
    engine: str,
    input_tokens: Tokens | None,
    output_tokens: Tokens | None,
    variation: float,
    by_users: bool,
    objectives: tuple[Objective, ...],
    requests: int | None,
    seed: int | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Find the most that a deployment carries within the SLO."""
    check_plot(plot)
    if target.endswith(".toml"):
        scenario = scenario_from_file(target, requests=requests, seed=seed)
        if objectives:
            scenario = replace(scenario, slo=Slo(objectives))
    else:
        model = {"name": target, "precision": precision}
        if kv_precision is not None:
            model["kv_precision"] = kv_precision
        scenario = _stated(
            model,
            {"gpu": gpu, "tp": tp, "pp": pp, "engine": engine},
            replicas=replicas,
            lengths=(input_tokens, output_tokens),
            variation=variation,
            by_users=by_users,
        )
        scenario = replace(
            scenario,
            slo=Slo(objectives),
            requests=requests or REQUESTS,
            seed=SEED if seed is None else seed,
        )
    found = _search(scenario)
    document = capacity_document(scenario, found)
    if as_json:
        print_document("capacity", document)
    else:
        print_sections(capacity_sections(document, scenario.slo, width=terminal_width()))
    if plot is not None:
        from caudal.figures.load import capacity_figure  # noqa: PLC0415 - only where it is drawn

        write_figure(capacity_figure(found, scenario.slo), plot)
    if found.best is None:
        failure = failure_of(_nothing_kept(found))
        print_failure(failure, as_json=False)
        context.exit(failure.exit_code)


def _search(scenario: Scenario) -> Capacity:
    bar = ProgressBar("runs")

    def show(done: int, _: Simulation) -> None:
        bar(done, max(done, _USUAL_TRIALS))

    found = find_capacity(
        scenario.deployment,
        scenario.load,
        scenario.slo,
        requests=scenario.requests,
        seed=scenario.seed,
        on_trial=show,
    )
    bar.finish()
    return found


def _stated(
    model: dict[str, str],
    replica: dict[str, object],
    *,
    replicas: int,
    lengths: tuple[Tokens | None, Tokens | None],
    variation: float,
    by_users: bool,
) -> Scenario:
    """Return the scenario that the options state: the same reader checks it."""
    if replica["gpu"] is None or None in lengths:
        raise ContradictoryOptionsError(
            f"{model['name']} needs --gpu, --input and --output.",
            remedy="Add them, or give a scenario file (.toml).",
        )
    load: dict[str, object] = {"users": 1} if by_users else {"rate": "1/s"}
    for name, tokens in zip(("input", "output"), lengths, strict=True):
        load[name] = tokens if variation == 0 else {"mean": tokens, "variation": variation}
    document = {
        "name": "capacity",
        "model": model,
        "replica": replica,
        "deployment": {"replicas": replicas},
        "load": load,
    }
    return read_scenario(document, name="options", resolve=resolve_model, read_trace=_no_trace)


def _no_trace(name: str) -> Trace:
    raise AssertionError(f"options name no trace: {name}")


def _nothing_kept(found: Capacity) -> InfeasibleError:
    lowest = found.points[0] if found.points else None
    missed = ", ".join(each.label for each in lowest.missed) if lowest else ""
    return InfeasibleError(
        f"No rate keeps the SLO{f': {missed} is missed even at the lowest' if missed else ''}.",
        remedy="Take more or faster GPUs to a replica, a smaller weight format, or a looser bound.",
    )
