"""Standard output of a command: text as wide as the terminal, or one JSON document."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Final

import click

from caudal.documents.values import document

PIPED_WIDTH: Final = 120  # chosen: a pipe has no width; wide enough for every table of ours
NARROWEST: Final = 40  # chosen: below this a table is unreadable, whatever is dropped


def terminal_width() -> int:
    """Return how many cells a line may have: COLUMNS, the terminal's width, or 120 for a pipe."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told[:5]) > 0:
        return max(int(told[:5]), NARROWEST)
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, NARROWEST)
    except (OSError, ValueError):  # no terminal, or no file at all
        return PIPED_WIDTH


def print_text(text: str) -> None:
    """Print a table or paragraph."""
    click.echo(text)


def print_heading(text: str) -> None:
    """Print a heading, bold on a terminal that wants colours (NO_COLOR is honoured)."""
    plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
    click.echo(text if plain else click.style(text, bold=True))


def print_sections(sections: Iterable[tuple[str, str]]) -> None:
    """Print sections with a blank line between, each under its heading if it has one."""
    for at, (heading, text) in enumerate(sections):
        if at:
            click.echo()
        if heading:
            print_heading(heading)
        print_text(text)


def print_document(command: str, payload: object) -> None:
    """Print the JSON document of a command."""
    click.echo(json.dumps(document(command, payload), indent=2, allow_nan=False))
