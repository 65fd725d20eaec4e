"""Recorded traffic: lines of a trace file to requests, in the forms that are published.

- Azure LLM inference traces: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.
- Mooncake: JSON lines with timestamp (ms), input_length, output_length, hash_ids (512 tokens each).
- BurstGPT: CSV with Timestamp (s), Model, Request tokens, Response tokens.
- A table of one's own: CSV with arrival (s), input, output.

Opening the file is the caller's affair; nothing here is read that has no use.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.traffic.requests import PS_PER_SECOND, PrefixTree, RequestTable
from caudal.vocabulary.errors import InvalidInputError

MOST_ROWS: Final = 20_000_000  # chosen: 200 days of the busiest public trace; bounds memory
MOST_TOKENS: Final = 10_000_000
MOST_LINE: Final = 4_000_000  # characters; a Mooncake line of 128k tokens has under 10,000
HASH_TOKENS: Final = 512  # of one Mooncake hash id. Source: github:kvcache-ai/Mooncake, traces


class InvalidTraceError(InvalidInputError):
    """A trace cannot be read; the message names the file and the line."""

    code = "invalid-trace"

    def __init__(self, name: str, line: int, problem: str) -> None:
        super().__init__(
            f"{name}, line {line:,}: {problem}.",
            remedy=(
                "Traces are CSV with TIMESTAMP,ContextTokens,GeneratedTokens or Timestamp,Request "
                "tokens,Response tokens or arrival,input,output, or JSON lines with timestamp, "
                "input_length, output_length."
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests as recorded, in the order of their arrival; arrays are [requests]."""

    name: str
    arrival_s: NDArray[np.float64]  # from the first one's
    prompt: NDArray[np.int32]
    output: NDArray[np.int32]
    skipped: int = 0  # rows without a prompt or an answer, such as failed requests
    hashes: tuple[tuple[int, ...], ...] | None = None  # blocks of each prompt, where recorded

    @property
    def rate(self) -> float:
        """Return the mean rate in requests per second."""
        span = float(self.arrival_s[-1])
        return (len(self.arrival_s) - 1) / span if span > 0 else float(len(self.arrival_s))

    @property
    def mean_tokens(self) -> tuple[float, float]:
        """Return the mean prompt and output in tokens."""
        return float(self.prompt.mean()), float(self.output.mean())


@dataclass(frozen=True, slots=True)
class _Row:
    arrival_s: float
    prompt: int
    output: int
    hashes: tuple[int, ...] = ()


def read_trace(lines: Iterable[str], *, name: str, most: int = MOST_ROWS) -> Trace:
    """Return the trace in `lines`, of whichever form its first line shows; at most `most` rows.

    Rows without prompt or answer tokens are counted and left out.

    Raises:
        InvalidTraceError: no known form, or a row that cannot be read.
    """
    rows, skipped = [], 0
    for row in _rows(_bounded(lines, name), name):
        if row.prompt < 1 or row.output < 1:
            skipped += 1
            continue
        rows.append(row)
        if len(rows) >= most:
            break
    if not rows:
        raise InvalidTraceError(name, 1, "no request with a prompt and an answer")
    rows.sort(key=lambda row: row.arrival_s)
    start = rows[0].arrival_s
    return Trace(
        name=name,
        arrival_s=np.array([row.arrival_s - start for row in rows]),
        prompt=np.array([row.prompt for row in rows], np.int32),
        output=np.array([row.output for row in rows], np.int32),
        skipped=skipped,
        hashes=tuple(row.hashes for row in rows) if any(row.hashes for row in rows) else None,
    )


def trace_requests(trace: Trace, count: int, *, speed: float = 1.0) -> RequestTable:
    """Return the first `count` requests of a trace, in 1/`speed` of their time."""
    count = min(count, len(trace.arrival_s))
    return RequestTable(
        arrival=np.rint(trace.arrival_s[:count] / speed * PS_PER_SECOND).astype(np.int64),
        prompt=trace.prompt[:count],
        output=trace.output[:count],
        think=np.zeros(count, np.int64),
        root=None if trace.hashes is None else _roots(trace.hashes[:count]),
        prefixes=None if trace.hashes is None else _tree(trace, count),
    )


