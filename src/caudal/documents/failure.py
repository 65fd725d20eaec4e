"""What a document says about an error: one shape at every door."""

from dataclasses import dataclass

from caudal.vocabulary.errors import CaudalError


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """An error in a JSON document, the same for all commands."""

    code: str  # stable, see docs/errors.md
    problem: str  # what is wrong, with names and values
    remedy: str  # what to do about it
    where: str | None  # the option, argument or file it is about, where that is known

    @classmethod
    def of(cls, error: CaudalError, *, where: str | None = None) -> "ErrorBody":
        """Return what is told about `error`."""
        return cls(code=error.code, problem=error.problem, remedy=error.remedy, where=where)
