"""From a rendered document to a response: validators, how long it may be kept, not modified."""

from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from caudal.http.work import Rendered


class Keep(StrEnum):
    """How long a client may reuse an answer without asking again."""

    FACTS = "public, max-age=3600"  # chosen: facts change with a release of Caudal
    PRICES = "public, max-age=60"  # chosen: a refresh of prices shows within a minute
    OWN = "private, no-cache"  # about something the client gave us
    NEVER = "no-store"


def respond(request: Request, answer: Rendered, keep: Keep) -> Response:
    """Return the document, or 304 where the client has it already."""
    headers = {"ETag": answer.etag, "Cache-Control": keep.value}
    known = request.headers.get("if-none-match", "")
    if answer.status == 200 and (known == "*" or answer.etag in _tags(known)):
        return Response(status_code=304, headers=headers)
    return Response(
        answer.body,
        status_code=answer.status,
        media_type=answer.media_type,
        headers=headers,
    )


def _tags(header: str) -> set[str]:
    tags = (tag.strip() for tag in header.split(","))
    return {tag if tag.startswith("W/") else f"W/{tag}" for tag in tags}
