"""Figures, money and dates as each language writes them."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from math import floor, isfinite, log10
from typing import Final

from babel.core import Locale
from babel.dates import format_date
from babel.numbers import format_currency, get_decimal_symbol, get_group_symbol

from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.units import GB, GIB

UNKNOWN: Final = "–"
Number = float | int | Decimal
_MONEY_DIGITS: Final = ((100.0, 0), (0.1, 2), (0.0, 4))  # from this many dollars, so many digits


class Figures:
    """Numbers for one language; what is unknown or has no finite value is a dash."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._marks = str.maketrans(
            {",": get_group_symbol(language), ".": get_decimal_symbol(language)}
        )

    @cached_property
    def locale(self) -> Locale:
        """Return Babel's locale of the language."""
        return Locale.parse(self.language)

    def number(self, value: Number | None, digits: int = 0) -> str:
        """Return a number with so many decimals: 1,008 or 1.008."""
        if value is None or not isfinite(value):
            return UNKNOWN
        return f"{value:,.{digits}f}".translate(self._marks)

    def significant(self, value: Number | None, digits: int = 3) -> str:
        """Return a number with so many significant digits, whole numbers in full."""
        if value is None or not isfinite(value):
            return UNKNOWN
        if value == int(value):
            return self.number(value)
        decimals = max(0, digits - 1 - floor(log10(abs(float(value)))))
        return self.number(value, min(decimals, 6))

    def usd(self, value: Number | None, digits: int | None = None) -> str:
        """Return dollars: $2.35, 2,35 US$ or US$2,35; whole ones from a hundred on."""
        if value is None or not isfinite(value):
            return UNKNOWN
        if digits is None:
            digits = next(places for least, places in _MONEY_DIGITS if abs(float(value)) >= least)
        return _money(self.language, f"{Decimal(value):.{digits}f}")

    def gib(self, size: Number | None, digits: int = 1) -> str:
        """Return bytes as GiB without the unit, which stands in the header."""
        return UNKNOWN if size is None else self.number(float(size) / GIB, digits)

    def gb(self, size: Number | None) -> str:
        """Return bytes as a datasheet's GB, without the unit."""
        return UNKNOWN if size is None else self.significant(float(size) / GB, 4)

    def milliseconds(self, seconds: Number | None) -> str:
        """Return seconds as milliseconds, without the unit."""
        if seconds is None or not isfinite(seconds):
            return UNKNOWN
        shown = float(seconds) * 1e3
        return self.number(shown, 1 if shown < 100 and abs(shown - round(shown)) > 1e-9 else 0)

    def duration(self, seconds: Number | None) -> str:
        """Return a time with its unit: 48.2 ms, 911 ms or 1.25 s."""
        if seconds is None or not isfinite(seconds):
            return UNKNOWN
        if seconds < 1:
            return f"{self.milliseconds(seconds)} ms"
        return f"{self.significant(seconds)} s"

    def percent(self, share: Number | None, digits: int = 0) -> str:
        """Return a share of one in per cent."""
        if share is None or not isfinite(share):
            return UNKNOWN
        gap = "\u00a0" if self.language == "es" else ""
        return f"{self.number(float(share) * 100, digits)}{gap}%"

    def date(self, day: date | None) -> str:
        """Return a day as the language writes it."""
        return UNKNOWN if day is None else format_date(day, "medium", locale=self.locale)

    def billions(self, count: Number | None) -> str:
        """Return parameters in billions, without the unit."""
        return UNKNOWN if count is None else self.significant(float(count) / 1e9)

    def short(self, value: Number) -> str:
        """Return a number for an axis: millions from a hundred thousand on, as 13,000 M."""
        if abs(float(value)) >= 1e5:
            return f"{self.significant(float(value) / 1e6, 2)} M"
        return self.significant(value, 2)

    def range_of(self, estimate: Estimate, shown: Callable[[float], str]) -> str:
        """Return the low and the high end of an estimate."""
        return f"{shown(estimate.low)} … {shown(estimate.high)}"


@lru_cache(maxsize=20_000)
def _money(language: str, amount: str) -> str:
    digits = len(amount.partition(".")[2])
    pattern = Locale.parse(language).currency_formats["standard"].pattern
    shaped = pattern.replace("#,##0.00", "#,##0" + ("." + "0" * digits if digits else ""))
    return format_currency(
        Decimal(amount), "USD", format=shaped, locale=language, currency_digits=False
    )
