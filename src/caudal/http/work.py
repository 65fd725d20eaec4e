"""What is computed for requests: few threads, a bounded queue, each question once, kept while warm.

A question is a key and a function without arguments. Equal keys that wait at the same time are
computed once; answers are kept until newer ones need their room.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from caudal.documents.values import document
from caudal.http.failures import BusyError
from caudal.vocabulary.units import MIB, Bytes, Seconds

KEPT_BYTES: Final = Bytes(64 * MIB)  # chosen: some forty of the largest documents (1.7 MB)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A document as it is sent."""

    status: int
    body: bytes
    etag: str
    media_type: str = "application/json"

    @classmethod
    def of(cls, command: str, payload: object, *, status: int = 200) -> "Rendered":
        """Return the document of `command` as JSON."""
        return cls.of_json(document(command, payload), status=status)

    @classmethod
    def of_json(cls, value: object, *, status: int = 200) -> "Rendered":
        """Return a JSON value as it is sent."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return cls.of_bytes(text.encode(), status=status)

    @classmethod
    def of_bytes(
        cls, body: bytes, *, status: int = 200, media_type: str = "application/json"
    ) -> "Rendered":
        """Return bytes as they are sent."""
        digest = hashlib.blake2b(body, digest_size=12).hexdigest()
        return cls(status=status, body=body, etag=f'W/"{digest}"', media_type=media_type)


class KeptAnswers:
    """The answers used last, as many as fit into a number of bytes."""

    def __init__(self, most_bytes: Bytes = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._answers: OrderedDict[Hashable, Rendered] = OrderedDict()

    def get(self, key: Hashable) -> Rendered | None:
        """Return a kept answer, None if there is none."""
        found = self._answers.get(key)
        if found is not None:
            self._answers.move_to_end(key)
        return found

    def keep(self, key: Hashable, answer: Rendered) -> None:
        """Keep an answer, and let the ones go that were not asked for longest."""
        if key in self._answers or len(answer.body) > self._most_bytes:
            return
        self._answers[key] = answer
        self._held_bytes += len(answer.body)
        while self._held_bytes > self._most_bytes:
            _, gone = self._answers.popitem(last=False)
            self._held_bytes -= len(gone.body)

    def __len__(self) -> int:
        return len(self._answers)


class Workshop:
    """A few threads that compute; who comes when too many wait is told to try again."""

    def __init__(self, *, workers: int, most_waiting: int, most_seconds: Seconds) -> None:
        self._workers = workers
        self._threads: ThreadPoolExecutor | None = None  # made when first needed
        self._most = workers + most_waiting
        self._most_seconds = most_seconds
        self._taken = 0
        self._running: dict[Hashable, asyncio.Future[Rendered]] = {}
        self._kept = KeptAnswers()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, computed in one of the threads.

        Raises:
            BusyError: too many wait already, or it took too long.
        """
        future = self._start(work)
        return await self._within_time(future)

    async def answer(self, key: Hashable, work: Callable[[], Rendered]) -> Rendered:
        """Return the answer to a question, kept or computed; equal questions share one computation.

        Raises:
            BusyError: too many wait already, or it took too long.
        """
        found = self._kept.get(key)
        if found is not None:
            return found
        future = self._running.get(key)
        if future is None:
            future = self._start(work)
            self._running[key] = future
            future.add_done_callback(lambda done: self._finish(key, done))
        return await self._within_time(future)

    def close(self) -> None:
        """Wait for what runs and drop what waits; a later question starts threads anew."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True, cancel_futures=True)

    def _start(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        if self._taken >= self._most:
            raise BusyError(
                f"{self._taken} questions are being computed or wait.",
                remedy="Try again in some seconds, or run a server of your own: caudal serve.",
            )
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="caudal")
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        self._taken += 1
        future.add_done_callback(self._release)
        return future

    def _release(self, future: asyncio.Future[Result]) -> None:
        self._taken -= 1
        if not future.cancelled():
            future.exception()  # looked at: whoever asked may have gone

    def _finish(self, key: Hashable, future: asyncio.Future[Rendered]) -> None:
        del self._running[key]
        if not future.cancelled() and future.exception() is None:
            self._kept.keep(key, future.result())

    async def _within_time(self, future: asyncio.Future[Result]) -> Result:
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._most_seconds)
        except TimeoutError:
            raise BusyError(
                f"The answer is not there after {self._most_seconds:g} s.",
                remedy="Try again: it may be there by then; or ask for fewer GPUs or offers.",
            ) from None
