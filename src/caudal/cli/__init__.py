"""The commands: parse, convert units, call one function of a room, render."""

import sys

from caudal.cli.app import run


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))
