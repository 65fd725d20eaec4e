"""A log as lines that can be searched: bounded, without colours, prefixes and borders."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from caudal.vocabulary.units import GIB, MIB

MOST_CHARACTERS: Final = 2_000_000  # chosen: a verbose start is 200 kB; the first part counts
_LONGEST_LINE: Final = 20_000  # chosen: SGLang prints all its arguments, 8,000, in one line
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,12}[A-Za-z]")
_LARGEST: Final = 1e18  # chosen: a quantity beyond an exabyte is no measurement
# Some engines print "GB" for 2^30: vLLM and SGLang divide by 1 << 30.
_UNITS: Final = {
    "GiB": float(GIB),
    "GB": float(GIB),
    "MiB": float(MIB),
    "MB": float(MIB),
    "KiB": 1024.0,
}


def lines_of(text: str) -> list[str]:
    """Return the lines of a log, each cut where no start-up line is that long."""
    plain = _COLOUR.sub("", text[:MOST_CHARACTERS]).replace("\r", "\n")
    return [line[:_LONGEST_LINE] for line in plain.split("\n") if line.strip()]


def searches(
    pattern: str, *, holding: str = ""
) -> Callable[[Iterable[str]], Iterator[re.Match[str]]]:
    """Return a function that yields the first match of a pattern in each line.

    Lines without the text `holding` are passed over unsearched.
    """
    compiled = re.compile(pattern, re.ASCII)

    def search(lines: Iterable[str]) -> Iterator[re.Match[str]]:
        for line in lines:
            found = compiled.search(line) if holding in line else None
            if found is not None:
                yield found

    return search


def size_of(number: str, unit: str) -> float | None:
    """Return a printed size in bytes, None where it is no size."""
    value = number_of(number)
    return None if value is None else value * _UNITS[unit]


def number_of(text: str) -> float | None:
    """Return a printed number, "1,024.5" among them; None beyond what anything measures."""
    try:
        value = float(text.replace(",", "")) if len(text) < 40 else _LARGEST
    except ValueError:
        return None
    return value if 0 <= value < _LARGEST else None


def count_of(text: str) -> int | None:
    """Return a printed whole number, None where it is none."""
    value = number_of(text)
    return None if value is None else int(value)


def setting(lines: Iterable[str], *names: str) -> str:
    """Return a setting as engines print their arguments, "" where it is absent or None.

    `name=4`, `name='x'`, `'name': 0.9`, `--name 4` and `--name=4`; the last one counts.
    """
    found = ""
    for name in names:
        option = re.escape(name).replace("_", "[-_]")
        value = r"['\"]?([^\s'\",)}]{1,300})"
        pattern = re.compile(
            rf"(?<![\w-])(?:['\"]?{option}['\"]?\s?[=:]\s?|--{option}[= ]){value}", re.ASCII
        )
        for line in lines:
            if name.replace("_", "-") not in line and name not in line:
                continue
            for match in pattern.finditer(line):
                if match[1] not in {"None", "null", "auto"}:
                    found = match[1]
        if found:
            break
    return found


def largest(sizes: Iterable[float | None]) -> float | None:
    """Return the largest of some sizes, None where there is none."""
    return max((size for size in sizes if size is not None), default=None)


def smallest(sizes: Iterable[float | None]) -> float | None:
    """Return the smallest of some sizes, None where there is none."""
    return min((size for size in sizes if size is not None), default=None)


def last(values: Iterable[float | None]) -> float | None:
    """Return the last value that is one, None where there is none."""
    found = None
    for value in values:
        found = found if value is None else value
    return found


def last_count(texts: Iterable[str]) -> int | None:
    """Return the last printed whole number, None where there is none."""
    found = None
    for text in texts:
        found = count_of(text)
    return found
