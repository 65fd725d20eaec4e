"""A page: the offers of one source as bytes, read back as columns in a few milliseconds.

    CAUDALP1 · length of the head · head (JSON) · columns, each aligned to eight bytes

A column whose rows are all alike is kept in the head alone. Offers stand in the order of price.
"""

import json
import struct
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from caudal.facts.source import Source
from caudal.offers.fields import FIELD_KINDS, FieldKind, decimal_of, number_of
from caudal.offers.offer import DEFAULT_AGE_LIMITS, AgeLimits, Offer, Term
from caudal.offers.table import Floats, MadeTable, OfferTable, TextColumn, text_column
from caudal.vocabulary.errors import InvalidFactError

MAGIC: Final = b"CAUDALP1"
_BREAK: Final = "\x1f"  # stands in no name that a list may hold: readers drop control characters
_NONE: Final = "\x00"
_HEAD: Final = struct.Struct("<I")
_SOURCE_TEXTS: Final = ("source_where", "source_licence")
_TEXT_KINDS: Final = (FieldKind.TEXT, FieldKind.DECIMAL)


class _Place(TypedDict):
    """Where a column lies; `values` only for texts, `constant` where all rows are alike."""

    at: int
    bytes: int
    dtype: str
    values_at: int
    values_bytes: int
    constant: float | str | None


class _Head(TypedDict):
    size: int
    numbers: dict[str, _Place]
    texts: dict[str, _Place]


def write_page(offers: Sequence[Offer]) -> bytes:
    """Return the page of these offers, in their order."""
    writer = _Writer(len(offers))
    made = MadeTable(offers)
    for name, kind in FIELD_KINDS.items():
        if kind is FieldKind.DECIMAL:
            values: list[Decimal | None] = [getattr(offer, name) for offer in offers]
            writer.text(name, text_column([None if v is None else str(v) for v in values]))
        elif kind is FieldKind.TEXT:
            writer.text(name, made.text(name))
        else:
            writer.number(name, made.number(name))
    for name in ("price_usd_per_gpu_hour", "gpu_fraction", "hours_per_unit"):
        writer.number(name, made.number(name))  # for filters, beside the exact text
    writer.number("key", made.keys().view(np.float64))
    writer.text("source_where", text_column([offer.source.where for offer in offers]))
    writer.text("source_licence", text_column([offer.source.licence for offer in offers]))
    days = [offer.source.read_on.toordinal() for offer in offers]
    writer.number("source_read_on", np.array(days, dtype=np.float64))
    return writer.page()


class _Writer:
    """Collects columns."""

    def __init__(self, size: int) -> None:
        self._head: _Head = {"size": size, "numbers": {}, "texts": {}}
        self._chunks: list[bytes] = []
        self._end = 0

    def number(self, name: str, values: Floats) -> None:
        """Add a column of numbers; the bits are kept, so that NaN and keys survive."""
        bits = values.view(np.int64)
        place = _place()
        if bits.size and (bits == bits[0]).all() and name != "key":
            place["constant"] = None if np.isnan(values[0]) else float(values[0])
            place["dtype"] = "constant"
        else:
            place["at"], place["bytes"] = self._add(values.astype("<f8").tobytes())
            place["dtype"] = "<f8"
        self._head["numbers"][name] = place

    def text(self, name: str, column: TextColumn) -> None:
        """Add a column of texts."""
        place = _place()
        texts = _BREAK.join(_NONE if value is None else value for value in column.values)
        place["values_at"], place["values_bytes"] = self._add(texts.encode())
        if len(column.values) > 1:
            place["dtype"] = "<u1" if len(column.values) < 2**8 else "<i4"
            place["at"], place["bytes"] = self._add(column.codes.astype(place["dtype"]).tobytes())
        else:
            place["dtype"] = "constant"
        self._head["texts"][name] = place

    def page(self) -> bytes:
        """Return the whole page."""
        head = json.dumps(self._head, separators=(",", ":")).encode()
        head += b" " * (-(len(MAGIC) + _HEAD.size + len(head)) % 8)
        return b"".join([MAGIC, _HEAD.pack(len(head)), head, *self._chunks])

    def _add(self, chunk: bytes) -> tuple[int, int]:
        start = self._end
        padding = -len(chunk) % 8
        self._chunks += [chunk, b"\0" * padding]
        self._end += len(chunk) + padding
        return start, len(chunk)


