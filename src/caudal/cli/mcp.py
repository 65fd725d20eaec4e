"""`caudal mcp`: the tools for language models, over standard input and output."""

from importlib.util import find_spec

import click

from caudal.cli.teaching import TaughtCommand
from caudal.vocabulary.errors import MissingExtraError


@click.command(
    "mcp",
    cls=TaughtCommand,
    examples=(("claude mcp add caudal -- caudal mcp", "let an assistant use it"),),
    notes=(
        (
            "Over the Model Context Protocol on standard streams; tools: fit, plan, offers, "
            "budget. Nothing is changed and nothing fetched. Models are those of the catalogue; "
            "--allow-local lets the assistant name paths of this machine."
        ),
    ),
)
@click.option("--allow-local", is_flag=True, help="Models may be paths of this machine.")
def mcp_command(*, allow_local: bool) -> None:
    """Offer fit, plan, offers and budget as tools to an assistant."""
    if find_spec("mcp") is None:
        raise MissingExtraError(
            "caudal mcp needs the package mcp, which is not installed.",
            remedy="Install the extra: pip install 'caudal[mcp]'.",
        )
    from caudal.mcp.server import create_server  # noqa: PLC0415  # part of the extra

    create_server(allow_local=allow_local).run("stdio")
