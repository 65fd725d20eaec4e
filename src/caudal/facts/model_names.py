"""Model names as people write them → entries of the catalogue.

A name matches by its letters, digits and points alone: `Llama 3.1 70B`, `llama-3.1-70b`,
`llama3.1:70b` and `LLAMA_3.1_70B` are one. A hub id matches with its organisation, or by the
name alone where that is an alias; a foreign organisation's upload is never taken for a known
model, since it may be quantised or retrained.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_NOT_COUNTED: Final = re.compile(r"[^a-z0-9./]+")
_TWINS: Final = ("instruct", "chat", "it", "hf", "base")  # tunings share the base model's shape


def folded(name: str) -> str:
    """Return what counts of a name: letters, digits, points, and the slash of a hub id."""
    return _NOT_COUNTED.sub("", name.casefold().removesuffix(":latest"))


class NameIndex:
    """Which entry each name means; a folded spelling that two entries share means neither."""

    __slots__ = ("_exact", "_folded")

    def __init__(self, names_of: Iterable[tuple[int, Sequence[str]]]) -> None:
        exact: dict[str, int] = {}
        loose: dict[str, int | None] = {}
        for position, names in names_of:
            for name in names:
                exact.setdefault(name.casefold(), position)
                key = folded(name)
                loose[key] = position if loose.get(key, position) == position else None
        self._exact: Mapping[str, int] = exact
        self._folded: Mapping[str, int | None] = loose

    def find(self, name: str) -> int | None:
        """Return the position of the entry that `name` means, None if there is none."""
        stripped = name.strip()
        found = self._exact.get(stripped.casefold())
        if found is not None:
            return found
        wanted = folded(stripped)
        found = self._folded.get(wanted)
        if found is not None or "/" in wanted:
            return found
        shorter = (wanted.removesuffix(twin) for twin in _TWINS if wanted.endswith(twin))
        return next((self._folded[name] for name in shorter if name in self._folded), None)


def short_name(model_id: str, aliases: Sequence[str]) -> str:
    """Return the name to type: the first lower-case alias that the id's own name begins with."""
    own = model_id.rpartition("/")[2]
    handy = [alias for alias in aliases if alias == alias.lower() and not set(alias) & {"/", ":"}]
    within = [alias for alias in handy if folded(own).startswith(folded(alias))]
    return next(iter(within or handy), own)
