"""How an error leaves the house: one shape, one table of exit codes, for all commands.

People read `error: problem`, the remedy and the code on stderr; with `--json` standard output
also holds `{"error": {"code", "problem", "remedy", "where"}}`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import click

from caudal.documents.failure import ErrorBody
from caudal.vocabulary.errors import (
    CaudalError,
    InvalidInputError,
    Kind,
    UnavailableError,
    nearest_names,
)

EXIT_CODES: Final = {
    Kind.INVALID: 2,
    Kind.UNKNOWN: 3,
    Kind.INFEASIBLE: 4,
    Kind.UNAVAILABLE: 5,
}
INTERNAL_EXIT_CODE: Final = 1


class InvalidUsageError(InvalidInputError):
    """The command line itself is wrong: an option or command that does not exist or is missing."""

    code = "invalid-usage"


class InternalError(CaudalError):
    """Caudal broke one of its own rules: a bug, not the caller's doing."""

    code = "internal"

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            f"Caudal stopped on its own mistake ({type(cause).__name__}: {cause}).",
            remedy="Please report it with this command line; CAUDAL_TRACEBACK=1 shows where.",
        )


class ParameterError(click.BadParameter):
    """A room's error about one option's text; click adds which option it was."""

    def __init__(
        self,
        error: CaudalError,
        *,
        param: click.Parameter | None = None,
        ctx: click.Context | None = None,
    ) -> None:
        super().__init__(error.problem, ctx=ctx, param=param)
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a caller is told."""

    code: str
    problem: str
    remedy: str
    where: str | None  # the option, argument or command it is about, where that is known
    exit_code: int

    @property
    def body(self) -> ErrorBody:
        """Return what a document says about it."""
        return ErrorBody(code=self.code, problem=self.problem, remedy=self.remedy, where=self.where)


def failure_of(error: Exception) -> Failure:
    """Return what to tell about `error`."""
    match error:
        case ParameterError():
            return _told(error.error, where=_parameter_name(error))
        case CaudalError():
            return _told(error, where=None)
        case click.UsageError():
            return _told(_usage_error(error), where=_usage_place(error))
        case OSError():
            return _told(_output_error(error), where=error.filename)
        case click.ClickException():
            return _told(InvalidUsageError(error.format_message(), remedy="See caudal --help."))
    raise AssertionError(f"no failure for {error!r}")


def print_failure(failure: Failure, *, as_json: bool) -> None:
    """Print the text to stderr and, if asked, the JSON document to standard output."""
    if as_json:
        click.echo(json.dumps({"error": asdict(failure.body)}, indent=2))
    place = f"{failure.where}: " if failure.where and failure.where not in failure.problem else ""
    click.echo(f"error: {place}{failure.problem}", err=True)
    click.echo(f"remedy: {failure.remedy} [{failure.code}]", err=True)


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether the command line asks for JSON, even where it cannot be parsed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _told(error: CaudalError, *, where: str | None = None) -> Failure:
    internal = isinstance(error, InternalError)
    return Failure(
        code=error.code,
        problem=error.problem,
        remedy=error.remedy,
        where=where,
        exit_code=INTERNAL_EXIT_CODE if internal else EXIT_CODES[error.kind],
    )


def _usage_error(error: click.UsageError) -> InvalidUsageError:
    help_line = f"See {error.ctx.command_path if error.ctx else 'caudal'} --help."
    match error:
        case click.NoSuchOption():
            nearest = nearest_names(error.option_name, _option_names(error.ctx), most=3)
            meant = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
            return InvalidUsageError(
                f"No such option {error.option_name}.", remedy=meant + help_line
            )
        case click.MissingParameter() if error.ctx is not None:
            usage = error.ctx.command.collect_usage_pieces(error.ctx)
            written = " ".join([error.ctx.command_path, *usage])
            return InvalidUsageError(error.format_message(), remedy=f"Write {written}. {help_line}")
    return InvalidUsageError(error.format_message(), remedy=help_line)


def _usage_place(error: click.UsageError) -> str | None:
    match error:
        case click.NoSuchOption():
            return error.option_name
        case click.BadParameter():
            return _parameter_name(error)
    return error.ctx.command_path if error.ctx else None


def _parameter_name(error: click.BadParameter) -> str | None:
    if error.param is None:
        return None
    if isinstance(error.param, click.Option):
        return max(error.param.opts, key=len)
    return error.param.make_metavar(error.ctx) if error.ctx else error.param.name


def _option_names(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    return [name for parameter in context.command.get_params(context) for name in parameter.opts]


def _output_error(error: OSError) -> UnavailableError:
    return UnavailableError(
        f"The operating system refused: {error.strerror or error}.",
        remedy="Check that the file or the place the output goes to can be used.",
    )
