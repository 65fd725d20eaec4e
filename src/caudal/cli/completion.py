"""`caudal completion`: the script that makes a shell complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

from caudal.cli.teaching import TaughtCommand

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    cls=TaughtCommand,
    examples=(
        ('eval "$(caudal completion bash)"', "for this shell; put the line into ~/.bashrc"),
        ('eval "$(caudal completion zsh)"', "the same for ~/.zshrc"),
        ("caudal completion fish > ~/.config/fish/completions/caudal.fish", "for fish"),
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL."""
    completion = get_completion_class(shell)
    assert completion is not None, f"click completes no {shell}"
    root = context.find_root()
    click.echo(completion(root.command, {}, "caudal", "_CAUDAL_COMPLETE").source())
