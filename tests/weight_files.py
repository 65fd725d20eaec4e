"""Weight files for tests: real headers over sparse data, so that a 70B takes no room."""

import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from caudal.facts.precisions import gguf_blocks

_BITS = {"F32": 32, "BF16": 16, "F16": 16, "F8_E4M3": 8, "U8": 8, "I8": 8, "I32": 32, "F4": 4}
Stored = tuple[str, tuple[int, ...]]  # dtype, shape
Block = tuple[str, tuple[int, ...]]  # block type, sizes with the innermost first


def write_safetensors(path: Path, tensors: Mapping[str, Stored]) -> Path:
    """Write a file with these tensors and holes for data."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, (dtype, shape) in tensors.items():
        size = _BITS[dtype] * _product(shape) // 8
        entries[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [place, place + size],
        }
        place += size
    header = json.dumps(entries, separators=(",", ":")).encode()
    _write(path, struct.pack("<Q", len(header)) + header, place)
    return path


def write_gguf(
    path: Path, metadata: Mapping[str, object], tensors: Mapping[str, Block], *, claims: int = 0
) -> Path:
    """Write a file with these entries and tensors; numbers are U32, floats F32, lists arrays."""
    entries = b"".join(_text(key) + _value(value) for key, value in metadata.items())
    named = b""
    place = 0
    for name, (kind, sizes) in tensors.items():
        block = gguf_blocks()[kind]
        named += _text(name) + struct.pack("<I", len(sizes))
        named += struct.pack(f"<{len(sizes)}QIQ", *sizes, block.id, place)
        size = _product(sizes) // block.weights * block.bytes
        place += size + -size % 32
    start = b"GGUF" + struct.pack("<IQQ", 3, claims or len(tensors), len(metadata))
    header = start + entries + named
    _write(path, header + bytes(-len(header) % 32), place)
    return path


def _write(path: Path, header: bytes, data: int) -> None:
    with path.open("wb") as stream:
        stream.write(header)
        stream.truncate(len(header) + data)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: object) -> bytes:  # noqa: PLR0911 - a case for each kind
    match value:
        case bool():
            return struct.pack("<IB", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + _text(value)
        case list() if value and isinstance(value[0], str):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
        case list() if value and isinstance(value[0], bool):
            return struct.pack("<IIQ", 9, 7, len(value)) + bytes(value)
        case list():
            return struct.pack(f"<IIQ{len(value)}I", 9, 4, len(value), *value)
        case _:
            raise AssertionError(value)


def _product(sizes: Iterable[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
