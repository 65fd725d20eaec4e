"""A model's folder on disk: its configuration and the headers of the weights beside it.

A file from the hub is a stranger's: it may be huge, truncated, a pipe, a loop of links, or a link
that leads elsewhere. Each of these gives one error that names the file and what to do.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from caudal.facts.readers.checkpoint_files import read_checkpoint_files, refused_pickle
from caudal.facts.readers.hub_cache import names_in
from caudal.facts.readers.json_file import file_status, read_object, real_path, shown_path
from caudal.facts.readers.weight_file import WeightHeader
from caudal.vocabulary.errors import InvalidModelFileError
from caudal.vocabulary.units import MIB, Bytes

CONFIG_NAME: Final = "config.json"
CONFIG_MOST_BYTES: Final = 16 * MIB  # chosen: the largest known, with all layers listed, is 27 kB
PICKLES: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_WEIGHTS: Final = (".gguf", ".safetensors", *PICKLES, ".onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """What was read of one downloaded model."""

    config: Mapping[str, object]
    config_file: str  # as it is named in messages
    modified_on: date  # the day on which the configuration was last written
    checkpoint_bytes: Bytes | None  # of all tensors, by their headers or the index
    header: WeightHeader | None = None  # of the safetensors, where all of them are there
    note: str = ""


def read_model_files(path: Path) -> ModelFiles:
    """Return the configuration in a folder (or beside the file named) and the checkpoint's size.

    The size is what the headers of all safetensors add up to or, where they are not downloaded,
    what their index states; None where neither is there. Keys that begin with `_` are dropped:
    they are the catalogue's own, or the hub's remarks.

    Raises:
        InvalidModelFileError: the path, the file or its contents are not a model's.
        UnavailableError: the file is there, but may not be read.
    """
    real = real_path(path, shown=path)
    if stat.S_ISDIR(file_status(real, shown=path).st_mode):
        return _read_folder(path, within=real)
    if path.suffix in PICKLES:
        raise refused_pickle(path)
    if path.name.endswith((".safetensors", ".safetensors.index.json")):
        return _read_folder(path.parent, within=Path(os.path.realpath(path.parent)))
    if path.suffix in _WEIGHTS:
        raise InvalidModelFileError(
            f"{shown_path(path)} holds weights in a format that is not read here.",
            remedy=f"Name the folder that holds {CONFIG_NAME} beside it.",
        )
    return _read_files(path, within=Path(os.path.realpath(path.parent)))


def is_explicit_path(text: str) -> bool:
    """Return whether `text` can only be a path: `./x`, `/x`, `~/x`, `x.json`, `a/b/c`, `x/`."""
    return (
        text in {".", "..", "~"}
        or text.startswith(("./", "../", "/", "~/", ".\\", "..\\"))
        or text.endswith((".json", "/", *_WEIGHTS))
        or text.count("/") > 1
    )


def existing_path(text: str) -> Path | None:
    """Return the path that `text` names if something is there (be it a broken link)."""
    try:
        path = Path(text).expanduser()
        return path if os.path.lexists(path) else None
    except (OSError, ValueError, RuntimeError):
        return None


def has_config(path: Path) -> bool:
    """Return whether a path is, or holds, a configuration."""
    return path.suffix == ".json" or os.path.lexists(path / CONFIG_NAME)


def modified_on(path: Path) -> date:
    """Return the day on which a file was last written.

    Raises:
        InvalidModelFileError, UnavailableError: it is not there or may not be read.
    """
    status = file_status(real_path(path, shown=path), shown=path)
    return datetime.fromtimestamp(max(status.st_mtime, 0), tz=UTC).date()


def _read_folder(folder: Path, *, within: Path) -> ModelFiles:
    if not os.path.lexists(within / CONFIG_NAME):
        raise _no_config(folder, within)
    return _read_files(folder / CONFIG_NAME, within=within)


def _read_files(path: Path, *, within: Path) -> ModelFiles:
    config, written_on = read_object(path, within=within, most_bytes=CONFIG_MOST_BYTES)
    checkpoint = read_checkpoint_files(path.parent, within=within)
    return ModelFiles(
        config={key: value for key, value in config.items() if not key.startswith("_")},
        config_file=str(path),
        modified_on=written_on,
        checkpoint_bytes=checkpoint.size_bytes,
        header=checkpoint.header,
        note=checkpoint.note,
    )


def _no_config(path: Path, folder: Path) -> InvalidModelFileError:
    weights = sorted(name for name in names_in(folder) if name.endswith(_WEIGHTS))
    if weights and weights[0].endswith(PICKLES):
        return refused_pickle(folder / weights[0])
    beside = f" There is {weights[0]}, which holds weights only." if weights else ""
    return InvalidModelFileError(
        f"The folder {shown_path(path)} has no {CONFIG_NAME}.",
        remedy=f"Put the model's {CONFIG_NAME} there.{beside}",
    )