def _roots(hashes: tuple[tuple[int, ...], ...]) -> NDArray[np.int64]:
    numbers: dict[int, int] = {}
    return np.array(
        [numbers.setdefault(ids[0], len(numbers)) if ids else -1 for ids in hashes], np.int64
    )


def _tree(trace: Trace, count: int) -> PrefixTree:
    """Return the hashed blocks as pieces; the last one of a prompt may be shorter."""
    assert trace.hashes is not None, "asked only with hashes"
    numbers: dict[int, int] = {}
    first, node, ends = [0], [], []
    for at in range(count):
        tokens = int(trace.prompt[at])
        for index, each in enumerate(trace.hashes[at]):
            end = (index + 1) * HASH_TOKENS
            if end > tokens:  # a partial block is hashed by its own content: shared by nobody
                break
            node.append(numbers.setdefault(each, len(numbers)))
            ends.append(end)
        first.append(len(node))
    return PrefixTree(
        first=np.array(first, np.int64),
        node=np.array(node, np.int32),
        node_end=np.array(ends, np.int32),
        nodes=len(numbers),
    )


def _bounded(lines: Iterable[str], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_LINE:
            raise InvalidTraceError(name, number, f"more than {MOST_LINE:,} characters")
        yield line


def _rows(lines: Iterator[str], name: str) -> Iterator[_Row]:
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InvalidTraceError(name, 1, "the file is empty")
    first = first.lstrip("\ufeff")
    if first.lstrip().startswith("{"):
        yield _json_row(first, name, 1)
        for number, line in enumerate(lines, 2):
            if line.strip():
                yield _json_row(line, name, number)
        return
    header = [column.strip().casefold() for column in next(csv.reader([first]))]
    read = _csv_form(header, name)
    table = csv.DictReader(lines, fieldnames=header, restkey="", restval="")
    try:
        for row in table:
            yield read(row, table.line_num + 1)
    except csv.Error as error:
        raise InvalidTraceError(name, table.line_num + 1, str(error)) from error


def _csv_form(header: list[str], name: str) -> Callable[[Mapping[str, str], int], _Row]:
    forms = (
        ("timestamp", "contexttokens", "generatedtokens"),
        ("timestamp", "request tokens", "response tokens"),
        ("arrival", "input", "output"),
    )
    for when, prompt, output in forms:
        if {when, prompt, output} <= set(header):
            return lambda row, line: _Row(
                _moment(row[when], name, line),
                _tokens(row[prompt], prompt, name, line),
                _tokens(row[output], output, name, line),
            )
    raise InvalidTraceError(name, 1, f"the columns {', '.join(header[:8])!r} are of no known form")


def _json_row(line: str, name: str, number: int) -> _Row:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidTraceError(name, number, f"no JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidTraceError(name, number, "no JSON object")
    hashes = found.get("hash_ids", [])
    if not isinstance(hashes, list) or not all(isinstance(each, int) for each in hashes):
        raise InvalidTraceError(name, number, "hash_ids is no list of whole numbers")
    return _Row(
        _number(found.get("timestamp"), "timestamp", name, number) / 1e3,
        _tokens(found.get("input_length"), "input_length", name, number),
        _tokens(found.get("output_length"), "output_length", name, number),
        tuple(hashes),
    )


def _number(value: object, field: str, name: str, line: int) -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if np.isfinite(number):
            return number
    raise InvalidTraceError(name, line, f"{field} is no number: {str(value)[:40]!r}")


def _tokens(value: object, field: str, name: str, line: int) -> int:
    number = _number(value, field, name, line)
    if not 0 <= number <= MOST_TOKENS or number != int(number):
        raise InvalidTraceError(name, line, f"{field} is no count of tokens: {str(value)[:40]!r}")
    return int(number)


def _moment(text: str, name: str, line: int) -> float:
    """Return seconds of a number, or of a date and time such as 2023-11-16 18:15:46.6805900."""
    try:
        return _number(text, "timestamp", name, line)
    except InvalidTraceError:
        pass
    whole, dot, rest = text.strip().partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    try:
        moment = datetime.fromisoformat(whole + rest[len(digits) :])
    except ValueError as error:
        raise InvalidTraceError(name, line, f"no time: {text[:40]!r}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() + (float(f"0.{digits}") if dot and digits else 0.0)
