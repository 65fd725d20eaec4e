import click
import pytest

from caudal.cli.app import run
from caudal.cli.option_groups import option_group
from caudal.cli.teaching import TaughtCommand, TaughtGroup

size_options = option_group(
    {
        "width": click.option("--width", type=int, default=1, help="In cells."),
        "height": click.option("--height", type=int, default=2),
    },
    name="area",
    build=lambda *, width, height: width * height,
)


@click.group("sample", cls=TaughtGroup, default="measure", examples=(("sample --width 3", "nine"),))
def sample() -> None:
    """Measure."""


@sample.command("measure", cls=TaughtCommand, notes=("Sides are whole cells.",))
@size_options
def measure(*, area: int) -> None:
    """Say how large it is."""
    click.echo(f"area {area}")


def test_options_of_a_group_reach_the_command_as_one_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exit_code = run(["measure", "--width", "3", "--height", "4"], root=sample)

    assert exit_code == 0
    assert capsys.readouterr().out == "area 12\n"


@pytest.mark.parametrize("arguments", [["--width", "5"], ["measure", "--width", "5"]])
def test_a_call_that_names_no_command_runs_the_default(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = run(arguments, root=sample)

    assert exit_code == 0
    assert capsys.readouterr().out == "area 10\n"


def test_the_groups_help_shows_the_defaults_options_and_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["--help"], root=sample)

    told = capsys.readouterr().out
    assert "--width" in told
    assert "$ sample --width 3" in told


def test_a_commands_help_ends_with_its_notes(capsys: pytest.CaptureFixture[str]) -> None:
    run(["measure", "--help"], root=sample)

    assert capsys.readouterr().out.rstrip().endswith("Sides are whole cells.")
