"""Files that users give, read within bounds: packed ones are not trusted to stay small.

Returns bytes and texts; what they mean is decided by the formats.
"""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from caudal.vocabulary.errors import InvalidInputError, UnavailableError
from caudal.vocabulary.units import MIB

# Chosen: 10⁶ rows of the widest list we know are 200 MB; a bomb of 1 MB unpacks to 1 GB.
LARGEST_BYTES: Final = 512 * MIB
MOST_MEMBERS: Final = 200  # chosen: gpuhunt's catalogue has a file a provider, some thirty
_CHUNK: Final = MIB
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"


class InvalidListError(InvalidInputError):
    """A file of offers cannot be read at all: damaged, too large, or of no known format."""

    code = "invalid-list"


class ListFile(NamedTuple):
    """One list as text."""

    name: str  # of the file with its folder, or of the member of an archive
    text: str
    encoding: str


def read_list_files(path: Path, *, largest: int = LARGEST_BYTES) -> Iterator[ListFile]:
    """Yield the lists in a file: itself, or the members of a `.zip`; `.gz` is unpacked.

    Raises:
        UnavailableError: the file cannot be read.
        InvalidListError: it is damaged, or larger than `largest` when unpacked.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
        if start == _ZIP:
            yield from _members(path, largest=largest)
            return
        if start[:2] == _GZIP:
            with gzip.GzipFile(path) as packed:
                raw = _bounded(packed, path.name, largest=largest)
        else:
            with path.open("rb") as stream:
                raw = _bounded(stream, path.name, largest=largest)
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError) as broken:
        raise InvalidListError(
            f"{path.name} is damaged: {broken}.", remedy="Fetch it again."
        ) from broken
    except OSError as missing:
        raise UnavailableError(
            f"{path} cannot be read: {missing.strerror or missing}.",
            remedy="Check the path and its permissions.",
        ) from missing
    name = "/".join((path.absolute().parent.name, path.name.removesuffix(".gz")))
    yield ListFile(name, *decode(raw, where=path.name))


def _members(path: Path, *, largest: int) -> Iterator[ListFile]:
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MOST_MEMBERS:
            raise InvalidListError(
                f"{path.name} holds {len(members):,} files.",
                remedy=f"Unpack it and import what you need; at most {MOST_MEMBERS} are read.",
            )
        left = largest
        for member in members:
            if member.flag_bits & 1:
                raise InvalidListError(f"{path.name} is encrypted.", remedy="Unpack it first.")
            with archive.open(member) as stream:
                raw = _bounded(stream, f"{path.name}: {member.filename}", largest=left)
            left -= len(raw)
            yield ListFile(member.filename, *decode(raw, where=member.filename))


def _bounded(stream: IO[bytes] | gzip.GzipFile, name: str, *, largest: int) -> bytes:
    """Return all of a stream.

    Raises:
        InvalidListError: it holds more than `largest` bytes.
    """
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > largest:
            raise InvalidListError(
                f"{name} holds more than {largest // MIB:,} MiB when unpacked.",
                remedy="Cut it into smaller files, if it is what it says.",
            )
        chunks.append(chunk)
    return b"".join(chunks)


def decode(raw: bytes, *, where: str) -> tuple[str, str]:
    """Return the text and the encoding it was in: UTF-8, UTF-16 by its mark, else Windows-1252.

    Raises:
        InvalidListError: it is no text.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif raw.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    elif raw[1:64:2].count(0) > 16 or raw[:64:2].count(0) > 16:
        encoding = "utf-16-le" if raw[1:64:2].count(0) > 16 else "utf-16-be"
    else:
        encoding = "utf-8"
    try:
        return raw.decode(encoding), encoding
    except UnicodeDecodeError as broken:
        if encoding != "utf-8" or b"\0" in raw:
            raise InvalidListError(
                f"{where} is no text: {broken.reason} at byte {broken.start:,}.",
                remedy="Save it as UTF-8.",
            ) from broken
    try:
        return raw.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return raw.decode("latin-1"), "latin-1"
