"""One page for one reader: language, look, address, and what templates need to draw it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Final, TypeVar
from urllib.parse import urlencode

from markupsafe import Markup

from caudal.documents.failure import ErrorBody
from caudal.http.failures import failure_of
from caudal.http.services import Services
from caudal.vocabulary.errors import CaudalError
from caudal.web.languages import LANGUAGES, messages
from caudal.web.numbers_shown import Figures
from caudal.web.phrases import told

THEMES: Final = ("auto", "light", "dark")
Pairs = Sequence[tuple[str, str]]
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page's function returns: the template, its values, and the status."""

    template: str
    values: Mapping[str, object]
    status: int = 200


@dataclass(frozen=True, kw_only=True)
class Page:
    """What one request asks for, as far as a page needs to know."""

    path: str
    query: Pairs
    language: str
    theme: str
    services: Services
    language_in_address: bool = False
    paths: frozenset[str] = frozenset()  # of all pages
    names: Mapping[str, str] = field(default_factory=dict)  # from the path, such as a GPU's id

    @cached_property
    def figures(self) -> Figures:
        """Return how numbers are written."""
        return Figures(self.language)

    @cached_property
    def model_state(self) -> int:
        """Return a number that changes where the model of the address may have changed."""
        return self.services.models.state_of(self.get("model"))

    @property
    def today(self) -> date:
        """Return the day of the answer."""
        return self.services.clock()

    @property
    def has_load(self) -> bool:
        """Return whether this installation can simulate load."""
        return "/load" in self.paths

    def gettext(self, message: str, **values: object) -> str:
        """Return a message in the reader's language, with %(names)s filled in."""
        text = messages(self.language).gettext(message)
        return text % values if values else text

    def ngettext(self, one: str, many: str, count: int, **values: object) -> str:
        """Return a message that counts; %(num)s is the number as the language writes it."""
        text = messages(self.language).ngettext(one, many, count)
        return text % {"num": self.figures.number(count), **values}

    def told(self, sentence: str) -> Markup:
        """Return a sentence of another room in the reader's language."""
        return told(sentence, self.language)

    def get(self, name: str, usual: str = "") -> str:
        """Return one parameter of the address without blanks around it."""
        return next((value.strip() for key, value in self.query if key == name), usual)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return every value of a parameter that is not empty."""
        return tuple(value.strip() for key, value in self.query if key == name and value.strip())

    def read(self, name: str, parse: Callable[[str], Given]) -> Given | None:
        """Return a parameter as a quantity, None where it is not given."""
        text = self.get(name)
        return parse(text) if text else None

    def link(self, path: str, pairs: Iterable[tuple[str, object]] = (), *, part: str = "") -> str:
        """Return the address of another page; a language said in the address stays in it."""
        query = [(name, str(value)) for name, value in pairs if value not in {"", None}]
        if self.language_in_address and not any(name == "lang" for name, _ in query):
            query.append(("lang", self.language))
        return path + (f"?{urlencode(query)}" if query else "") + (f"#{part}" if part else "")

    def here(self, *, part: str = "", **changes: object) -> str:
        """Return this page's address with some parameters changed; None drops one."""
        kept = [(name, value) for name, value in self.query if name not in changes and value]
        new = [(name, value) for name, value in changes.items() if value not in {None, ""}]
        return self.link(self.path, [*kept, *new], part=part)

    @property
    def languages(self) -> list[tuple[str, str, str]]:
        """Return code, name and address of this page in each language."""
        return [(code, name, self.here(lang=code)) for code, name in LANGUAGES.items()]


def failure_shown(error: CaudalError, *, where: str | None = None) -> tuple[ErrorBody, int]:
    """Return what a page tells about an error, and the status of the page."""
    failure = failure_of(error, where=where)
    return failure.body, failure.status
