"""How an error leaves through HTTP: one shape, one table of statuses, for every route.

The body is `{"error": {"code", "problem", "remedy", "where"}}`, as every `--json` command prints
it. A question that was understood and has no answer (409) comes with its whole document, whose
field `error` has that shape.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.responses import Response

from caudal.documents.failure import ErrorBody
from caudal.documents.values import json_value
from caudal.vocabulary.errors import CaudalError, InvalidInputError, Kind, UnavailableError

STATUSES: Final = {
    Kind.INVALID: 422,
    Kind.UNKNOWN: 404,
    Kind.INFEASIBLE: 409,
    Kind.UNAVAILABLE: 503,
}
MEANINGS: Final = {
    400: "The request itself cannot be read.",
    403: "Another site's page asked, or the server is called by a name that is not its own.",
    404: "A name or a route that is not known; the remedy lists the nearest.",
    405: "The route does not have this method.",
    409: "The question is sound, and nothing meets it.",
    413: "The body is larger than this route reads.",
    415: "The body is of a type that this route does not read.",
    422: "A value cannot be meant; `where` names the parameter.",
    429: "This client asks faster than it may; Retry-After says how long to wait.",
    500: "A mistake of Caudal's own.",
    503: "A source cannot be reached, or the server has too much to do; try again.",
}


class MalformedRequestError(InvalidInputError):
    """The request is no sound HTTP or JSON, or its body is missing."""

    code = "malformed-request"


class UnknownRouteError(CaudalError):
    """Nothing is served under this path."""

    code, kind = "unknown-route", Kind.UNKNOWN


class WrongMethodError(InvalidInputError):
    """The path is served, but not by this method."""

    code = "wrong-method"


class ForeignSiteError(InvalidInputError):
    """A page of another site tried to change something, or called the server by a foreign name."""

    code = "foreign-site"


class BodyTooLargeError(InvalidInputError):
    """The body is larger than the route reads."""

    code = "body-too-large"


class UnreadableBodyTypeError(InvalidInputError):
    """The body is of a type that the route does not read."""

    code = "unreadable-body-type"


class TooManyRequestsError(UnavailableError):
    """One client asks faster than it may."""

    code = "too-many-requests"


class BusyError(UnavailableError):
    """The server has more to compute than it can within the time allowed."""

    code = "busy"


class ServerFaultError(CaudalError):
    """Caudal broke one of its own rules while it answered; the log has the details."""

    code = "server-fault"

    def __init__(self) -> None:
        super().__init__(
            "Caudal stopped on its own mistake.",
            remedy="Please report it with the request; the server's log has the details.",
        )


# What is more precise than its kind.
STATUS_OF: Final[Mapping[type[CaudalError], int]] = {
    MalformedRequestError: 400,
    WrongMethodError: 405,
    ForeignSiteError: 403,
    BodyTooLargeError: 413,
    UnreadableBodyTypeError: 415,
    TooManyRequestsError: 429,
    ServerFaultError: 500,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure:
    """What a client is told."""

    status: int
    body: ErrorBody
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def document(self) -> bytes:
        """Return the JSON that is sent."""
        return json.dumps({"error": json_value(self.body)}, ensure_ascii=False).encode()


def failure_of(
    error: CaudalError, *, where: str | None = None, retry_after_s: int | None = None
) -> HttpFailure:
    """Return what to tell about `error`."""
    status = STATUS_OF.get(type(error), STATUSES[error.kind])
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    if status == 503 and retry_after_s is None:
        headers = {"Retry-After": "5"}  # chosen: the longest that a plan takes
    return HttpFailure(status=status, body=ErrorBody.of(error, where=where), headers=headers)


def failure_response(failure: HttpFailure) -> Response:
    """Return the response that says it in JSON."""
    headers = {"Cache-Control": "no-store", **failure.headers}
    return Response(
        failure.document,
        status_code=failure.status,
        media_type="application/json",
        headers=headers,
    )
