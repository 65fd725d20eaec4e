"""The only place that reads model files from disk: bounded, never blocking, never a traceback.

A file from the hub is a stranger's: it may be huge, truncated, a pipe, a loop of links, or a link
that leads elsewhere. Each of these gives one error that names the file and what to do.
"""

import errno
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NoReturn

from caudal.facts.readers.safetensors import read_safetensors
from caudal.facts.readers.weight_file import open_weight_file
from caudal.vocabulary.errors import CaudalError, InvalidModelFileError, UnavailableError
from caudal.vocabulary.units import MIB, Bytes

CONFIG_NAME: Final = "config.json"
INDEX_NAME: Final = "model.safetensors.index.json"
SINGLE_NAME: Final = "model.safetensors"
CONFIG_MOST_BYTES: Final = 16 * MIB  # chosen: the largest known, with all layers listed, is 27 kB
INDEX_MOST_BYTES: Final = 256 * MIB  # chosen: Kimi K2's index, one of the longest, is about 16 MB
CHECKPOINT_MOST_BYTES: Final = 10**15  # chosen: a petabyte, 100 times the largest published
_LFS_POINTER: Final = b"version https://git-lfs"  # how a Git clone without the file begins
_DEEPEST: Final = 100  # chosen: configurations nest 4 deep
_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_OTHER_WEIGHTS: Final = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """What was read of one downloaded model."""

    config: Mapping[str, object]
    config_file: str  # as it is named in messages
    modified_on: date  # the day on which the configuration was last written
    checkpoint_bytes: Bytes | None  # of the index, or of all tensors in model.safetensors


class _BadJsonError(Exception):
    """Something that JSON allows, or a reader lets pass, but a model file must not have."""


def read_model_files(path: Path) -> ModelFiles:
    """Return the configuration in a folder (or the file named) and the checkpoint's exact size.

    The size is what the index states, or what the header of an unsplit model.safetensors adds up
    to; None where neither is there.

    Keys that begin with `_` are dropped: they are the catalogue's own, or the hub's remarks.

    Raises:
        InvalidModelFileError: the path, the file or its contents are not a model's.
        UnavailableError: the file is there, but may not be read.
    """
    real = _real_path(path, shown=path)
    if stat.S_ISDIR(_status(real, shown=path).st_mode):
        folder, config_path = real, path / CONFIG_NAME
        if not os.path.lexists(real / CONFIG_NAME):
            raise _no_config(path, folder)
    else:
        folder, config_path = Path(os.path.realpath(path.parent)), path
        if path.suffix in _OTHER_WEIGHTS:
            raise InvalidModelFileError(
                f"{_shown(path)} holds weights, not a configuration.",
                remedy=f"Name the folder that holds {CONFIG_NAME} beside it.",
            )
    config, modified_on = _read_object(config_path, within=folder, most_bytes=CONFIG_MOST_BYTES)
    beside = config_path.parent
    return ModelFiles(
        config={key: value for key, value in config.items() if not key.startswith("_")},
        config_file=str(config_path),
        modified_on=modified_on,
        checkpoint_bytes=_total_size(beside / INDEX_NAME, within=folder)
        or _single_file_bytes(beside / SINGLE_NAME),
    )


def is_explicit_path(text: str) -> bool:
    """Return whether `text` can only be a path: `./x`, `/x`, `~/x`, `x.json`, `a/b/c`, `x/`."""
    return (
        text in {".", "..", "~"}
        or text.startswith(("./", "../", "/", "~/", ".\\", "..\\"))
        or text.endswith((".json", "/", *_OTHER_WEIGHTS))
        or text.count("/") > 1
    )


def is_hub_id(text: str) -> bool:
    """Return whether `text` has the form of a hub id, `organisation/name`."""
    return _HUB_ID.fullmatch(text) is not None


