"""The commands: parse, convert units, call one function of a room, render."""


def main() -> None:
    """Run the command line."""
