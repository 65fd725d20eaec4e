"""GGUF headers: metadata, and the type, shape and bytes of every tensor, without the weights.

Format: github:ggml-org/ggml docs/gguf.md (versions 2 and 3, little endian). Split files
(`name-00001-of-00003.gguf`) are read as one.
"""

import re
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

from caudal.facts.precisions import GgufBlock, gguf_blocks
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

# All chosen, with what is known beside them.
HEADER_MOST_BYTES: Final = 256 * MIB  # vocabularies and merges: Gemma 4's are about 16 MB
_MOST_TENSORS: Final = 65_536  # DeepSeek V3: 1,025
_MOST_ENTRIES: Final = 16_384  # about 50
_MOST_STRINGS: Final = 2_000_000  # tokens and merges together: Gemma has 780,000
_LONGEST_KEY: Final = 65_535  # the format's own limit
_LONGEST_NAME: Final = 1_024  # the format says 64
_LONGEST_KEPT: Final = 4_096  # longer texts (chat templates) are passed over
_MOST_KEPT: Final = 4_096  # longer arrays (vocabularies) are passed over; layers are kept
_MOST_DIMENSIONS: Final = 4
_LARGEST_SIZE: Final = 1 << 48
_MOST_PARTS: Final = 1_024
_MOST_ALIGNMENT: Final = 1 << 20
_DEFAULT_ALIGNMENT: Final = 32

_STRING, _ARRAY, _BOOL = 8, 9, 7
_CODES: Final = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "B", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_NUMBERS: Final = {kind: struct.Struct(f"<{code}") for kind, code in _CODES.items()}
_U32: Final = _NUMBERS[4]
_U64: Final = _NUMBERS[10]
_PART: Final = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.ASCII)


def read_gguf(path: Path) -> WeightHeader:
    """Return what a GGUF file, with all its parts if it is split, says about itself.

    Raises:
        InvalidModelFileError: a header is damaged, absurd, contradicts the file's size, or a part
            is missing.
        UnavailableError: a file may not be read.
    """
    first = _read_part(path)
    parts = first.metadata.get("split.count", 0)
    if not isinstance(parts, int) or parts <= 1:
        return first
    if parts > _MOST_PARTS:
        raise wrong_file(
            path.name, f"claims {parts:,} parts; more than {_MOST_PARTS:,} do not exist"
        )
    named = _PART.fullmatch(path.name)
    if named is None or int(named["parts"]) != parts:
        raise wrong_file(path.name, f"is one of {parts} parts, but is not named as one")
    siblings = [
        path.with_name(f"{named['stem']}-{number:05}-of-{parts:05}.gguf")
        for number in range(1, parts + 1)
    ]
    headers = [first if sibling == path else _read_part(sibling) for sibling in siblings]
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    expected = headers[0].metadata.get("split.tensors.count", len(tensors))
    if expected != len(tensors):
        raise wrong_file(
            path.name, f"has {len(tensors):,} tensors in all parts, but claims {expected}"
        )
    return replace(headers[0], tensors=tensors, files=parts)


