"""What the header of a weight file says, and a window on that header that never reads weights."""

import os
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from caudal.vocabulary.errors import InvalidModelFileError, UnavailableError
from caudal.vocabulary.units import Bytes

_WINDOW_BYTES: Final = 1 << 20  # chosen: one read for most headers, small beside Python itself
_LENGTH: Final = struct.Struct("<Q")
_MOST_TENSORS: Final = 400_000  # chosen: Kimi K2 with scales has about 140,000
_LONGEST_SHOWN: Final = 80  # chosen: enough to find a tensor's name again


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """One tensor as a file stores it."""

    name: str
    stored_as: str  # "bf16", "f8_e4m3", "q4_k" ...
    shape: tuple[int, ...]  # outermost dimension first
    bytes: Bytes

    @property
    def elements(self) -> int:
        """Return how many elements the shape has."""
        product = 1
        for size in self.shape:
            product *= size
        return product


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightHeader:
    """What a weight file, or all parts of a split one, says about itself."""

    file: str
    metadata: Mapping[str, object]
    tensors: tuple[StoredTensor, ...]
    files: int = 1

    @property
    def tensor_bytes(self) -> Bytes:
        """Return what all tensors occupy, without headers and padding."""
        return Bytes(sum(tensor.bytes for tensor in self.tensors))

    @property
    def elements(self) -> int:
        """Return the elements of all tensors; packed ones count as they are packed."""
        return sum(tensor.elements for tensor in self.tensors)

    def bytes_by_type(self) -> dict[str, Bytes]:
        """Return what each storage type occupies, the largest first."""
        totals: dict[str, int] = {}
        for tensor in self.tensors:
            totals[tensor.stored_as] = totals.get(tensor.stored_as, 0) + tensor.bytes
        ranked = sorted(totals.items(), key=lambda item: -item[1])
        return {name: Bytes(total) for name, total in ranked}


@contextmanager
def open_weight_file(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file for reading; yield it with its size.

    A link may only lead to a file in its own folder, or from a hub snapshot to its model's blobs.

    Raises:
        InvalidModelFileError: it is no regular file, or a link that leads away.
        UnavailableError: it may not be read.
    """
    real = _real(path)
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(real, flags), "rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise wrong_file(path.name, "is no regular file")
            yield stream, status.st_size
    except OSError as problem:
        raise UnavailableError(
            f"{path.name} cannot be read: {problem.strerror or problem}.",
            remedy="Check the file's permissions and the disk.",
        ) from None


def joined(headers: Iterable[WeightHeader]) -> WeightHeader:
    """Return the headers of all files of one checkpoint as one, with the first's metadata.

    Raises:
        InvalidModelFileError: two hold the same tensor, or all together too many.
    """
    parts: list[WeightHeader] = []
    holder: dict[str, str] = {}
    for part in headers:
        parts.append(part)
        for tensor in part.tensors:
            other = holder.setdefault(tensor.name, part.file)
            if other != part.file:
                raise wrong_file(part.file, f"repeats {shown(tensor.name)} of {shown(other)}")
        if len(holder) > _MOST_TENSORS:
            raise wrong_file(
                part.file, f"and those before hold more than {_MOST_TENSORS:,} tensors"
            )
    return WeightHeader(
        file=parts[0].file,
        metadata=parts[0].metadata,
        tensors=tuple(tensor for part in parts for tensor in part.tensors),
        files=len(parts),
    )


def wrong_file(file: str, why: str) -> InvalidModelFileError:
    """Return the error that `file` is damaged, for the reason `why`."""
    return InvalidModelFileError(
        f"{shown(file)}: {why}.", remedy="Download the file again, or name another."
    )


def shown(text: str) -> str:
    """Return a name from a file as messages print it: short and printable."""
    safe = text if text.isprintable() else ascii(text)[1:-1]
    return safe if len(safe) <= _LONGEST_SHOWN else f"{safe[: _LONGEST_SHOWN - 1]}…"


def _real(path: Path) -> Path:
    try:
        real = Path(os.path.realpath(path, strict=True))
        folder = Path(os.path.realpath(path.parent, strict=True))
    except OSError as problem:
        raise InvalidModelFileError(
            f"{shown(path.name)}: {problem.strerror or problem}.", remedy="Check the path."
        ) from None
    except ValueError:
        raise wrong_file(path.name, "is no path: it holds a null character") from None
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        folder = folder.parent.parent
    if not real.is_relative_to(folder):
        raise wrong_file(path.name, "is a link that leads out of its folder")
    return real


class HeaderBytes:
    """Reads a header from its start, window by window, and refuses to pass a limit.

    Nothing is allocated by what the file claims: a length is checked against what is left first.
    """

    __slots__ = ("_at", "_file", "_limit", "_start", "_stream", "_window")

    def __init__(self, stream: BinaryIO, *, file: str, limit: int) -> None:
        self._stream = stream
        self._file = file
        self._limit = limit  # no byte at or beyond this position is part of the header
        self._start = 0  # where the window lies in the file
        self._at = 0  # where the next byte lies in the window
        self._window = b""

    @property
    def position(self) -> int:
        """The place in the file of the next byte."""
        return self._start + self._at

    @property
    def left(self) -> int:
        """How many bytes the header may still have."""
        return self._limit - self.position

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            InvalidModelFileError: the file, or what a header may have, ends before.
        """
        self.need(count)
        if self._at + count > len(self._window):
            self._load(count)
        self._at += count
        return self._window[self._at - count : self._at]

    def skip(self, count: int) -> None:
        """Pass over `count` bytes without reading them."""
        self.need(count)
        self._at += count
        if self._at > len(self._window):
            self._start += self._at
            self._at, self._window = 0, b""

    def skip_texts(self, count: int) -> None:
        """Pass over `count` texts, each of which has its length in eight bytes before it."""
        unpack = _LENGTH.unpack_from
        while count:
            window, at, end = self._window, self._at, len(self._window)
            while count and at + _LENGTH.size <= end:
                beyond = at + _LENGTH.size + unpack(window, at)[0]
                if beyond > end:
                    break
                at = beyond
                count -= 1
            self._at = at
            if count:  # the next text crosses the window's end
                self.skip(_LENGTH.unpack(self.take(_LENGTH.size))[0])
                count -= 1

    def need(self, count: int) -> None:
        """Check that `count` more bytes may be read."""
        if count > self.left:
            raise wrong_file(
                self._file, f"ends in its header, at byte {self.position:,} of {self._limit:,}"
            )

    def _load(self, count: int) -> None:
        self._start += self._at
        self._at = 0
        self._stream.seek(self._start)
        wanted = min(max(count, _WINDOW_BYTES), self._limit - self._start)
        pieces = bytearray()
        while len(pieces) < wanted:
            piece = self._stream.read(wanted - len(pieces))
            if not piece:
                break
            pieces += piece
        self._window = bytes(pieces)
        if len(self._window) < count:
            raise wrong_file(self._file, f"ends at byte {self._start + len(self._window):,}")
