import json

import click
import pytest

from caudal.cli.failures import (
    EXIT_CODES,
    InternalError,
    ParameterError,
    failure_of,
    print_failure,
    wants_json,
)
from caudal.vocabulary.errors import (
    CaudalError,
    InfeasibleError,
    InvalidQuantityError,
    Kind,
    ModelNotDownloadedError,
    UnknownGpuError,
)


@pytest.mark.parametrize(
    ("exit_code", "error"),
    [
        (2, InvalidQuantityError("a", remedy="b")),
        (3, UnknownGpuError("h200x", known=["h200"])),
        (4, InfeasibleError("a", remedy="b")),
        (5, ModelNotDownloadedError("a", remedy="b")),
        (1, InternalError(ZeroDivisionError("x"))),
    ],
)
def test_the_exit_code_follows_from_the_kind(exit_code: int, error: CaudalError) -> None:
    failure = failure_of(error)

    assert exit_code == failure.exit_code
    assert error.code == failure.code


def test_every_kind_has_an_exit_code_of_its_own() -> None:
    assert set(Kind) == set(EXIT_CODES)
    assert len(Kind) == len(set(EXIT_CODES.values()))


def test_an_option_error_keeps_the_rooms_code_and_names_the_option() -> None:
    option = click.Option(["-r", "--rate"])
    error = ParameterError(InvalidQuantityError("'x' is no rate.", remedy="5/s"), param=option)

    failure = failure_of(error)

    assert failure.code == "invalid-quantity"
    assert failure.where == "--rate"


def test_an_unknown_option_names_the_nearest() -> None:
    command = click.Command("fit", params=[click.Option(["--precision"])])
    context = click.Context(command, info_name="fit")

    failure = failure_of(click.NoSuchOption("--precison", ctx=context))

    assert "--precision" in failure.remedy
    assert failure.exit_code == 2


def test_an_operating_system_error_is_told_without_a_traceback() -> None:
    failure = failure_of(OSError(28, "No space left on device"))

    assert failure.exit_code == 5
    assert "No space left" in failure.problem


def test_json_errors_keep_one_shape(capsys: pytest.CaptureFixture[str]) -> None:
    failure = failure_of(InfeasibleError("Nothing fits.", remedy="Ask for less."))

    print_failure(failure, as_json=True)

    printed = capsys.readouterr()
    expected = {"code": "infeasible", "problem": "Nothing fits.", "remedy": "Ask for less."}
    assert {"error": {**expected, "where": None}} == json.loads(printed.out)
    assert "Ask for less." in printed.err


def test_what_stands_after_two_dashes_is_no_option() -> None:
    assert wants_json(["fit", "x", "--json"])
    assert not wants_json(["fit", "--", "--json"])
