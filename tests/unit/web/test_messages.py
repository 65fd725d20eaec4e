"""No page says a word that one of its languages lacks, and no catalogue keeps one unsaid."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from babel.messages.catalog import Catalog, Message

from caudal.plan.report import Gate
from caudal.vocabulary.estimate import Basis
from caudal.web.languages import LANGUAGES, PAGES, ROOMS, catalogue
from caudal.web.phrases import translated

ROOT = Path(__file__).parents[3]
PLACE = re.compile(r"%\((\w+)\)s|\{(\w+)\}")


@cache
def _script() -> ModuleType:
    """Return scripts/messages.py, which extracts what the pages say."""
    spec = importlib.util.spec_from_file_location("messages", ROOT / "scripts" / "messages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _ids(messages: Catalog) -> set[str]:
    return {_id(message) for message in messages if message.id}


def _id(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _forms(message: Message) -> list[str]:
    string = message.string
    return [string or ""] if string is None or isinstance(string, str) else list(string)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_of_the_pages_is_translated_and_none_is_unused(language: str) -> None:
    said = _ids(_script().said())

    known = _ids(catalogue(language, PAGES))

    assert (set(), set()) == (said - known, known - said), "run scripts/messages.py"


@pytest.mark.parametrize("domain", [PAGES, ROOMS])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_empty_fuzzy_or_without_a_place(language: str, domain: str) -> None:
    for message in catalogue(language, domain):
        if not message.id:
            continue
        places = set(PLACE.findall(_id(message)))

        assert not message.fuzzy, message.id
        for form in _forms(message):
            assert form, f"{language} lacks {message.id!r}"
            assert set(PLACE.findall(form)) <= places, message.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_know_the_same_sentences_of_other_rooms(language: str) -> None:
    assert _ids(catalogue("en", ROOMS)) == _ids(catalogue(language, ROOMS))


def test_every_sentence_of_other_rooms_is_still_said() -> None:
    said = " ".join(_words("\n".join(_strings())))

    unsaid = [each for each in _ids(catalogue("en", ROOMS)) if not _is_said(each, said)]

    assert [] == unsaid


def _is_said(sentence: str, said: str) -> bool:
    """Return whether three words of it in a row, or each of fewer, are in the code or the data.

    Sentences are put together from parts, so no more can be asked of the code's own strings.
    """
    parts = [_words(piece) for piece in re.split(r"\$?\{\w+\}", sentence)]
    runs = [part[at : at + 3] for part in parts for at in range(len(part) - 2)]
    if runs:
        return any(f" {' '.join(run)} " in said for run in runs)
    return all(f" {word} " in said for part in parts for word in part)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


ACCURACY = "facts/data/calibration/accuracy.csv"


@cache
def _strings() -> tuple[str, ...]:
    """Return every text in the code of all rooms, and of the data that are shown as they stand."""
    found = []
    for path in sorted((ROOT / "src" / "caudal").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "\0"
                        for part in node.values
                    )
                )
    data = [
        path
        for place in ("offers/**/*.csv", "offers/**/*.toml", "offers/**/*.json", ACCURACY)
        for path in sorted((ROOT / "src" / "caudal").glob(place))
    ]
    return (*found, *(path.read_text("utf-8") for path in data))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("word", [*Gate, *Basis])
def test_every_gate_and_basis_has_a_name_in_each_language(word: str, language: str) -> None:
    assert translated(word, language) is not None
