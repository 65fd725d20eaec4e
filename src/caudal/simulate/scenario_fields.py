"""Fields of a scenario, read one by one: an error names file and field, and what is expected."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar

from caudal.simulate.refusals import InvalidScenarioError
from caudal.vocabulary.errors import CaudalError, nearest_names

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fields:
    """One table of the file; `where` is its path, such as "deployment.autoscaling"."""

    name: str  # of the file
    where: str
    values: Mapping[str, object]

    def path(self, key: str) -> str:
        """Return the field's full name."""
        return f"{self.where}.{key}" if self.where else key

    def refuse(self, key: str, problem: str, remedy: str) -> InvalidScenarioError:
        """Return the error about one field."""
        return InvalidScenarioError(f"{self.name}: {self.path(key)} {problem}.", remedy=remedy)

    def has(self, key: str) -> bool:
        """Return whether the field is given."""
        return key in self.values

    def get(self, key: str) -> object:
        """Return the raw value, None where it is missing."""
        return self.values.get(key)

    def table(self, key: str) -> "Fields":
        """Return an inner table, empty where it is missing."""
        found = self.get(key)
        if found is None:
            return Fields(self.name, self.path(key), {})
        if not isinstance(found, dict):
            raise self.refuse(
                key, "is no table", f"Write [{self.path(key)}] with its fields below."
            )
        return Fields(self.name, self.path(key), found)

    def tables(self, key: str) -> tuple["Fields", ...]:
        """Return a list of tables, written [[key]]."""
        found = self.get(key)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self.refuse(key, "is no list of tables", f"Write [[{self.path(key)}]] for each.")
        return tuple(
            Fields(self.name, f"{self.path(key)}[{at}]", each) for at, each in enumerate(found)
        )

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        found = self.get(key)
        if found is None and default is not None:
            return default
        if not isinstance(found, str) or not found:
            raise self.refuse(key, _shown(found, "a text"), f'Write {key} = "…".')
        return found

    def flag(self, key: str) -> bool | None:
        """Return true or false, None where it is missing."""
        found = self.get(key)
        if found is not None and not isinstance(found, bool):
            raise self.refuse(key, _shown(found, "true or false"), f"Write {key} = true or false.")
        return found

    def whole(self, key: str, default: int | None = None, *, least: int = 1, most: int) -> int:
        """Return a whole number between `least` and `most`."""
        found = self.get(key)
        if found is None and default is not None:
            return default
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            expected = f"a whole number from {least:,} to {most:,}"
            raise self.refuse(key, _shown(found, expected), f"Write {key} = {least} or more.")
        return found

    def number(self, key: str, default: float | None = None, *, least: float, most: float) -> float:
        """Return a number between `least` and `most`."""
        found = self.get(key)
        if found is None and default is not None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
            raise self.refuse(key, _shown(found, "a number"), f"Write {key} = {least:g} or more.")
        if not least <= found <= most:
            expected = f"a number from {least:g} to {most:g}"
            raise self.refuse(key, _shown(found, expected), f"Write {key} = {least:g} or more.")
        return float(found)

    def quantity(self, key: str, parse: Callable[[str], T], default: T | None = None) -> T:
        """Return a quantity that one of the vocabulary's parsers reads from text or a number."""
        found = self.get(key)
        if found is None and default is not None:
            return default
        if found is None or isinstance(found, bool) or not isinstance(found, str | int | float):
            raise self.refuse(key, _shown(found, "a quantity"), f'Write {key} = "…" with its unit.')
        try:
            return parse(str(found))
        except CaudalError as error:
            raise self.refuse(key, f"cannot be read: {error.problem}", error.remedy) from error

    def finish(self, known: tuple[str, ...]) -> None:
        """Refuse fields that nothing reads: a misspelt one would be silently without effect."""
        for key in self.values:
            if key not in known:
                nearest = nearest_names(key, known, most=3)
                meant = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
                raise self.refuse(
                    key, "is no field of this table", f"{meant}It has {', '.join(known)}."
                )


def _shown(found: object, expected: str) -> str:
    return "is missing" if found is None else f"is {str(found)[:40]!r}, not {expected}"
