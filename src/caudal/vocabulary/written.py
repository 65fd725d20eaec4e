"""A quantity as somebody typed it: a number and what stands behind it.

One place decides what a number looks like, what a comma means and how a wrong unit is told.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError

LONGEST_TEXT: Final = 64  # chosen: no quantity needs more; keeps messages and numbers small

_NUMBER = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,3}(?:[,_][0-9]{3})+(?![0-9_])|[0-9]+)(?:\.[0-9]+)?"
    r"|[+-]?\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]{1,2}(?![0-9]))?\s*"
)
_COMMA_DECIMAL = re.compile(r"(?P<whole>[+-]?[0-9]+),(?P<part>[0-9]+)(?P<rest>[^0-9,.]*)")
CURRENCIES: Final = ("US$", "$", "USD", "€", "£", "¥")
_UNSPOKEN = ("inf", "nan", "infinity", "infinite", "unlimited")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What a parser expects: its word, how it is written, and the bounds of sense."""

    noun: str  # with its article, such as "a duration"
    examples: str  # such as "500ms or 1.5s"
    largest: Decimal  # in base units; what lies above is taken for a mistake
    largest_text: str  # the same as people read it


@dataclass(frozen=True, slots=True)
class Written:
    """The number and the unit of a quantity, apart; the unit has no space around it."""

    number: Decimal
    unit: str
    looks_like_thousands: bool  # one point before exactly three digits, such as 2.000


def problem_with(
    text: str, why: str, quantity: Quantity, *, name: str = ""
) -> InvalidQuantityError:
    """Return the error that `text` is not the quantity needed, and how that one is written."""
    shown = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    where = f"{name}: " if name else ""
    return InvalidQuantityError(
        f"{where}{shown!r} {why}.", remedy=f"Write {quantity.noun} such as {quantity.examples}."
    )


def split_written(text: str, quantity: Quantity, *, name: str = "") -> Written:
    """Return number and unit of `text`.

    A comma or underscore between groups of three digits separates thousands; any other comma
    is refused, since half of the readers would take it for a decimal point.

    Raises:
        InvalidQuantityError: there is no number, or it can be read in two ways.
    """
    stripped = text.strip()
    if not stripped:
        raise problem_with(text, "is empty", quantity, name=name)
    if len(stripped) > LONGEST_TEXT:
        raise problem_with(stripped, "is too long for a quantity", quantity, name=name)
    match = _NUMBER.match(stripped)
    if match is None:
        raise problem_with(stripped, _why_no_number(stripped, quantity), quantity, name=name)
    unit = stripped[match.end() :]
    if unit[:1] in {",", "."} or (unit[:1].isdigit() and "," in stripped):
        raise _ambiguous(stripped, quantity, name=name)
    if unit[:1].isdigit() or unit[:1] in {"+", "-", "_"}:
        raise problem_with(stripped, "is not one number", quantity, name=name)
    digits = match["number"].replace(",", "").replace("_", "")
    return Written(
        number=Decimal(digits + (match["exponent"] or "")),
        unit=unit.rstrip(),
        looks_like_thousands=bool(re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", digits)),
    )


def unit_factor(
    unit: str, units: Mapping[str, Decimal], *, case_matters: frozenset[str] = frozenset()
) -> Decimal | None:
    """Return what one `unit` is in base units; None if it is none of `units`.

    Spellings are compared without case, save those in `case_matters`.
    """
    if unit in units:
        return units[unit]
    if unit in case_matters:
        return None
    folded = unit.casefold()
    return next((factor for known, factor in units.items() if known.casefold() == folded), None)


def within_sense(
    value: Decimal, text: str, quantity: Quantity, *, zero_ok: bool, name: str
) -> Decimal:
    """Return `value` if it is above zero (or zero where that means something) and not absurd."""
    if value < 0:
        raise problem_with(text, "is negative", quantity, name=name)
    if value == 0 and not zero_ok:
        raise problem_with(text, "is zero; more than zero is needed", quantity, name=name)
    if value > quantity.largest:
        why = f"is more than {quantity.largest_text}, which cannot be meant"
        raise problem_with(text, why, quantity, name=name)
    return value


def _why_no_number(text: str, quantity: Quantity) -> str:
    if text.lstrip("+-").casefold() in _UNSPOKEN:
        return f"is no finite number; {quantity.noun} is needed"
    if text.upper().startswith(CURRENCIES):
        return f"is a price; {quantity.noun} such as {quantity.examples} is needed"
    return f"is not {quantity.noun}"


def _ambiguous(text: str, quantity: Quantity, *, name: str) -> InvalidQuantityError:
    where = f"{name}: " if name else ""
    found = _COMMA_DECIMAL.fullmatch(text)
    if found is None:
        why = "has commas or points that do not separate thousands"
        return problem_with(text, why, quantity, name=name)
    point = f"{found['whole']}.{found['part']}{found['rest']}"
    joined = f"{found['whole']}{found['part']}{found['rest']}"
    return InvalidQuantityError(
        f"{where}{text!r} can be read in two ways: the comma may stand for thousands or decimals.",
        remedy=f"Write {point} if it is a decimal comma, {joined} if not.",
    )
