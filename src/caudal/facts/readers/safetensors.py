"""Safetensors headers: the exact bytes of every tensor, without reading one weight.

Format: github:huggingface/safetensors README (eight bytes of length, a JSON object, the data).
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, TypeGuard

from caudal.facts.readers.weight_file import (
    HeaderBytes,
    StoredTensor,
    WeightHeader,
    open_weight_file,
    shown,
    wrong_file,
)
from caudal.vocabulary.errors import InvalidModelFileError
from caudal.vocabulary.units import MIB, Bytes

# Chosen: ten times the tensors of any published file, at 120 bytes each; the format allows 100 MB,
# whose parsing would take gigabytes if it were made for that.
_MOST_TENSORS: Final = 65_536
HEADER_MOST_BYTES: Final = 8 * MIB
_BRACKETS, _QUOTES = 3, 10  # of one tensor: an object with two lists, and five texts
_LARGEST_SIZE: Final = 1 << 48  # chosen: no dimension or tensor of this many elements can exist
_MOST_DIMENSIONS: Final = 16  # chosen: weights have at most five
_BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}  # fmt: skip

# One tensor as every writer spells it; what differs goes through the JSON parser, ten times slower.
_ENTRY: Final = re.compile(
    r',?\s?"(?P<name>[^"\\\x00-\x1f]*)":\s?\{"dtype":\s?"(?P<dtype>[A-Z0-9_]+)",\s?'
    r'"shape":\s?\[(?P<shape>[0-9, ]{0,200})\],\s?'
    r'"data_offsets":\s?\[(?P<begin>[0-9]{1,18}),\s?(?P<end>[0-9]{1,18})\]\}',
    re.ASCII,
)
_METADATA: Final = re.compile(
    r',?\s?"__metadata__":\s?(?P<object>\{(?:\s?"[^"\\\x00-\x1f]*":\s?"[^"\\\x00-\x1f]*",?)*\})'
)
_END: Final = re.compile(r"\}\s*")
_Placed = list[tuple[int, StoredTensor]]


class _BadHeaderError(Exception):
    """Something that JSON allows but a header must not have."""


def read_safetensors(path: Path) -> WeightHeader:
    """Return what the header of one safetensors file says.

    Raises:
        InvalidModelFileError: the header is damaged, absurd or contradicts the file's size.
        UnavailableError: the file may not be read.
    """
    with open_weight_file(path) as (stream, size):
        return read_safetensors_stream(stream, size=size, file=path.name)


def read_safetensors_stream(stream: BinaryIO, *, size: int, file: str) -> WeightHeader:
    """Return what a header says, from a seekable stream of `size` bytes called `file`."""
    header = HeaderBytes(stream, file=file, limit=size)
    length = int.from_bytes(header.take(8), "little")
    if length > HEADER_MOST_BYTES:
        raise wrong_file(
            file,
            f"claims a header of {length:,} bytes; more than {HEADER_MOST_BYTES:,} are not read",
        )
    raw = header.take(length)
    _check_counts(raw, file)
    metadata, placed = _scan(raw) or _read_entries(raw, file)
    _check_places(placed, data_bytes=size - 8 - length, file=file)
    return WeightHeader(file=file, metadata=metadata, tensors=tuple(tensor for _, tensor in placed))


def _check_counts(raw: bytes, file: str) -> None:
    brackets, quotes = raw.count(b"{") + raw.count(b"["), raw.count(b'"')
    if brackets > _BRACKETS * _MOST_TENSORS or quotes > _QUOTES * _MOST_TENSORS:
        raise wrong_file(file, f"has more in its header than {_MOST_TENSORS:,} tensors need")


def _scan(raw: bytes) -> tuple[Mapping[str, object], _Placed] | None:
    """Return metadata and tensors of a header in the usual spelling, None where it is unusual.

    A header of 60,000 tensors takes 0.2 s so, and 0.5 to 1 s as JSON. Every check of `_tensor`
    holds here too: what fails one is left to it, for its message.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not text.startswith("{"):
        return None
    at, metadata = 1, dict[str, object]()
    found = _METADATA.match(text, at)
    if found is not None:
        try:
            metadata = json.loads(found["object"], object_pairs_hook=_without_doubles)
        except (_BadHeaderError, ValueError):
            return None
        at = found.end()
    placed: _Placed = []
    names: set[str] = set()
    shapes: dict[str, tuple[tuple[int, ...], int] | None] = {}
    for entry in _ENTRY.finditer(text, at):
        if entry.start() != at or (text[at] == ",") != (at > 1):
            return None
        at = entry.end()
        name, dtype, written, first, last = entry.groups()
        if written not in shapes:
            shapes[written] = _written_shape(written)
        sized, bits = shapes[written], _BITS.get(dtype)
        begin, end = int(first), int(last)
        if sized is None or bits is None or sized[1] * bits != (end - begin) * 8:
            return None
        names.add(name)
        placed.append(
            (
                begin,
                StoredTensor(
                    name=name, stored_as=dtype.lower(), shape=sized[0], bytes=Bytes(end - begin)
                ),
            )
        )
    whole = _END.fullmatch(text, at) is not None and len(names) == len(placed)
    return (metadata, placed) if whole and "__metadata__" not in names else None