def read_gguf_stream(stream: BinaryIO, *, size: int, file: str) -> WeightHeader:
    """Return what a header says, from a seekable stream of `size` bytes called `file`."""
    header = HeaderBytes(stream, file=file, limit=min(size, HEADER_MOST_BYTES))
    tensor_count, entry_count = _read_start(header, file)
    metadata: dict[str, object] = {}
    strings = _StringBudget(file)
    for _ in range(entry_count):
        key = _text(header, file, most=_LONGEST_KEY)
        if key in metadata:
            raise wrong_file(file, f"has the entry {shown(key)} twice")
        metadata[key] = _value(header, _u32(header), file, strings)
    placed = [_tensor(header, file) for _ in range(tensor_count)]
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= _MOST_ALIGNMENT:
        raise wrong_file(file, f"has the alignment {shown(str(alignment))}")
    data_start = -(-header.position // alignment) * alignment
    _check_places(placed, alignment=alignment, data_bytes=size - data_start, file=file)
    return WeightHeader(file=file, metadata=metadata, tensors=tuple(tensor for _, tensor in placed))


def _read_part(path: Path) -> WeightHeader:
    with open_weight_file(path) as (stream, size):
        return read_gguf_stream(stream, size=size, file=path.name)


def _read_start(header: HeaderBytes, file: str) -> tuple[int, int]:
    """Return how many tensors and metadata entries the file claims."""
    if header.take(4) != b"GGUF":
        raise wrong_file(file, "does not begin with GGUF")
    version = _u32(header)
    if version not in {2, 3}:
        swapped = version & 0xFFFF == 0 and version != 0
        why = "is big endian" if swapped else f"has the format version {version}"
        raise wrong_file(file, f"{why}; versions 2 and 3 in little endian are read")
    tensors, entries = _u64(header), _u64(header)
    if tensors > _MOST_TENSORS or entries > _MOST_ENTRIES:
        raise wrong_file(file, f"claims {tensors:,} tensors and {entries:,} entries")
    return tensors, entries


class _StringBudget:
    """How many texts in arrays may still be passed, so that a file cannot hold a reader up."""

    __slots__ = ("file", "left")

    def __init__(self, file: str) -> None:
        self.file = file
        self.left = _MOST_STRINGS

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise wrong_file(self.file, f"has more than {_MOST_STRINGS:,} texts in its header")


def _value(header: HeaderBytes, kind: int, file: str, strings: _StringBudget) -> object:
    """Return a metadata value; texts and arrays beyond what is kept become None."""
    if kind == _STRING:
        length = _u64(header)
        if length > _LONGEST_KEPT:
            header.skip(length)
            return None
        return header.take(length).decode("utf-8", errors="replace")
    if kind == _ARRAY:
        return _array(header, file, strings)
    number = _NUMBERS.get(kind)
    if number is None:
        raise wrong_file(file, f"has a value of the unknown kind {kind}")
    return _number(number.unpack(header.take(number.size))[0], kind)


def _array(header: HeaderBytes, file: str, strings: _StringBudget) -> tuple[object, ...] | None:
    kind, count = _u32(header), _u64(header)
    if kind == _STRING:
        strings.spend(count)
        header.need(count * _U64.size)  # each text has at least its length
        header.skip_texts(count)
        return None
    number = _NUMBERS.get(kind)
    if number is None:
        raise wrong_file(file, f"has an array of the kind {kind}, which is not read")
    if count > _MOST_KEPT:
        header.skip(count * number.size)
        return None
    values = struct.unpack(f"<{count}{_CODES[kind]}", header.take(count * number.size))
    return tuple(_number(value, kind) for value in values)


def _number(value: float, kind: int) -> int | float | bool:
    return bool(value) if kind == _BOOL else value


def _tensor(header: HeaderBytes, file: str) -> tuple[int, StoredTensor]:
    """Return where a tensor begins in the data, and the tensor."""
    name = _text(header, file, most=_LONGEST_NAME)
    dimensions = _u32(header)
    if dimensions > _MOST_DIMENSIONS:
        raise _wrong_tensor(file, name, f"has {dimensions:,} dimensions")
    sizes = [_u64(header) for _ in range(dimensions)]
    block = _blocks().get(number := _u32(header))
    if block is None:
        raise _wrong_tensor(file, name, f"has the unknown type {number}")
    offset = _u64(header)
    elements = 1
    for size in sizes:
        elements *= size
        if elements > _LARGEST_SIZE:
            raise _wrong_tensor(file, name, "has more elements than any tensor")
    row = sizes[0] if sizes else 1
    if row % block.weights:
        raise _wrong_tensor(
            file, name, f"has rows of {row:,}, no multiple of {block.name}'s {block.weights}"
        )
    stored = StoredTensor(
        name=name,
        stored_as=block.name,
        shape=tuple(reversed(sizes)),
        bytes=Bytes(elements // block.weights * block.bytes),
    )
    return offset, stored


def _check_places(
    placed: list[tuple[int, StoredTensor]], *, alignment: int, data_bytes: int, file: str
) -> None:
    """Check that tensors lie aligned, apart from one another and within the file."""
    end, before = 0, ""
    for offset, tensor in sorted(placed, key=lambda item: (item[0], item[1].bytes)):
        if offset % alignment:
            raise _wrong_tensor(file, tensor.name, f"begins at {offset:,}, not at a whole place")
        if offset < end:
            raise _wrong_tensor(file, tensor.name, f"overlaps {shown(before)}")
        end, before = offset + tensor.bytes, tensor.name
    if end > data_bytes:
        raise wrong_file(
            file, f"should hold {end:,} bytes of data, but holds {max(data_bytes, 0):,}"
        )
    if len({tensor.name for _, tensor in placed}) != len(placed):
        raise wrong_file(file, "has two tensors of one name")


@cache
def _blocks() -> dict[int, GgufBlock]:
    return {block.id: block for block in gguf_blocks().values()}


def _text(header: HeaderBytes, file: str, *, most: int) -> str:
    length = _u64(header)
    if length > most:
        raise wrong_file(file, f"has a name of {length:,} bytes")
    return header.take(length).decode("utf-8", errors="replace")


def _u32(header: HeaderBytes) -> int:
    value: int = _U32.unpack(header.take(4))[0]
    return value


def _u64(header: HeaderBytes) -> int:
    value: int = _U64.unpack(header.take(8))[0]
    return value


def _wrong_tensor(file: str, name: str, why: str) -> InvalidModelFileError:
    return wrong_file(file, f"tensor {shown(name)} {why}")
