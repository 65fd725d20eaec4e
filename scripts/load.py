"""Load a server of our own: cached facts, fits, idle event streams, and memory over many requests.

Everything runs on this machine: the server in one process, the clients in this one. Requests are
sent on a schedule, whether or not earlier ones were answered, so that a slow server is seen.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

FACTS: Final = (
    "/api/v1/gpus",
    "/api/v1/gpus/h100",
    "/api/v1/models?family=qwen",
    "/api/v1/models/llama-3.1-70b",
    "/api/v1/compare?gpu=l40s&gpu=h100",
    "/api/v1/offers?gpu=H100:8",
)
MODELS: Final = ("llama-3.1-8b", "llama-3.1-70b", "qwen3-32b", "deepseek-v3", "qwen3-8b")
GPUS: Final = ("H100", "H200", "L40S", "A100-80GB", "L4", "B200")
IDLE_STREAM: Final = "/api/v1/events"
CACHE_FILLING: Final = 90  # answers of 0.9 MB each, more than the 64 MiB that are kept
CONNECTIONS: Final = 64  # chosen: as many as a browser farm behind a proxy would hold open


class Connection:
    """One kept-alive HTTP/1.1 connection, so plain that the client is not the limit."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> tuple[int, int]:
        """Return status and body bytes of one request."""
        first = b""
        with suppress(ConnectionError):
            first = await self._first_line(path)
        if not first:  # the server has closed a connection that was idle
            self._streams = None
            first = await self._first_line(path)
        assert self._streams is not None, "the first line came over it"
        reader, _ = self._streams
        status = int(first.split()[1])
        size = 0
        while (line := await reader.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        await reader.readexactly(size)
        return status, size

    async def _first_line(self, path: str) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        return await reader.readline()


def fit_paths() -> Iterator[str]:
    """Yield questions of which no two are equal, so that none is answered from the cache."""
    number = 0
    while True:
        number += 1
        model, gpu = MODELS[number % len(MODELS)], GPUS[number % len(GPUS)]
        yield f"/api/v1/fit?model={model}&gpu={gpu}&concurrency={number}"


async def send_at(
    rate: float, seconds: float, paths: Iterator[str], ask: Callable[[str], Awaitable[int]]
) -> dict[str, float]:
    """Send `rate` requests a second for some seconds; return counts and times in milliseconds."""
    times: list[float] = []
    statuses: list[int] = []

    async def one(path: str, due_s: float) -> None:
        statuses.append(await ask(path))
        times.append((time.perf_counter() - due_s) * 1000)

    start_s = time.perf_counter()
    tasks = []
    for number in range(int(rate * seconds)):
        due_s = start_s + number / rate
        await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        tasks.append(asyncio.create_task(one(next(paths), due_s)))
    await asyncio.gather(*tasks)
    times.sort()
    return {
        "requests": len(statuses),
        "errors": sum(status >= 400 and status != 409 for status in statuses),
        "p50 ms": times[len(times) // 2],
        "p95 ms": times[int(len(times) * 0.95)],
        "p99 ms": times[int(len(times) * 0.99)],
        "worst ms": times[-1],
    }


def resident_mib(process: int) -> float:
    """Return the memory that a process holds, in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def server() -> Iterator[tuple[int, str, int]]:
    """Start `caudal serve` without a limit per client; yield its process, host and port."""
    command = [sys.executable, "-m", "caudal", "serve", "--port", "0", "--rate-limit", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = next(word for word in process.stdout.readline().split() if "://" in word)
        parts = urlsplit(url)
        try:
            yield process.pid, str(parts.hostname), int(parts.port or 0)
        finally:
            process.terminate()


async def measure(process: int, host: str, port: int, *, seconds: float, requests: int) -> bool:
    """Print every figure; return whether all is as it should be."""
    pool: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        pool.put_nowait(Connection(host, port))

    async def ask(path: str) -> int:
        connection = await pool.get()
        try:
            return (await connection.get(path))[0]
        finally:
            pool.put_nowait(connection)

    for path in FACTS:
        await ask(path)
    facts = await send_at(200, seconds, cycle(FACTS), ask)
    tell("200/s of cached facts", facts)
    fits = fit_paths()
    fit = await send_at(20, seconds, fits, ask)
    tell("20/s of fits, none asked before", fit)
    both = await asyncio.gather(
        send_at(200, seconds, cycle(FACTS), ask), send_at(20, seconds, fits, ask)
    )
    tell("facts and fits together: facts", both[0])
    tell("facts and fits together: fits", both[1])
    held = await idle_streams(host, port, ask)
    steady = await memory(process, requests, ask, fits)
    errors = facts["errors"] + fit["errors"] + both[0]["errors"] + both[1]["errors"]
    return errors == 0 and held and steady


async def idle_streams(host: str, port: int, ask: Callable[[str], Awaitable[int]]) -> bool:
    """Hold 1,000 event streams open, and ask for facts beside them."""
    writers = []
    for _ in range(1000):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET {IDLE_STREAM} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        writers.append((reader, writer))
    opened = [(await reader.readline()).split()[1] == b"200" for reader, _ in writers]
    beside = await send_at(100, 3, cycle(FACTS), ask)
    tell(f"{sum(opened)} idle event streams, 100/s of facts beside them", beside)
    for _, writer in writers:
        writer.close()
    return all(opened) and beside["errors"] == 0


async def memory(
    process: int, requests: int, ask: Callable[[str], Awaitable[int]], fits: Iterator[str]
) -> bool:
    """Send many requests as fast as they are answered; print the memory in tenths of the run.

    The cache of answers is filled first: it is bounded, and filling it is no leak.
    """
    for number in range(CACHE_FILLING):
        await ask(f"/api/v1/fit?model={MODELS[number % len(MODELS)]}&concurrency={number + 1}")
    print(f"the cache of answers is full: {resident_mib(process):.0f} MiB")
    facts = cycle(FACTS)
    held = []
    start_s = time.perf_counter()
    for tenth in range(10):
        for _ in range(requests // 10 // CONNECTIONS):
            paths = [next(fits) if n == 0 else next(facts) for n in range(CONNECTIONS)]
            await asyncio.gather(*(ask(path) for path in paths))
        held.append(resident_mib(process))
        print(f"  after {(tenth + 1) * requests // 10:>7,} requests: {held[-1]:.0f} MiB")
    rate = requests / (time.perf_counter() - start_s)
    print(f"{requests:,} requests, one fit in {CONNECTIONS}: {rate:,.0f}/s")
    return held[-1] < held[4] * 1.05


def tell(what: str, figures: dict[str, float]) -> None:
    """Print one line of figures."""
    print(f"{what}: " + ", ".join(f"{value:,.0f} {name}" for name, value in figures.items()))


def main() -> int:
    """Run all and return 0 if there was no error and the memory stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of each rate")
    parser.add_argument("--requests", type=int, default=50_000, help="for the memory")
    asked = parser.parse_args()
    with server() as (process, host, port), suppress(KeyboardInterrupt):
        good = asyncio.run(
            measure(process, host, port, seconds=asked.seconds, requests=asked.requests)
        )
        return 0 if good else 1
    return 130


if __name__ == "__main__":
    sys.exit(main())