def _written_shape(written: str) -> tuple[tuple[int, ...], int] | None:
    """Return sizes and elements of a shape as written, None where it is not a usual one."""
    try:
        sizes = tuple(int(size) for size in written.split(",")) if written.strip() else ()
    except ValueError:
        return None
    elements = 1
    for size in sizes:
        elements *= size
    usual = len(sizes) <= _MOST_DIMENSIONS and max(sizes, default=0) <= _LARGEST_SIZE
    return (sizes, elements) if usual and elements <= _LARGEST_SIZE else None


def _read_entries(raw: bytes, file: str) -> tuple[Mapping[str, object], _Placed]:
    """Return metadata and tensors of a header, however it is spelled."""
    entries = _parse(raw, file)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, Mapping):
        raise wrong_file(file, "has a __metadata__ that is no object")
    return metadata, [_tensor(name, entry, file) for name, entry in entries.items()]


def _parse(raw: bytes, file: str) -> dict[str, object]:
    try:
        parsed = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_without_doubles, parse_constant=_refuse
        )
    except UnicodeDecodeError as problem:
        raise wrong_file(file, f"is not UTF-8 in its header (byte {problem.start})") from None
    except json.JSONDecodeError as problem:
        raise wrong_file(file, f"has a header that is not JSON: {problem.msg}") from None
    except RecursionError:
        raise wrong_file(file, "has a header that is nested too deeply") from None
    except (_BadHeaderError, ValueError) as problem:
        why = str(problem) if isinstance(problem, _BadHeaderError) else "an endless number"
        raise wrong_file(file, f"has a header with {why}") from None
    if not isinstance(parsed, dict):
        raise wrong_file(file, f"has a header that is no object but a {type(parsed).__name__}")
    return parsed


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _BadHeaderError("a name that stands twice")
    return values


def _refuse(constant: str) -> NoReturn:
    raise _BadHeaderError(f"{constant}, which is no number")


def _tensor(name: str, entry: object, file: str) -> tuple[int, StoredTensor]:
    """Return where a tensor begins in the data, and the tensor."""
    if not isinstance(entry, Mapping):
        raise _wrong_tensor(file, name, "is no object")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise _wrong_tensor(file, name, f"has the unknown dtype {shown(str(dtype))}")
    if not _are_sizes(shape) or len(shape) > _MOST_DIMENSIONS:
        raise _wrong_tensor(file, name, "has a shape that is no list of sizes")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _wrong_tensor(file, name, "has data_offsets that are no beginning and end")
    elements = 1
    for dimension in shape:
        elements *= dimension
        if elements > _LARGEST_SIZE:
            raise _wrong_tensor(file, name, "has more elements than any tensor")
    begin, end = offsets
    if elements * _BITS[dtype] != (end - begin) * 8:
        raise _wrong_tensor(
            file, name, f"occupies {end - begin:,} bytes, but {elements:,} x {dtype} do not"
        )
    stored = StoredTensor(
        name=name, stored_as=dtype.lower(), shape=tuple(shape), bytes=Bytes(end - begin)
    )
    return begin, stored


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _LARGEST_SIZE
        for size in value
    )


def _check_places(placed: _Placed, *, data_bytes: int, file: str) -> None:
    """Check that tensors lie one after another and fill the file, as the format demands."""
    expected = 0
    for begin, tensor in sorted(placed, key=lambda item: (item[0], item[1].bytes)):
        if begin != expected:
            what = "overlaps the one before" if begin < expected else "leaves a gap before it"
            raise _wrong_tensor(file, tensor.name, what)
        expected = begin + tensor.bytes
    if expected != data_bytes:
        raise wrong_file(file, f"should hold {expected:,} bytes of data, but holds {data_bytes:,}")


def _wrong_tensor(file: str, name: str, why: str) -> InvalidModelFileError:
    return wrong_file(file, f"tensor {shown(name)} {why}")
