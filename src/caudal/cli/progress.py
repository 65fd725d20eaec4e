"""Progress on standard error, where somebody watches."""

import sys
from typing import Final

import click

_WIDTH: Final = 30


class ProgressBar:
    """One line that is rewritten; silent where standard error is no terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are through."""
        if not sys.stderr.isatty():
            return
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + "·" * (_WIDTH - filled)
        click.echo(f"\r{self._what} [{bar}] {done:,} of {total:,}", err=True, nl=False)
        self._shown = True

    def finish(self) -> None:
        """Clear the line, so that what follows stands alone."""
        if self._shown:
            click.echo("\r\033[K", err=True, nl=False)
            self._shown = False