def existing_path(text: str) -> Path | None:
    """Return the path that `text` names if something is there (be it a broken link)."""
    try:
        path = Path(text).expanduser()
        return path if os.path.lexists(path) else None
    except (OSError, ValueError, RuntimeError):
        return None


def cached_snapshot(hub_id: str, *, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder in which the hub's own client keeps a downloaded model, None if none.

    Read only. The cache is `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`;
    the snapshot is the one that `refs/main` names, else the newest that has a configuration.
    """
    if not is_hub_id(hub_id):
        return None
    settings = os.environ if environment is None else environment
    root = _hub_cache(settings) / f"models--{hub_id.replace('/', '--')}"
    snapshots = [root / "snapshots" / name for name in _names_in(root / "snapshots")]
    having = [folder for folder in snapshots if os.path.lexists(folder / CONFIG_NAME)]
    main = _main_revision(root / "refs" / "main") if having else ""
    if main in {folder.name for folder in having}:
        return root / "snapshots" / main
    return max(having, key=lambda folder: (folder.lstat().st_mtime, folder.name), default=None)


def _main_revision(path: Path) -> str:
    """Return the revision that a branch file of the cache names, "" if it names none."""
    try:
        raw, _ = _read_bytes(path, shown=path, most_bytes=1024)
    except CaudalError:
        return ""
    text = raw.decode("ascii", errors="replace").strip()
    return text if _REVISION.fullmatch(text) else ""


def _hub_cache(settings: Mapping[str, str]) -> Path:
    if settings.get("HF_HUB_CACHE"):
        return Path(settings["HF_HUB_CACHE"])
    if settings.get("HF_HOME"):
        return Path(settings["HF_HOME"]) / "hub"
    home = settings.get("HOME") or str(Path("~").expanduser())
    return Path(settings.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "huggingface" / "hub"


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _total_size(path: Path, *, within: Path) -> Bytes | None:
    """Return `metadata.total_size` of a safetensors index; None without index or figure."""
    if not os.path.lexists(path):
        return None
    index, _ = _read_object(path, within=within, most_bytes=INDEX_MOST_BYTES)
    metadata = index.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise _wrong(path, "field metadata is not an object")
    size = metadata.get("total_size")
    if size is None:
        return None
    whole = isinstance(size, int | float) and not isinstance(size, bool) and size == int(size)
    if not whole or not 0 < size <= CHECKPOINT_MOST_BYTES:
        allowed = f"a whole number of bytes from 1 to {CHECKPOINT_MOST_BYTES:,}"
        raise _wrong(path, f"field metadata.total_size is {str(size)[:40]}; allowed is {allowed}")
    return Bytes(int(size))


def _single_file_bytes(path: Path) -> Bytes | None:
    """Return what the tensors of an unsplit checkpoint occupy; None if it is not downloaded."""
    if not os.path.lexists(path):
        return None
    with open_weight_file(path) as (stream, _):
        if stream.read(len(_LFS_POINTER)) == _LFS_POINTER:
            return None
    return read_safetensors(path).tensor_bytes


def _read_object(path: Path, *, within: Path, most_bytes: int) -> tuple[dict[str, object], date]:
    """Return the JSON object in a file that lies in the folder `within`, and its date."""
    real = _real_path(path, shown=path)
    if not _lies_in(real, within):
        raise InvalidModelFileError(
            f"{_shown(path)} is a link that leads out of its folder, to {_shown(real)}.",
            remedy="Copy the file into the folder, or name the file that the link leads to.",
        )
    raw, modified_on = _read_bytes(real, shown=path, most_bytes=most_bytes)
    return _parse(_decode(raw, path), path), modified_on


def _lies_in(real: Path, folder: Path) -> bool:
    """Return whether a file lies in a folder; a hub snapshot links into its own model's blobs."""
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        folder = folder.parent.parent
    return real.is_relative_to(folder)


def _read_bytes(real: Path, *, shown: Path, most_bytes: int) -> tuple[bytes, date]:
    _check_regular(_status(real, shown=shown), shown=shown, most_bytes=most_bytes)
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
        raise _wrong(shown, "is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise _wrong(shown, "is a pipe, socket or device, not a file")
    if status.st_size > most_bytes:
        raise _too_large(shown, status.st_size, most_bytes)


def _real_path(path: Path, *, shown: Path) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as problem:
        _raise_for(problem, shown)
    except ValueError:
        raise _wrong(shown, "is no path: it holds a null character") from None


def _status(real: Path, *, shown: Path) -> os.stat_result:
    try:
        return real.stat()
    except OSError as problem:
        _raise_for(problem, shown)


def _raise_for(problem: OSError, path: Path) -> NoReturn:
    """Translate what the operating system says into one of our errors."""
    what: dict[int | None, CaudalError] = {
        errno.ENOENT: InvalidModelFileError(
            f"There is no file or folder {_shown(path)}.", remedy="Check the path."
        ),
        errno.ENOTDIR: InvalidModelFileError(
            f"{_shown(path)} leads through a file as if it were a folder.", remedy="Check the path."
        ),
        errno.ELOOP: InvalidModelFileError(
            f"{_shown(path)} is a link that leads in a circle.",
            remedy="Replace the link by the file itself.",
        ),
        errno.ENAMETOOLONG: InvalidModelFileError(
            "The path is longer than a path may be.", remedy="Check the path."
        ),
        errno.EACCES: UnavailableError(
            f"{_shown(path)} may not be read by this user.",
            remedy="Give read permission on the file and its folders, or copy it.",
        ),
    }
    what[errno.EPERM] = what[errno.EACCES]
    other = UnavailableError(
        f"{_shown(path)} cannot be read: {problem.strerror or problem}.",
        remedy="Check the disk and the file, then try again.",
    )
    raise what.get(problem.errno, other) from None


def _decode(raw: bytes, path: Path) -> str:
    if not raw.strip():
        raise _wrong(path, "is empty")
    if raw.startswith(_LFS_POINTER):
        raise _wrong(path, "is a Git LFS pointer: the file itself has not been downloaded")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise _wrong(path, f"is not UTF-8 (at byte {problem.start:,})") from None


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
        raise _wrong(path, f"is not JSON: {problem.msg} in {where}{cut}") from None
    except (_BadJsonError, ValueError) as problem:
        why = str(problem) if isinstance(problem, _BadJsonError) else "it holds an endless number"
        raise _wrong(path, why) from None
    except RecursionError:
        raise _wrong(path, "is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise _wrong(path, f"holds no object but a {type(parsed).__name__}")
    if _depth_exceeds(parsed, _DEEPEST):
        raise _wrong(path, f"is nested more than {_DEEPEST} deep")
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


def _no_config(path: Path, folder: Path) -> InvalidModelFileError:
    names = _names_in(folder)
    weights = sorted(n for n in names if n.endswith(_OTHER_WEIGHTS))
    beside = f" There is {weights[0]}, which holds weights only." if weights else ""
    return InvalidModelFileError(
        f"The folder {_shown(path)} has no {CONFIG_NAME}.",
        remedy=f"Put the model's {CONFIG_NAME} there.{beside}",
    )


def _too_large(path: Path, size: int, most: int) -> InvalidModelFileError:
    return InvalidModelFileError(
        f"{_shown(path)} has {size:,} bytes; more than {most:,} are not read.",
        remedy=f"A model's {path.name} is far smaller: check that it is the right file.",
    )


def _wrong(path: Path, why: str) -> InvalidModelFileError:
    return InvalidModelFileError(
        f"{_shown(path)}: {why}.", remedy="Download the file again, or correct it."
    )


def _shown(path: Path) -> str:
    """Return a path as messages print it: unprintable characters escaped, at most 200 long."""
    text = str(path)
    safe = text if text.isprintable() else ascii(text)[1:-1]
    return safe if len(safe) <= 200 else f"…{safe[-199:]}"
