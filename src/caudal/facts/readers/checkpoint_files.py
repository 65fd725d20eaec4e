"""The weight files beside a configuration: exact bytes from their headers, or their index's sum."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from caudal.facts.readers.hub_cache import cached_header, is_snapshot, names_in
from caudal.facts.readers.json_file import LFS_POINTER, read_object, wrong_json
from caudal.facts.readers.safetensors import read_safetensors
from caudal.facts.readers.weight_file import WeightHeader, joined, open_weight_file, shown
from caudal.vocabulary.errors import InvalidModelFileError
from caudal.vocabulary.units import MIB, Bytes

INDEX_NAME: Final = "model.safetensors.index.json"
SINGLE_NAME: Final = "model.safetensors"
INDEX_MOST_BYTES: Final = 256 * MIB  # chosen: Kimi K2's index, one of the longest, is about 16 MB
CHECKPOINT_MOST_BYTES: Final = 10**15  # chosen: a petabyte, 100 times the largest published
_MOST_FILES: Final = 2_048  # chosen: DeepSeek V3 has 163
_PLAIN_NAME: Final = re.compile(r"[\w][\w.+-]{0,200}\.safetensors", re.ASCII)
_PART: Final = re.compile(
    r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.safetensors", re.ASCII
)
# Second copies in another layout (Mistral, Llama) and what is no part of the model.
_NOT_THE_MODEL: Final = ("consolidated", "adapter_", "original", "optimizer", "training_")
_INDEX_DIFFERS: Final = 0.001  # chosen: indexes count tied tensors in different ways


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFiles:
    """What is known of a checkpoint's size without reading weights."""

    size_bytes: Bytes | None = None  # of all tensors
    header: WeightHeader | None = None  # of all files, where all of them are here
    note: str = ""


def read_checkpoint_files(folder: Path, *, within: Path) -> CheckpointFiles:
    """Return the size of the safetensors in a folder, from every header if all files are there.

    The index says which files belong together; without one, `model.safetensors`, a complete set
    of parts, or the only file. A file that is a Git LFS pointer is not there. In a snapshot of the
    hub the headers that were fetched stand in for the files.

    Raises:
        InvalidModelFileError: an index or header is damaged, or one contradicts the other.
        UnavailableError: a file may not be read.
    """
    index = folder / INDEX_NAME
    if os.path.lexists(index):
        return _by_index(index, within=within)
    names = _without_index(folder) or [SINGLE_NAME] * is_snapshot(folder)
    present = [name for name in names if _is_here(folder / name)]
    if names and len(present) == len(names):
        header = read_shards(folder, names)
        return CheckpointFiles(size_bytes=header.tensor_bytes, header=header)
    fetched = cached_header(folder, names)
    if fetched is not None:
        return CheckpointFiles(size_bytes=fetched.tensor_bytes, header=fetched)
    return CheckpointFiles(note=_missing(len(present), len(names)) if present else "")


def read_shards(folder: Path, names: Iterable[str]) -> WeightHeader:
    """Return the headers of several safetensors files as one.

    Raises:
        InvalidModelFileError: one is damaged, two hold the same tensor, or there are too many.
    """
    return joined(read_safetensors(folder / name) for name in names)


def index_size(index: Mapping[str, object], path: Path) -> Bytes | None:
    """Return `metadata.total_size` of a safetensors index, None where it states none."""
    metadata = index.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise wrong_json(path, "field metadata is not an object")
    size = metadata.get("total_size")
    if size is None:
        return None
    whole = isinstance(size, int | float) and not isinstance(size, bool) and size == int(size)
    if not whole or not 0 < size <= CHECKPOINT_MOST_BYTES:
        allowed = f"a whole number of bytes from 1 to {CHECKPOINT_MOST_BYTES:,}"
        raise wrong_json(
            path, f"field metadata.total_size is {str(size)[:40]}; allowed is {allowed}"
        )
    return Bytes(int(size))


def index_files(index: Mapping[str, object], path: Path) -> dict[str, str]:
    """Return which file holds each tensor by an index; a name that is no plain one is refused."""
    listed = index.get("weight_map", {})
    if not isinstance(listed, Mapping):
        raise wrong_json(path, "field weight_map is not an object")
    checked: set[str] = set()
    for tensor, name in listed.items():
        if isinstance(name, str) and name in checked:
            continue
        if not isinstance(name, str) or _PLAIN_NAME.fullmatch(name) is None:
            raise wrong_json(
                path, f"field weight_map puts {shown(tensor)} into {shown(str(name))}, no file here"
            )
        checked.add(name)
    if len(checked) > _MOST_FILES:
        raise wrong_json(path, f"names {len(checked):,} files; more than {_MOST_FILES:,} are wrong")
    return dict(listed)


def _by_index(path: Path, *, within: Path) -> CheckpointFiles:
    index, _ = read_object(path, within=within, most_bytes=INDEX_MOST_BYTES)
    stated, places = index_size(index, path), index_files(index, path)
    names = sorted(set(places.values()))
    present = [name for name in names if _is_here(path.parent / name)]
    if names and len(present) == len(names):
        header = read_shards(path.parent, names)
    else:
        fetched = cached_header(path.parent, names)
        if fetched is None:
            missing = _missing(len(present), len(names)) if present else ""
            return CheckpointFiles(size_bytes=stated, note=missing)
        header = fetched
    _check_places(places, header, path)
    note = ""
    if stated is not None and abs(header.tensor_bytes / stated - 1) > _INDEX_DIFFERS:
        note = (
            f"{INDEX_NAME} states {stated:,} bytes, the files' headers {header.tensor_bytes:,}: "
            "the headers count"
        )
    return CheckpointFiles(size_bytes=header.tensor_bytes, header=header, note=note)


def _check_places(places: Mapping[str, str], header: WeightHeader, path: Path) -> None:
    held = {tensor.name for tensor in header.tensors}
    absent = next((name for name in places if name not in held), None)
    if absent is not None:
        raise wrong_json(
            path, f"puts {shown(absent)} into {places[absent]}, which does not hold it"
        )


def _without_index(folder: Path) -> list[str]:
    """Return the names that make up the checkpoint, missing parts included."""
    if os.path.lexists(folder / SINGLE_NAME):
        return [SINGLE_NAME]
    found = sorted(
        name
        for name in names_in(folder)
        if _PLAIN_NAME.fullmatch(name) is not None and not name.startswith(_NOT_THE_MODEL)
    )
    for name in found:
        named = _PART.fullmatch(name)
        if named is not None and 0 < int(named["parts"]) <= _MOST_FILES:
            return [
                f"{named['stem']}-{number:05}-of-{named['parts']}.safetensors"
                for number in range(1, int(named["parts"]) + 1)
            ]
    return found if len(found) == 1 else []


def _is_here(path: Path) -> bool:
    """Return whether a weight file is there in full, and no pointer of Git LFS."""
    if not os.path.lexists(path):
        return False
    with open_weight_file(path) as (stream, _):
        return stream.read(len(LFS_POINTER)) != LFS_POINTER


def _missing(present: int, parts: int) -> str:
    return (
        f"{present:,} of the checkpoint's {parts:,} safetensors files are here: no header is read"
    )


def refused_pickle(path: Path) -> InvalidModelFileError:
    """Return the error for a checkpoint that is a Python pickle."""
    return InvalidModelFileError(
        f"{shown(path.name)} is a pickled checkpoint: its sizes can only be learnt by running the "
        "code in it, which Caudal does not do.",
        remedy="Name the folder with its config.json, or a copy of the weights in safetensors: "
        "hubs offer one, and transformers writes one with save_pretrained.",
    )
