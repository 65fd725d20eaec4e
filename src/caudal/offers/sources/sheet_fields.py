"""Typed access to the tables of a quote sheet; what is wrong is named by file and field."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal

from caudal.vocabulary.errors import InvalidFactError, nearest_names


class Fields:
    """One table of a parsed TOML document."""

    __slots__ = ("_table", "_where")

    def __init__(self, table: Mapping[str, object], *, where: str) -> None:
        self._table = table
        self._where = where

    def only(self, known: Collection[str]) -> None:
        """Refuse a field that is not known: a misspelt one would be lost.

        Raises:
            InvalidFactError: with the nearest names.
        """
        for key in self._table:
            if key not in known:
                near = nearest_names(key, known, most=2)
                meant = f"Did you mean {' or '.join(near)}? " if near else ""
                raise InvalidFactError(
                    f"{self._where}: there is no field {key!r}.",
                    remedy=f"{meant}Known: {', '.join(known)}.",
                )

    def wrong(self, key: str, wanted: str) -> InvalidFactError:
        """Return the error that says what the field should be."""
        found = f"is {self._table[key]!r}" if key in self._table else "is missing"
        return InvalidFactError(f"{self._where}: {key} {found}.", remedy=f"Give {wanted}.")

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return a text."""
        value = self._table.get(key, default)
        if isinstance(value, str):
            return value
        raise self.wrong(key, "a text")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, empty where there is none."""
        value = self._table.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.wrong(key, "a list of texts")

    def day(self, key: str) -> date:
        """Return a day."""
        value = self._table.get(key)
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        raise self.wrong(key, "a day such as 2026-09-01")

    def flag(self, key: str) -> bool:
        """Return a yes or no, no where there is none."""
        value = self._table.get(key, False)
        if isinstance(value, bool):
            return value
        raise self.wrong(key, "true or false")

    def number(self, key: str) -> Decimal:
        """Return a number of 0 or more."""
        value = self.maybe_number(key)
        if value is None:
            raise self.wrong(key, "a number of 0 or more")
        return value

    def maybe_number(self, key: str) -> Decimal | None:
        """Return a number of 0 or more, None where there is none."""
        value = self._table.get(key)
        if value is None:
            return None
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            number = Decimal(value)
            if number.is_finite() and number >= 0:
                return number
        raise self.wrong(key, "a number of 0 or more")

    def count(self, key: str, *, default: int | None = None) -> int:
        """Return a whole number of 0 or more."""
        value = self.maybe_count(key)
        if value is None:
            value = default
        if value is None:
            raise self.wrong(key, "a whole number")
        return value

    def maybe_count(self, key: str) -> int | None:
        """Return a whole number of 0 or more, None where there is none."""
        value = self._table.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise self.wrong(key, "a whole number of 0 or more")

    def counts(self, key: str) -> dict[str, int]:
        """Return whole numbers by name, empty where there are none."""
        if key not in self._table:
            return {}
        table = self.table(key)
        return {name: table.count(name) for name in table}

    def table(self, key: str) -> "Fields":
        """Return a table."""
        value = self._table.get(key)
        if isinstance(value, dict):
            return Fields(value, where=f"{self._where}: [{key}]")
        raise self.wrong(key, "a table")

    def tables(self, key: str) -> "tuple[Fields, ...]":
        """Return a list of tables, empty where there is none."""
        value = self._table.get(key, [])
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return tuple(
                Fields(item, where=f"{self._where}: [[{key}]] {number}")
                for number, item in enumerate(value, start=1)
            )
        raise self.wrong(key, f"tables as [[{key}]]")

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)
