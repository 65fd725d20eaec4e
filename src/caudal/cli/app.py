"""The `caudal` command: its subcommands by name, loaded when called, and how a run ends."""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click
from click.shell_completion import CompletionItem

from caudal import __version__
from caudal.cli.failures import Failure, InternalError, failure_of, print_failure, wants_json
from caudal.cli.teaching import TaughtGroup
from caudal.vocabulary.errors import CaudalError

INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
READER_GONE: Final = 141  # 128 + SIGPIPE: `caudal … | head` is no error of ours


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a subcommand lives, and its one-line help (a test compares it with the command's)."""

    module: str
    name: str
    summary: str


COMMANDS: Final = {
    "plan": CommandEntry(
        "caudal.cli.plan", "plan_command", "Rank the cheapest ways to serve MODEL within the SLO."
    ),
    "budget": CommandEntry(
        "caudal.cli.budget",
        "budget_command",
        "Turn MODEL and its traffic into money, and say what moves it.",
    ),
    "fit": CommandEntry(
        "caudal.cli.fit", "fit_command", "Say whether MODEL fits on a GPU, term by term."
    ),
    "speed": CommandEntry(
        "caudal.cli.speed", "speed_command", "Predict how fast MODEL runs on a GPU, batch by batch."
    ),
    "simulate": CommandEntry(
        "caudal.cli.simulate",
        "simulate_command",
        "Run written scenarios under load and say how each went.",
    ),
    "capacity": CommandEntry(
        "caudal.cli.capacity",
        "capacity_command",
        "Find the most that a deployment carries within the SLO.",
    ),
    "gpus": CommandEntry(
        "caudal.cli.gpus", "gpus_group", "List, show and compare GPUs by their makers' figures."
    ),
    "models": CommandEntry(
        "caudal.cli.models", "models_group", "List and show the models whose shape is known."
    ),
    "offers": CommandEntry(
        "caudal.cli.offers", "offers_group", "List what can be rented, cheapest first."
    ),
    "accuracy": CommandEntry(
        "caudal.cli.accuracy", "accuracy_group", "Judge the predictions by measured rows."
    ),
    "serve": CommandEntry(
        "caudal.cli.serve", "serve_command", "Serve the pages and the HTTP API until interrupted."
    ),
    "mcp": CommandEntry(
        "caudal.cli.mcp",
        "mcp_command",
        "Offer fit, plan, offers and budget as tools to an assistant.",
    ),
    "completion": CommandEntry(
        "caudal.cli.completion", "completion_command", "Print the completion script of SHELL."
    ),
}


class LazyGroup(TaughtGroup):
    """A group that knows its subcommands by a table and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the module of one command and return it."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), entry.name)
        assert isinstance(command, click.Command), f"{entry.module}.{entry.name} is no command"
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the names from the table, then our own options."""
        names = [
            CompletionItem(name, help=entry.summary)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write names and summaries from the table, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.command(
    "caudal",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=(
        (
            "caudal plan llama-3.1-70b --input 2k --output 300 --rate 5/s --ttft-p95 1s",
            "what to rent for this traffic, cheapest first",
        ),
        (
            "caudal fit llama-3.1-70b --gpu H100 --precision fp8 --context 8k",
            "does it fit, and why",
        ),
        ("caudal gpus --fp8 --min-memory 80GB --sort bandwidth", "which GPUs there are"),
    ),
    notes=(
        (
            "Exit codes: 0 answered, 2 invalid input, 3 unknown name, 4 nothing meets what was "
            "asked, 5 a source or file cannot be reached, 130 interrupted."
        ),
    ),
)
@click.version_option(__version__, prog_name="caudal", message="%(prog)s %(version)s")
def caudal_group() -> None:
    """Which GPU for this model and this traffic, what it costs, where to rent it."""


def run(arguments: Sequence[str], *, root: click.Command | None = None) -> int:
    """Run one command line and return the exit code; print what went wrong, never a traceback."""
    _print_whatever_the_terminal_takes()
    try:
        return _invoke(list(arguments) or ["--help"], root=root or caudal_group)
    except (KeyboardInterrupt, click.Abort):
        click.echo(err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_standard_output()
        return READER_GONE
    except (CaudalError, click.ClickException, OSError) as error:
        return _fail(failure_of(error), arguments)
    except Exception as error:  # the last door: what gets here is a mistake of ours
        if os.environ.get("CAUDAL_TRACEBACK"):
            raise
        return _fail(failure_of(InternalError(error)), arguments)


def _invoke(arguments: list[str], *, root: click.Command) -> int:
    if "_CAUDAL_COMPLETE" in os.environ:  # set by the scripts of `caudal completion`
        root.main(args=arguments, prog_name="caudal")
    try:
        with root.make_context("caudal", arguments) as context:
            root.invoke(context)
    except click.exceptions.Exit as end:
        sys.stdout.flush()
        return end.exit_code
    sys.stdout.flush()
    return 0


def _fail(failure: Failure, arguments: Sequence[str]) -> int:
    try:
        print_failure(failure, as_json=wants_json(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_standard_output()
    return failure.exit_code


def _print_whatever_the_terminal_takes() -> None:
    """Let an ASCII terminal show a question mark for `–` instead of stopping the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _forget_standard_output() -> None:
    """Point standard output nowhere, so that Python's last flush does not fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