def _place() -> _Place:
    return {
        "at": 0,
        "bytes": 0,
        "dtype": "",
        "values_at": 0,
        "values_bytes": 0,
        "constant": None,
    }


class StoredTable(OfferTable):
    """The offers of a page; columns are views of its bytes."""

    def __init__(self, page: bytes, *, age_limits: AgeLimits = DEFAULT_AGE_LIMITS) -> None:
        """Read the head.

        Raises:
            InvalidFactError: the bytes are no page of this version.
        """
        if page[: len(MAGIC)] != MAGIC:
            raise InvalidFactError(
                "A page of stored offers is of another version of Caudal.",
                remedy="Import or refresh its source again.",
            )
        start = len(MAGIC) + _HEAD.size
        (length,) = _HEAD.unpack(page[len(MAGIC) : start])
        self._head: _Head = json.loads(page[start : start + length])
        self._body = memoryview(page)[start + length :]
        self._age_limits = age_limits
        self._texts: dict[str, TextColumn] = {}
        self._numbers: dict[str, Floats] = {}
        super().__init__(self._head["size"])

    def keys(self) -> NDArray[np.int64]:
        """Return the kept numbers of `instance_keys`."""
        return self.number("key").view(np.int64)

    def text(self, name: str) -> TextColumn:
        """Return the column; its texts are cut apart at the first call."""
        found = self._texts.get(name)
        if found is None:
            found = self._texts[name] = self._read_text(self._head["texts"][name])
        return found

    def number(self, name: str) -> Floats:
        """Return the column; a decimal's is made from its text where no number is kept."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = self._read_number(name)
        return found

    def _read_number(self, name: str) -> Floats:
        if name in {"fresh_days", "stale_days"}:
            return np.full(self.size, float(getattr(self._age_limits, name)))
        place = self._head["numbers"].get(name)
        if place is None:
            return self.text(name).number(lambda text: None if text is None else float(text))
        if place["dtype"] == "constant":
            constant = place["constant"]
            return np.full(self.size, np.nan if constant is None else float(constant))
        return np.frombuffer(self._cut(place["at"], place["bytes"]), dtype=np.float64)

    def _read_text(self, place: _Place) -> TextColumn:
        texts = bytes(self._cut(place["values_at"], place["values_bytes"])).decode()
        values = [None if text == _NONE else text for text in texts.split(_BREAK)]
        if place["dtype"] == "constant":
            return TextColumn(values, np.zeros(self.size, dtype=np.int32))
        codes = np.frombuffer(self._cut(place["at"], place["bytes"]), dtype=place["dtype"])
        return TextColumn(values, codes.astype(np.int32))

    def _cut(self, at: int, size: int) -> memoryview:
        return self._body[at : at + size]

    def offer(self, row: int) -> Offer:
        """Build the offer of this row."""
        values: dict[str, object] = {}
        for name, kind in FIELD_KINDS.items():
            if kind in _TEXT_KINDS:
                text = self._text_at(name, row)
                values[name] = decimal_of(text) if kind is FieldKind.DECIMAL else text
            else:
                values[name] = number_of(float(self.number(name)[row]), kind)
        values["term"] = Term(str(values["term"]))
        values["source"] = Source(
            self._text_at("source_where", row) or "",
            date.fromordinal(int(self.number("source_read_on")[row])),
            self._text_at("source_licence", row) or "",
        )
        values["age_limits"] = self._age_limits
        return Offer(**values)  # type: ignore[arg-type]  # each field by its kind, see FIELD_KINDS

    def _text_at(self, name: str, row: int) -> str | None:
        column = self.text(name)
        return column.values[int(column.codes[row])]
