"""Commands whose `--help` teaches: examples, and how quantities are written."""

from collections.abc import Sequence

import click

from caudal.cli.failures import InvalidUsageError
from caudal.vocabulary.errors import nearest_names

Example = tuple[str, str]  # the command line and what it answers


def _format_teaching(
    formatter: click.HelpFormatter, examples: Sequence[Example], notes: Sequence[str]
) -> None:
    if examples:
        with formatter.section("Examples"):
            for line, answer in examples:
                indent = " " * formatter.current_indent
                formatter.write(f"{indent}$ {line}\n")
                formatter.write(f"{indent}  # {answer}\n")
    for note in notes:
        formatter.write_paragraph()
        formatter.write_text(note)


class TaughtCommand(click.Command):
    """A command with an example block and notes under its options."""

    def __init__(
        self,
        *arguments: object,
        examples: Sequence[Example] = (),
        notes: Sequence[str] = (),
        **options: object,
    ) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # click's own signature
        self.examples = tuple(examples)
        self.notes = tuple(notes)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write examples and notes under the options."""
        _format_teaching(formatter, self.examples, self.notes)


class TaughtGroup(click.Group):
    """A group with an example block, whose unknown command names the nearest ones.

    With `default`, a call that names no subcommand runs that one, so that `caudal gpus --fp8`
    means `caudal gpus list --fp8`; the group's help then shows that command's options.
    """

    def __init__(
        self,
        *arguments: object,
        examples: Sequence[Example] = (),
        notes: Sequence[str] = (),
        default: str | None = None,
        **options: object,
    ) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # click's own signature
        self.examples = tuple(examples)
        self.notes = tuple(notes)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front of arguments that name none."""
        asks_help = bool(args) and args[0] in ctx.help_option_names
        names_none = not args or args[0].startswith("-")
        if self.default is not None and names_none and not asks_help:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest ones."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and args[0] not in known:
            nearest = nearest_names(args[0], known, most=3)
            meant = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
            raise InvalidUsageError(
                f"{ctx.command_path} has no command {args[0]!r}.",
                remedy=f"{meant}It has {', '.join(known)}. See {ctx.command_path} --help.",
            )
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and notes under the options."""
        if self.default is not None:
            command = self.get_command(ctx, self.default)
            assert command is not None, f"{self.name} has no command {self.default}"
            records = [
                record
                for parameter in command.get_params(ctx)
                if (record := parameter.get_help_record(ctx)) and "--help" not in parameter.opts
            ]
            with formatter.section(f"Options of {self.default}, which is run if none is named"):
                formatter.write_dl(records)
        _format_teaching(formatter, self.examples, self.notes)
