"""`caudal serve`: the pages and the HTTP API on this machine."""

import os
import signal
import socket
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from caudal.cli.offer_options import database_option
from caudal.cli.output import print_text
from caudal.cli.quantity_types import WrittenQuantity
from caudal.cli.teaching import TaughtCommand
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import InvalidInputError, MissingExtraError, UnavailableError
from caudal.vocabulary.units import RequestsPerSecond

if TYPE_CHECKING:
    from caudal.http.settings import ServerSettings

NEEDED: Final = ("babel", "fastapi", "uvicorn", "jinja2", "python_multipart")
PORT: Final = 8722
UNLIMITED: Final = "off"
WAITING: Final = 2048  # connections that may wait; uvicorn's own number
SHUTDOWN_SECONDS: Final = 10  # chosen: as long as the longest answers in progress may take


class PortTakenError(UnavailableError):
    """The address to listen on is in use, is not ours, or may not be used."""

    code = "port-taken"


def parse_rate_limit(text: str) -> RequestsPerSecond | None:
    """Return requests a second of `20/s`, None of `off`.

    Raises:
        InvalidQuantityError: see `parse_rate`.
    """
    return None if text.strip().casefold() == UNLIMITED else quantities.parse_rate(text)


@click.command(
    "serve",
    cls=TaughtCommand,
    examples=(
        ("caudal serve", "pages and API on http://127.0.0.1:8722"),
        ("caudal serve --host 0.0.0.0 --name gpu.example.org", "for others, under one name"),
    ),
    notes=(
        (
            "No account and no cookie: who reaches the port may ask. Models are those of the "
            "catalogue or uploaded; --allow-local lets every client name paths of this machine."
        ),
    ),
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free."
)
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="Name it is called by; repeatable."
)
@database_option
@click.option("--hub", "ask_hub", is_flag=True, help="Look ids up that are not in the catalogue.")
@click.option("--allow-local", is_flag=True, help="Models may be paths of this machine.")
@click.option(
    "--rate-limit",
    type=WrittenQuantity("rate", parse_rate_limit),
    default="20/s",
    show_default=True,
    help="Requests of one client; off.",
)
@click.option(
    "--cors", multiple=True, metavar="ORIGIN", help="Site whose scripts may read the API."
)
def serve_command(
    *,
    host: str,
    port: int,
    names: tuple[str, ...],
    database: str | None,
    ask_hub: bool,
    allow_local: bool,
    rate_limit: RequestsPerSecond | None,
    cors: tuple[str, ...],
) -> None:
    """Serve the pages and the HTTP API until interrupted."""
    _check_installed()
    from caudal.http.settings import ServerSettings  # noqa: PLC0415  # part of the extra

    listener = _listener(host, port)
    settings = ServerSettings(
        host=host,
        port=listener.getsockname()[1],
        database=database,
        ask_hub=ask_hub,
        allow_local=allow_local,
        rate_per_client=rate_limit,
        cors_origins=tuple(_origin(text) for text in cors),
        host_names=_host_names(host, names),
    )
    _run(settings, listener)


def _check_installed() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"caudal serve needs {', '.join(missing)}, which are not installed.",
            remedy="Install the extra: pip install 'caudal[serve]'.",
        )


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a taken port is known before anything is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; without it answers wait 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        raise PortTakenError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            remedy="Stop what listens there, or choose another --port (0: any free) or --host.",
        ) from None
    return listener


def _host_names(host: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names it may be called by: this machine's own, and those that were given.

    On another address than this machine's own any name is right, unless names are given.
    """
    from caudal.http.settings import LOOPBACK  # noqa: PLC0415  # part of the extra

    given = tuple(name.casefold() for name in names)
    if given or host in {"127.0.0.1", "::1", "localhost"}:
        return (*given, *LOOPBACK)
    return ()


def _origin(text: str) -> str:
    scheme, slashes, host = text.strip().rstrip("/").partition("://")
    if scheme not in {"http", "https"} or not slashes or not host or "/" in host or "*" in host:
        raise InvalidInputError(
            f"--cors {text!r} is no origin.", remedy="Write it as https://example.org."
        )
    return f"{scheme}://{host}"


def _run(settings: "ServerSettings", listener: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415  # part of the extra

    from caudal.web.site import create_site  # noqa: PLC0415  # loads every room

    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    print_text(f"Caudal on http://{shown}:{settings.port} (Ctrl-C stops it)")
    site = create_site(settings)

    class Server(uvicorn.Server):
        """A server that ends its event streams before it waits for what is in progress."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            site.state.services.streams.close()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        site,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=None,
    )
    # uvicorn repeats the signal that stopped it once all is done; to us that is no interruption.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])
