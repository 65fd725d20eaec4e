"""Cells of price lists as people and programs write them: read strictly, or refused."""

import re
from decimal import Decimal, InvalidOperation
from typing import Final

_CURRENCY_SIGNS: Final = re.compile(r"^(?:US\$|USD|EUR|GBP|[$€£])\s*|\s*(?:USD|EUR|GBP|[$€£])$")
_PLAIN: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}(?:([,.' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:([.,])\d+)?")
_COMMA: Final = re.compile(r"\d+,\d+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
# What a spreadsheet takes for a formula, by its first sign; numbers may begin with + or -.
_FORMULA: Final = re.compile(r"\s*(?:[=@]|[+-](?=[^\d.,\s])|[+-][\d.,]+[^\d.,eE\s%])")
_LONGEST: Final = 300  # chosen: no name in our lists has 120 signs


class CellError(ValueError):
    """A cell cannot be what its column says; the text is the reason."""


def clean(cell: str) -> str:
    """Return a name without control characters and outer blanks.

    Raises:
        CellError: it is a formula, or longer than any name.
    """
    text = _CONTROL.sub(" ", cell).strip()
    if _FORMULA.match(text):
        raise CellError(f"the cell {text[:40]!r} is a formula, which is not evaluated")
    if len(text) > _LONGEST:
        raise CellError(f"a cell has {len(text):,} signs")
    return text


def number(cell: str, *, what: str) -> Decimal | None:
    """Return the number in a cell, None where it is empty.

    Currency signs are dropped. `1,234.5`, `1.234,5`, `1 234,5` and `1'234.5` have groups of
    thousands; a comma with other than three digits behind it, or a leading zero, is a decimal
    comma; `1,690` alone is one thousand six hundred and ninety, `1.690` is one point six nine.

    Raises:
        CellError: it is no number, or a formula.
    """
    text = cell.strip()
    if _PLAIN.fullmatch(text):
        return _decimal(text, what)
    if not text or text.casefold() in {"nan", "none", "null", "n/a", "-", "–"}:
        return None
    if text.startswith(("=", "@")):
        raise CellError(f"the {what} {text[:40]!r} is a formula, which is not evaluated")
    text = _CURRENCY_SIGNS.sub("", text).strip()
    cents = text.endswith("¢")
    text = text.removesuffix("¢").strip()
    if grouped := _GROUPED.fullmatch(text):
        text = _without_groups(text, sign=grouped[1], point=grouped[2])
    elif _COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if not _PLAIN.fullmatch(text):
        raise CellError(f"the {what} {cell.strip()[:40]!r} is no number")
    value = _decimal(text, what)
    return value / 100 if cents else value


def _without_groups(text: str, *, sign: str, point: str | None) -> str:
    """Return a number without its groups; one point before three digits is a decimal point."""
    if point == sign or (sign == "." and point is None and text.count(".") == 1):
        return text
    return text.replace(sign, "").replace(",", ".")


def _decimal(text: str, what: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as broken:
        raise CellError(f"the {what} {text[:40]!r} is no number") from broken
    if not value.is_finite() or abs(value) > Decimal(10) ** 15:
        raise CellError(f"the {what} {text[:40]!r} is out of any range")
    return value


def count(cell: str, *, what: str) -> int | None:
    """Return a whole number, None where the cell is empty.

    Raises:
        CellError: it is none, or below zero.
    """
    value = number(cell, what=what)
    if value is None:
        return None
    if value < 0 or value != value.to_integral_value():
        raise CellError(f"the {what} {cell.strip()[:40]!r} is no whole number of 0 or more")
    return int(value)


def flag(cell: str, *, what: str) -> bool | None:
    """Return yes or no, None where the cell is empty.

    Raises:
        CellError: it is neither.
    """
    word = cell.strip().casefold()
    if word in {"true", "yes", "1", "y"}:
        return True
    if word in {"false", "no", "0", "n"}:
        return False
    if not word:
        return None
    raise CellError(f"the {what} {cell.strip()[:40]!r} is neither yes nor no")


def for_spreadsheet(text: str) -> str:
    """Return a cell for a CSV file that a spreadsheet does not take for a formula.

    Source: owasp.org, "CSV Injection": a quotation mark before =, +, -, @, tab or return.
    """
    if text[:1] in {"=", "@", "\t", "\r"} or (text[:1] in {"+", "-"} and not _is_number(text)):
        return f"'{text}"
    return text


def _is_number(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None
