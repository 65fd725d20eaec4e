"""The languages of the pages: which one a reader gets, and its messages.

Messages are kept as gettext catalogues in `locales/<language>/<domain>.po`; they are compiled in
memory when a server starts, so that there is no second file to forget.
"""

import pkgutil
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LANGUAGES: Final = {"es": "Español", "en": "English", "id": "Bahasa Indonesia"}
USUAL: Final = "en"
PAGES: Final = "pages"  # what the pages say
ROOMS: Final = "rooms"  # sentences that the other rooms make


def later(message: str) -> str:
    """Return a message as it is: marked for the catalogues, translated where it is shown."""
    return message


def catalogue(language: str, domain: str) -> Catalog:
    """Return the catalogue of one language as it is written."""
    raw = pkgutil.get_data("caudal.web", f"locales/{language}/{domain}.po")
    assert raw is not None, f"the wheel lacks locales/{language}/{domain}.po"
    return read_po(BytesIO(raw), locale=language)


@cache
def messages(language: str) -> GNUTranslations:
    """Return the messages of the pages in one language."""
    compiled = BytesIO()
    write_mo(compiled, catalogue(language, PAGES))
    compiled.seek(0)
    return GNUTranslations(compiled)


def chosen_language(asked: str | None, kept: str | None, header: str) -> str:
    """Return the language of a page: asked for, kept from before, or the browser's first."""
    for wish in (asked, kept):
        if wish in LANGUAGES:
            return str(wish)
    return preferred_language(header)


def preferred_language(header: str) -> str:
    """Return the first of our languages that an Accept-Language header prefers.

    Source: RFC 9110 section 12.5.4; `q=0` is "not this one", a malformed weight counts as 0.
    """
    wishes = []
    for place, part in enumerate(header[:1000].split(",")):
        name, _, weight = part.partition(";")
        language = name.strip().lower().partition("-")[0]
        quality = _quality(weight)
        if language in LANGUAGES and quality > 0:
            wishes.append((-quality, place, language))
    return min(wishes)[2] if wishes else USUAL


def _quality(weight: str) -> float:
    name, _, value = weight.strip().partition("=")
    if not name:
        return 1.0
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
