"""Sentences of the rooms in the reader's language.

Rooms explain themselves in English, with names and figures filled in. The catalogue `rooms.po`
holds those sentences with {places} where something is filled in; a sentence is recognised, its
parts are translated in turn, and figures are written as the language writes them. A sentence that
no pattern knows stays English and says so (`lang="en"`), so that a screen reader speaks it right.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from markupsafe import Markup, escape

from caudal.web.languages import ROOMS, USUAL, catalogue
from caudal.web.numbers_shown import Figures

_PLACE = re.compile(r"(\$?)\{(\w+)\}")  # a dollar sign belongs to the amount behind it
_FIGURE = re.compile(r"(?<![\w.\-/])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w.]*\d)|(?<![\w.\-/])\d+\.\d+")
_DOLLARS = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)(?!\w)")
# Filled in as they stand: names, and numbers that are no figures (versions).
_AS_IS: Final = frozenset({"name", "version", "examples", "offer"})
_LIST: Final = "list"  # several, with commas between
_WORD = re.compile(r"[^\W\d_]{2,}")
# Words that every language writes so; figures between them need no translation.
_SHARED: Final = frozenset(
    {"GiB", "MiB", "KiB", "GB", "TB", "ms", "min", "USD", "TFLOP", "GPU", "ln", "KV", "TTFT"}
    | {"TPOT", "fp", "bf", "int", "mxfp", "nvfp", "TP", "PP", "EP", "out"}
)
_DEEPEST: Final = 4  # parts of parts of parts


@dataclass(frozen=True, slots=True)
class Pattern:
    """One sentence with places, and how it is said."""

    matcher: re.Pattern[str]
    said: str


def told(sentence: str, language: str) -> Markup:
    """Return a room's sentence in `language`, escaped; in English and marked so if unknown."""
    text = translated(sentence, language)
    if text is None:
        return Markup('<span lang="en">{}</span>').format(sentence)
    return escape(text)


@lru_cache(maxsize=8_192)
def translated(sentence: str, language: str) -> str | None:
    """Return a room's sentence in `language`, None where no pattern knows it."""
    return _said(sentence, language, depth=0)


def _said(sentence: str, language: str, *, depth: int) -> str | None:
    if depth > _DEEPEST:
        return None
    plain, patterns = _patterns(language)
    if sentence in plain:
        return plain[sentence]
    for pattern in patterns:
        found = pattern.matcher.fullmatch(sentence)
        if found is not None:
            parts = {
                place: _part(place, value, language, depth=depth)
                for place, value in found.groupdict().items()
            }
            return _filled(pattern.said, parts)
    if language == USUAL:
        return sentence
    return localised(sentence, language) if _needs_no_words(sentence) else None


def _needs_no_words(sentence: str) -> bool:
    return all(word in _SHARED for word in _WORD.findall(sentence))


def _filled(said: str, parts: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: parts[place[2]], said)


def _part(place: str, value: str, language: str, *, depth: int) -> str:
    kind = place.rstrip("0123456789")
    if kind in _AS_IS:
        return value
    if kind == _LIST:
        items = value.split(", ")
        return ", ".join(_part("", item, language, depth=depth) for item in items)
    whole = _said(value, language, depth=depth + 1)
    return localised(value, language) if whole is None else whole


def localised(text: str, language: str) -> str:
    """Return text with its dollars and figures as the language writes them."""
    figures = Figures(language)

    def money(found: re.Match[str]) -> str:
        number = found[1].replace(",", "")
        return figures.usd(float(number), len(number.partition(".")[2]))

    def figure(found: re.Match[str]) -> str:
        number = found[0].replace(",", "")
        return figures.number(float(number), len(number.partition(".")[2]))

    if language == USUAL:
        return text
    pieces = _DOLLARS.split(text)
    shown = []
    for index, piece in enumerate(pieces):
        if index % 2:
            match = _DOLLARS.fullmatch(f"${piece}")
            assert match is not None, "split by the same pattern"
            shown.append(money(match))
        else:
            shown.append(_FIGURE.sub(figure, piece))
    return "".join(shown)


@cache
def _patterns(language: str) -> tuple[dict[str, str], tuple[Pattern, ...]]:
    """Return the sentences without places, and the patterns, those with most words first."""
    plain: dict[str, str] = {}
    patterns: list[tuple[int, Pattern]] = []
    for written, said in _entries(language):
        if not _PLACE.search(written):
            plain[written] = said
            continue
        patterns.append((len(_PLACE.sub("", written)), Pattern(_matcher(written), said)))
    ordered = sorted(patterns, key=lambda pair: -pair[0])
    return plain, tuple(pattern for _, pattern in ordered)


def _matcher(written: str) -> re.Pattern[str]:
    """Return what recognises a sentence: its words as they stand, something at each place."""
    pattern, end = "", 0
    for place in _PLACE.finditer(written):
        sign = re.escape(place[1])
        pattern += f"{re.escape(written[end : place.start()])}(?P<{place[2]}>{sign}.+?)"
        end = place.end()
    return re.compile(pattern + re.escape(written[end:]), re.DOTALL)


def _entries(language: str) -> Iterator[tuple[str, str]]:
    for message in catalogue(language, ROOMS):
        if message.id and message.string:
            yield str(message.id), str(message.string)
