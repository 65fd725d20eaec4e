"""`--plot FILE`: the answer as a chart, in the format that the file's name ends with."""

import os
from pathlib import Path
from typing import Final

import click

from caudal.cli.option_groups import Option
from caudal.figures.render import figure_format, render
from caudal.figures.style import Spec

plot_option: Final[Option] = click.option(
    "--plot",
    "plot",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Draw it too: FILE.svg, .png, .html (works offline) or .json (Vega-Lite).",
)


def check_plot(name: str | None) -> None:
    """Refuse a file name that does not say what to draw before any work is done.

    Raises:
        InvalidInputError: the name has another ending.
    """
    if name is not None:
        figure_format(name)


def write_figure(spec: Spec, name: str) -> None:
    """Write the chart to a file and say so on standard error.

    The file is written beside its place and then moved, so that it is never half there.

    Raises:
        InvalidInputError: the name has another ending.
        MissingExtraError: the package that draws is not installed.
    """
    drawn = render(spec, figure_format(name))
    path = Path(name)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(drawn)
    beside.replace(path)
    click.echo(f"wrote {name} ({len(drawn) / 1000:,.0f} kB)", err=True)
