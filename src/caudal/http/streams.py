"""Server-sent events: how they are written, and how many may be open."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final, Literal

from starlette.responses import StreamingResponse

from caudal.documents.values import json_value
from caudal.http.failures import BusyError

MOST_OPEN: Final = 4000  # chosen: four times the 1,000 that a test holds open, some 60 MB
Event = tuple[str, object]  # a name and a value that becomes JSON
KEEP_ALIVE_SECONDS: Final = 15.0  # chosen: below the minute after which proxies hang up


class Streams:
    """The open streams of one server, and the moment at which all end."""

    def __init__(self) -> None:
        self._open = 0
        self._ending: asyncio.Event | None = None

    def close(self) -> None:
        """End every stream, so that a server that stops need not wait for them."""
        if self._ending is not None:
            self._ending.set()

    def response(self, events: AsyncIterator[Event]) -> StreamingResponse:
        """Return a stream of (name, value) events.

        Raises:
            BusyError: too many are open.
        """
        if self._open >= MOST_OPEN:
            raise BusyError(
                f"{self._open} event streams are open.", remedy="Close some, or try again later."
            )
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            self.written(events), media_type="text/event-stream", headers=headers
        )

    async def written(self, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
        """Write events as they come, a comment where none came for a while."""
        if self._ending is None or self._ending.is_set():
            self._ending = asyncio.Event()
        ending = asyncio.ensure_future(self._ending.wait())
        pending: asyncio.Future[Event] | None = None
        self._open += 1
        try:
            yield b": this is Caudal\n\n"
            while True:
                pending = pending or asyncio.ensure_future(anext(events))
                await _first_of(pending, ending)
                if ending.done():
                    return
                if not pending.done():
                    yield b": still here\n\n"
                    continue
                try:
                    name, value = pending.result()
                except StopAsyncIteration:
                    return
                pending = None
                yield _event(name, value)
        finally:
            self._open -= 1
            ending.cancel()
            if pending is not None:
                pending.cancel()


async def _first_of(event: asyncio.Future[Event], ending: asyncio.Future[Literal[True]]) -> None:
    """Wait for the next event or the end, but no longer than a stream may be silent."""
    waited: tuple[asyncio.Future[Event] | asyncio.Future[Literal[True]], ...] = (event, ending)
    await asyncio.wait(waited, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(json_value(value))}\n\n".encode()
