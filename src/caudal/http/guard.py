"""What every request passes before a route sees it, and every answer on its way out.

Pure ASGI, so that streams are not held back: the name the server was called by, pages of other
sites that try to change something, how often one client asks, how large a body may be, and the
headers that tell a browser what our pages may do.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caudal.http.failures import (
    BodyTooLargeError,
    ForeignSiteError,
    HttpFailure,
    TooManyRequestsError,
    failure_of,
)
from caudal.http.settings import API, BURST_SECONDS, ServerSettings
from caudal.vocabulary.errors import CaudalError
from caudal.vocabulary.units import KIB, MIB, Bytes, RequestsPerSecond

UPLOAD_PATH: Final = f"{API}/models/uploads"
UPLOAD_PAGE: Final = "/models/upload"  # the same, for a form without JavaScript
UPLOAD_MOST_BYTES: Final = Bytes(33 * MIB)  # a GGUF header of 32 MiB, and the form around it
BODY_MOST_BYTES: Final = Bytes(256 * KIB)  # chosen: a question has some forty short fields
CLIENTS_REMEMBERED: Final = 10_000  # chosen: about 2 MB; the longest silent are forgotten
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",  # for browsers older than frame-ancestors
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

Refuse = Callable[[Request, HttpFailure], Response]


class Allowance:
    """How often each client may ask: a bucket filled at `rate` that holds ten seconds' worth."""

    def __init__(self, rate: RequestsPerSecond, *, clients: int = CLIENTS_REMEMBERED) -> None:
        self._rate = rate
        self._room = max(1.0, rate * BURST_SECONDS)
        self._clients = clients
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, when

    def wait_s(self, client: str, *, now_s: float) -> float:
        """Take one request of `client`; return 0, or how many seconds it has to wait."""
        left, when = self._left.pop(client, (self._room, now_s))
        left = min(self._room, left + (now_s - when) * self._rate)
        granted = left >= 1
        self._left[client] = (left - 1 if granted else left, now_s)
        if len(self._left) > self._clients:
            self._left.popitem(last=False)
        return 0.0 if granted else (1 - left) / self._rate


class Guard:
    """Middleware: refuses what a route should not see, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings, refuse: Refuse) -> None:
        self._app = app
        self._settings = settings
        self._refuse = refuse
        rate = settings.rate_per_client
        self._allowance = None if rate is None else Allowance(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        failure = self._failure(scope)
        if failure is not None:
            response = self._refuse(Request(scope), failure)
            await response(scope, receive, _with_headers(send))
            return
        await self._pass_on(scope, receive, _with_headers(send))

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and answer in the route's place once its body is too long."""
        body = _CountedBody(receive, most_bytes=_most_bytes(scope["path"]))
        started = refused = False

        async def sent(message: Message) -> None:
            nonlocal started, refused
            if not body.is_too_long or started:
                started = True
                await send(message)
            elif not refused:
                refused = True
                failure = failure_of(_too_large(body.most_bytes), where="body")
                await self._refuse(Request(scope), failure)(scope, receive, send)

        await self._app(scope, body.receive, sent)

    def _failure(self, scope: Scope) -> HttpFailure | None:
        headers = Headers(scope=scope)
        try:
            self._check_name(headers)
            self._check_site(scope["method"], headers)
            _check_length(headers, most_bytes=_most_bytes(scope["path"]))
        except CaudalError as error:
            return failure_of(error, where="header")
        return self._check_rate(scope)

    def _check_name(self, headers: Headers) -> None:
        """Refuse a foreign name: a page of another site may have pointed its own name at us."""
        names = self._settings.host_names
        called = headers.get("host", "")
        host = called.rpartition(":")[0] if called.rpartition(":")[2].isdigit() else called
        if names and host.casefold() not in names:
            raise ForeignSiteError(
                f"This server is not called {host!r}.",
                remedy=f"Call it by {' or '.join(names)}; a name is allowed with --name.",
            )

    def _check_site(self, method: str, headers: Headers) -> None:
        """Refuse what changes something where a browser says that another site's page asks.

        Browsers send Sec-Fetch-Site, older ones Origin; programs send neither. There is no cookie
        and no account, so nothing else can be forged.

        Source: https://words.filippo.io/csrf/ (how Go 1.25 does it).
        """
        if method in SAFE_METHODS:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin in self._settings.cors_origins:
            return
        if site is not None:
            foreign = site not in {"same-origin", "none"}
        else:
            foreign = origin is not None and urlsplit(origin).netloc != headers.get("host", "")
        if foreign:
            raise ForeignSiteError(
                f"A page of {origin or 'another site'} asks for a change.",
                remedy="Use Caudal's own pages, or allow that site with --cors.",
            )

    def _check_rate(self, scope: Scope) -> HttpFailure | None:
        if self._allowance is None:
            return None
        client = _client(scope)
        wait_s = self._allowance.wait_s(client, now_s=time.monotonic())
        if wait_s == 0:
            return None
        error = TooManyRequestsError(
            f"{client} asks more than {self._settings.rate_per_client:g} times a second.",
            remedy="Wait as long as Retry-After says; the owner sets the rate by --rate-limit.",
        )
        return failure_of(error, retry_after_s=max(1, round(wait_s + 0.5)))


def _most_bytes(path: str) -> Bytes:
    return UPLOAD_MOST_BYTES if path.startswith((UPLOAD_PATH, UPLOAD_PAGE)) else BODY_MOST_BYTES


def _client(scope: Scope) -> str:
    """Return who asks: an address, or the network that one subscriber has in IPv6."""
    address = (scope.get("client") or ("unknown",))[0]
    try:
        if ip_address(address).version == 6:
            return str(ip_network(f"{address}/64", strict=False))
    except ValueError:
        return "unknown"
    return str(address)


def _check_length(headers: Headers, *, most_bytes: Bytes) -> None:
    told = headers.get("content-length", "0")
    if told.isascii() and told.isdigit() and int(told[:18]) > most_bytes:
        raise _too_large(most_bytes)


def _too_large(most_bytes: Bytes) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"The body has more than {most_bytes:,} bytes.",
        remedy="Send less: of a weight file only its header is read.",
    )


class _CountedBody:
    """A body that ends with an error where it is longer than it said, or did not say."""

    def __init__(self, receive: Receive, *, most_bytes: Bytes) -> None:
        self.most_bytes = most_bytes
        self.is_too_long = False
        self._receive = receive
        self._received = 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self.most_bytes:
                self.is_too_long = True
                raise _too_large(self.most_bytes)
        return message


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
