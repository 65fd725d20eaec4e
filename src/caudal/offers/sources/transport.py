"""One HTTP request within bounds: of time, of size, and to the host that was meant.

Redirects are refused: a key would travel with them. HTTP without TLS is refused except to this
machine.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Final, NamedTuple
from urllib.parse import urlsplit

from caudal.vocabulary.errors import UnavailableError
from caudal.vocabulary.units import MIB, Seconds

LARGEST_REPLY: Final = 64 * MIB  # chosen: all offers of the largest marketplace are 6 MB
_CHUNK: Final = 64 * 1024
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_MEANINGS: Final = {
    401: "the key is not accepted",
    403: "the key may not do this",
    404: "there is nothing at this address",
    429: "it was asked too often",
}


class SourceUnavailableError(UnavailableError):
    """A live source of offers did not answer, or not in time, or not with offers."""

    code = "source-unavailable"


class Request(NamedTuple):
    """What is asked of whom; `headers` may hold keys and are never shown."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None  # None: GET


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0917 - the library calls it so
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        fp.close()
        host = urlsplit(req.full_url).netloc
        raise SourceUnavailableError(
            f"{host} sends us elsewhere (HTTP {code}), which is not followed.",
            remedy="Check the address of the source.",
        )


def fetch(request: Request, *, timeout_s: Seconds) -> str:
    """Return the reply as text.

    Raises:
        SourceUnavailableError: no answer in time, an error, or more than `LARGEST_REPLY`.
    """
    parts = urlsplit(request.url)
    if parts.scheme != "https" and not (
        parts.scheme == "http" and (parts.hostname or "") in _LOCAL
    ):
        raise SourceUnavailableError(
            f"{parts.netloc or request.url!r} would be asked without encryption.",
            remedy="Use an address that begins with https://.",
        )
    deadline = time.monotonic() + timeout_s
    asked = urllib.request.Request(  # noqa: S310 - the scheme is checked above
        request.url,
        data=request.body,
        headers={"User-Agent": "caudal", "Accept": "application/json", **request.headers},
    )
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(asked, timeout=timeout_s) as reply:
            return _read(reply, host=parts.netloc, deadline=deadline)
    except urllib.error.HTTPError as refused:
        refused.close()
        meaning = _MEANINGS.get(refused.code, "it is in trouble" if refused.code >= 500 else "")
        raise _unavailable(parts.netloc, f"HTTP {refused.code} {meaning}".strip()) from None
    except (TimeoutError, urllib.error.URLError, HTTPException, OSError) as broken:
        reason = getattr(broken, "reason", broken)
        late = isinstance(broken, TimeoutError) or isinstance(reason, TimeoutError)
        problem = f"no answer within {timeout_s:g} s" if late else str(reason)
        raise _unavailable(parts.netloc, problem) from None


def _read(reply: IO[bytes], *, host: str, deadline: float) -> str:
    """Return the body; a reply that drips is cut at the deadline."""
    chunks: list[bytes] = []
    size = 0
    while chunk := reply.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_REPLY:
            raise _unavailable(host, f"the reply exceeds {LARGEST_REPLY // MIB} MiB")
        if time.monotonic() > deadline:
            raise _unavailable(host, "the reply did not end in time")
    return b"".join(chunks).decode("utf-8", errors="replace")


def _unavailable(host: str, problem: str) -> SourceUnavailableError:
    return SourceUnavailableError(
        f"{host} did not answer: {problem}.", remedy="Try again later, or check key and address."
    )
