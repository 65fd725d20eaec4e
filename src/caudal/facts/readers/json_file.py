"""JSON files of strangers: bounded, never blocking, never followed out of their folder.

Each thing that may be wrong with one gives one error that names the file and what to do.
"""

import errno
import json
import math
import os
import stat
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NoReturn

from caudal.vocabulary.errors import CaudalError, InvalidModelFileError, UnavailableError

LFS_POINTER: Final = b"version https://git-lfs"  # how a Git clone without the file begins
_DEEPEST: Final = 100  # chosen: configurations nest 4 deep


class _BadJsonError(Exception):
    """Something that JSON allows, or a reader lets pass, but a model file must not have."""


def read_object(path: Path, *, within: Path, most_bytes: int) -> tuple[dict[str, object], date]:
    """Return the JSON object in a file that lies in the folder `within`, and its date."""
    real = real_path(path, shown=path)
    if not _lies_in(real, within):
        raise InvalidModelFileError(
            f"{shown_path(path)} is a link that leads out of its folder, to {shown_path(real)}.",
            remedy="Copy the file into the folder, or name the file that the link leads to.",
        )
    raw, modified_on = read_bytes(real, shown=path, most_bytes=most_bytes)
    return parse_object(raw, shown=path), modified_on


def parse_object(raw: bytes, *, shown: Path) -> dict[str, object]:
    """Return the JSON object in the bytes of a file that is called `shown`.

    Raises:
        InvalidModelFileError: they are no JSON object, or one that no model file has.
    """
    return _parse(_decode(raw, shown), shown)


def _lies_in(real: Path, folder: Path) -> bool:
    """Return whether a file lies in a folder; a hub snapshot links into its own model's blobs."""
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        folder = folder.parent.parent
    return real.is_relative_to(folder)


def read_bytes(real: Path, *, shown: Path, most_bytes: int) -> tuple[bytes, date]:
    """Return what a regular file holds, at most so many bytes, and the day it was written."""
    _check_regular(file_status(real, shown=shown), shown=shown, most_bytes=most_bytes)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        descriptor = os.open(real, flags | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())  # again: it may have been replaced meanwhile
            _check_regular(status, shown=shown, most_bytes=most_bytes)
            raw = stream.read(most_bytes + 1)
    except OSError as problem:
        _raise_for(problem, shown)
    if len(raw) > most_bytes:
        raise _too_large(shown, len(raw), most_bytes)
    return raw, datetime.fromtimestamp(max(status.st_mtime, 0), tz=UTC).date()


def _check_regular(status: os.stat_result, *, shown: Path, most_bytes: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise wrong_json(shown, "is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise wrong_json(shown, "is a pipe, socket or device, not a file")
    if status.st_size > most_bytes:
        raise _too_large(shown, status.st_size, most_bytes)


def real_path(path: Path, *, shown: Path) -> Path:
    """Return where a path leads, or one of our errors."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as problem:
        _raise_for(problem, shown)
    except ValueError:
        raise wrong_json(shown, "is no path: it holds a null character") from None


def file_status(real: Path, *, shown: Path) -> os.stat_result:
    """Return what the file system says of a path, or one of our errors."""
    try:
        return real.stat()
    except OSError as problem:
        _raise_for(problem, shown)


def _raise_for(problem: OSError, path: Path) -> NoReturn:
    """Translate what the operating system says into one of our errors."""
    what: dict[int | None, CaudalError] = {
        errno.ENOENT: InvalidModelFileError(
            f"There is no file or folder {shown_path(path)}.", remedy="Check the path."
        ),
        errno.ENOTDIR: InvalidModelFileError(
            f"{shown_path(path)} leads through a file as if it were a folder.",
            remedy="Check the path.",
        ),
        errno.ELOOP: InvalidModelFileError(
            f"{shown_path(path)} is a link that leads in a circle.",
            remedy="Replace the link by the file itself.",
        ),
        errno.ENAMETOOLONG: InvalidModelFileError(
            "The path is longer than a path may be.", remedy="Check the path."
        ),
        errno.EACCES: UnavailableError(
            f"{shown_path(path)} may not be read by this user.",
            remedy="Give read permission on the file and its folders, or copy it.",
        ),
    }
    what[errno.EPERM] = what[errno.EACCES]
    other = UnavailableError(
        f"{shown_path(path)} cannot be read: {problem.strerror or problem}.",
        remedy="Check the disk and the file, then try again.",
    )
    raise what.get(problem.errno, other) from None


def _decode(raw: bytes, path: Path) -> str:
    if not raw.strip():
        raise wrong_json(path, "is empty")
    if raw.startswith(LFS_POINTER):
        raise wrong_json(path, "is a Git LFS pointer: the file itself has not been downloaded")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise wrong_json(path, f"is not UTF-8 (at byte {problem.start:,})") from None


def _parse(text: str, path: Path) -> dict[str, object]:
    try:
        parsed = json.loads(
            text,
            object_pairs_hook=_without_doubles,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as problem:
        at_end = not text[problem.pos :].strip()
        cut = "; it ends too early, as if the download broke off" if at_end else ""
        where = f"line {problem.lineno}, column {problem.colno}"
        raise wrong_json(path, f"is not JSON: {problem.msg} in {where}{cut}") from None
    except (_BadJsonError, ValueError) as problem:
        why = str(problem) if isinstance(problem, _BadJsonError) else "it holds an endless number"
        raise wrong_json(path, why) from None
    except RecursionError:
        raise wrong_json(path, "is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise wrong_json(path, f"holds no object but a {type(parsed).__name__}")
    if _depth_exceeds(parsed, _DEEPEST):
        raise wrong_json(path, f"is nested more than {_DEEPEST} deep")
    return parsed


def _depth_exceeds(value: object, most: int) -> bool:
    """Return whether `value` nests deeper than `most`, level by level and without recursion."""
    level: list[object] = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        doubled = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _BadJsonError(f"field {doubled[:60]} stands twice")
    return values


def _refuse_constant(constant: str) -> NoReturn:
    raise _BadJsonError(f"it holds {constant}, which is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _BadJsonError(f"it holds {text[:40]}, which is beyond any number")
    return number


def _too_large(path: Path, size: int, most: int) -> InvalidModelFileError:
    return InvalidModelFileError(
        f"{shown_path(path)} has {size:,} bytes; more than {most:,} are not read.",
        remedy=f"A model's {path.name} is far smaller: check that it is the right file.",
    )


def wrong_json(path: Path, why: str) -> InvalidModelFileError:
    """Return the error that a file is damaged, for the reason `why`."""
    return InvalidModelFileError(
        f"{shown_path(path)}: {why}.", remedy="Download the file again, or correct it."
    )


def shown_path(path: Path) -> str:
    """Return a path as messages print it: unprintable characters escaped, at most 200 long."""
    text = str(path)
    safe = text if text.isprintable() else ascii(text)[1:-1]
    return safe if len(safe) <= 200 else f"…{safe[-199:]}"
