import os
import subprocess
import sys

import click
import pytest

from caudal.cli.app import COMMANDS, caudal_group, run


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_listed_summary_is_the_commands_own(name: str) -> None:
    command = caudal_group.get_command(click.Context(caudal_group), name)

    assert command is not None
    assert name == command.name
    assert command.help is not None
    assert COMMANDS[name].summary == command.help.split("\n", maxsplit=1)[0]


def test_help_imports_click_and_no_room_but_words() -> None:
    program = (
        "import sys, caudal.cli.app as app; app.run(['--help']);"
        "print(*sorted(name for name in sys.modules if name.startswith(('caudal', 'numpy'))))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]

    allowed = {
        *("caudal", "caudal.cli", "caudal.cli.app", "caudal.cli.failures", "caudal.cli.teaching"),
        *("caudal.documents", "caudal.documents.failure"),
        *("caudal.vocabulary", "caudal.vocabulary.errors"),
    }
    assert allowed == set(printed.split())


def test_without_arguments_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run([])

    assert exit_code == 0
    assert "Examples:" in capsys.readouterr().out


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(["modells"])

    assert exit_code == 2
    assert "Did you mean models?" in capsys.readouterr().err


@click.command()
@click.argument("how", type=click.Choice(["interrupt", "bug"]))
def failing(how: str) -> None:
    """Fail in a way that no command foresees."""
    if how == "interrupt":
        raise KeyboardInterrupt
    raise ZeroDivisionError("0 / 0")


def test_an_interrupt_ends_with_the_shells_code() -> None:
    exit_code = run(["interrupt"], root=failing)

    assert exit_code == 130


def test_our_own_mistake_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(["bug"], root=failing)

    assert exit_code == 1
    told = capsys.readouterr().err
    assert "ZeroDivisionError: 0 / 0" in told
    assert "Traceback" not in told


def test_the_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_TRACEBACK", "1")

    with pytest.raises(ZeroDivisionError):
        run(["bug"], root=failing)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "caudal", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()

        told = process.stderr.read()

    assert told == b""
    assert process.returncode in {0, 141}  # 0 where everything was written before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = run(["completion", shell])

    assert exit_code == 0
    assert "_CAUDAL_COMPLETE" in capsys.readouterr().out


def test_the_completion_script_offers_the_commands() -> None:
    environment = os.environ | {
        "_CAUDAL_COMPLETE": "bash_complete",
        "COMP_WORDS": "caudal ",
        "COMP_CWORD": "1",
    }

    printed = subprocess.run(
        [sys.executable, "-m", "caudal"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert [f"plain,{name}" for name in COMMANDS] == printed.split()
