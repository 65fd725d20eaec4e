"""Scenario and trace files: opened here, read by the rooms."""

import gzip
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Final

from caudal.facts.models import resolve_model
from caudal.simulate.refusals import InvalidScenarioError
from caudal.simulate.scenario import Scenario, read_scenario
from caudal.traffic.trace import InvalidTraceError, Trace, read_trace
from caudal.vocabulary.errors import UnavailableError

LARGEST_SCENARIO: Final = 1_000_000  # bytes; chosen: hand-written files are a thousandth of it
LARGEST_TRACE: Final = 4_000_000_000  # bytes, unpacked; bounds a file that unpacks without end


def scenario_from_file(
    name: str, *, requests: int | None = None, seed: int | None = None, rate: float | None = None
) -> Scenario:
    """Return the scenario in a TOML file; what is given beside it takes precedence.

    A trace's path is relative to the scenario's folder.

    Raises:
        InvalidScenarioError: the file is no TOML, or a field cannot be meant.
        UnavailableError: a file cannot be read.
    """
    path = Path(name)
    try:
        raw = path.read_bytes()
        text = raw.decode()
    except OSError as error:
        raise UnavailableError(
            f"{name} cannot be read: {error.strerror}.", remedy="Give the path of a scenario file."
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidScenarioError(
            f"{name} is no text in UTF-8.", remedy="Give a scenario in TOML."
        ) from error
    if len(raw) > LARGEST_SCENARIO:
        raise InvalidScenarioError(
            f"{name} has {len(raw):,} bytes, more than a scenario needs.",
            remedy="Put measured requests into a trace file and name it in [load].",
        )
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidScenarioError(
            f"{name} is no TOML: {error}.", remedy="See docs/how-to/simulate.md for an example."
        ) from error
    scenario = read_scenario(
        document,
        name=name,
        resolve=resolve_model,
        read_trace=lambda trace: trace_from_file(str(path.parent / trace)),
    )
    return replace(
        scenario,
        requests=requests or scenario.requests,
        seed=scenario.seed if seed is None else seed,
        load=scenario.load if rate is None else scenario.load.at(rate),
    )


def trace_from_file(name: str) -> Trace:
    """Return the trace in a CSV or JSON-lines file, packed with gzip or not.

    Raises:
        InvalidTraceError: no known form, or a row that cannot be read.
        UnavailableError: the file cannot be read.
    """
    path = Path(name)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            return read_trace(_Bounded(lines, name), name=name)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InvalidTraceError(name, 1, f"no text in UTF-8 ({error})") from error
    except OSError as error:
        raise UnavailableError(
            f"The trace {name} cannot be read: {error.strerror or error}.",
            remedy="Give the path of a trace file, relative to the scenario's folder.",
        ) from error


class _Bounded:
    """Lines of a file, of bounded length and number."""

    def __init__(self, lines: object, name: str) -> None:
        self._lines = lines
        self._name = name

    def __iter__(self) -> "_Bounded":
        self._left = LARGEST_TRACE
        self._number = 0
        return self

    def __next__(self) -> str:
        line: str = self._lines.readline(_LONGEST_LINE)  # type: ignore[attr-defined]  # a text file
        if not line:
            raise StopIteration
        self._number += 1
        self._left -= len(line)
        if self._left < 0:
            raise InvalidTraceError(self._name, self._number, "the file unpacks to more than 4 GB")
        return line


_LONGEST_LINE: Final = 5_000_000  # characters; the reader refuses lines beyond 4 million
