"""Code blocks of the README and of docs/, found, run and compared.

A `console` block holds commands after `$ ` and, under each, its output. A line that is just `…`
stands for any lines; a command without output under it must only succeed.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ANYTHING: Final = "…"
# Examples are run on the day they were written, so that ages of prices stay as shown.
TODAY: Final = "1796040000"  # 2026-11-30, in seconds since 1970
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    path: Path
    line: int  # of the opening fence
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Example:
    """One command of a console block and the output that is printed under it."""

    command: str
    output: str


def documents() -> tuple[Path, ...]:
    """Return every page that people read, in a stable order."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return tuple(path for path in (*named, *pages) if path.exists())


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of one page."""
    text = path.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(path, line, found[1], found[2])


def all_blocks(language: str | None = None) -> tuple[Block, ...]:
    """Return the blocks of all pages, or those in one language."""
    found = (block for path in documents() for block in blocks_of(path))
    return tuple(block for block in found if language is None or block.language == language)


def examples_of(text: str) -> tuple[Example, ...]:
    """Return the commands of a console block, each with the output under it."""
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return tuple(
        Example(command, output)
        for command, _, output in (piece.partition("\n") for piece in pieces)
    )


def run_example(command: str, *, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a `caudal …` command as a person would, in this interpreter's installation."""
    words = shlex.split(command)
    assert words[0] == "caudal", f"examples run caudal, not {words[0]}"
    return subprocess.run(
        [sys.executable, "-m", "caudal", *words[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": TODAY, "COLUMNS": "120"},
        check=False,
        timeout=60,
    )


def matches(shown: str, real: str) -> bool:
    """Return whether real output is what is shown, with `…` lines standing for any lines."""
    return _matches(_lines(shown), _lines(real))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _matches(shown: Sequence[str], real: Sequence[str]) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANYTHING else re.escape(line) + "\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in real)) is not None
