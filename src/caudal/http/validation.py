"""What pydantic found wrong with a request, told as every other error is."""

from collections.abc import Sequence
from typing import Final

from fastapi.exceptions import RequestValidationError

from caudal.http.failures import HttpFailure, MalformedRequestError, failure_of
from caudal.vocabulary.errors import CaudalError, InvalidInputError, nearest_names

LONGEST_SHOWN: Final = 60  # chosen: enough of a wrong value to recognise it


class InvalidParameterError(InvalidInputError):
    """A parameter is missing, of the wrong type or out of range, or the route does not know it."""

    code = "invalid-parameter"


def failure_of_validation(error: RequestValidationError, *, known: Sequence[str]) -> HttpFailure:
    """Return what to tell about the first thing that is wrong; `known` are the parameters."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"][1:]]
    where = ".".join(place) or str(first["loc"][0])
    told = first.get("ctx", {}).get("error")
    if first["type"] == "caudal" and isinstance(told, CaudalError):
        return failure_of(told, where=where)
    if first["type"] == "json_invalid":
        return failure_of(
            MalformedRequestError(
                f"The body is no JSON: {first.get('ctx', {}).get('error', first['msg'])}.",
                remedy="Send one JSON object.",
            ),
            where="body",
        )
    if first["type"] == "extra_forbidden":
        near = nearest_names(where, known, most=3)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return failure_of(
            InvalidParameterError(
                f"There is no parameter {_shown(where)}.",
                remedy=f"{meant}Known: {', '.join(known)}.",
            ),
            where=where,
        )
    return failure_of(_other(first["type"], first["msg"], first.get("input"), where), where=where)


def _other(kind: str, message: str, given: object, where: str) -> CaudalError:
    if kind == "missing":
        return InvalidParameterError(f"{where} is missing.", remedy=f"Give {where}.")
    return InvalidParameterError(
        f"{_shown(where)} cannot be {_shown(given)}.", remedy=f"{message.rstrip('.')}."
    )


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
