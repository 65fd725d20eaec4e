"""Bring the catalogues of the pages up to date with what templates and code say.

New messages are added without a translation (a test then fails until there is one), those that
nothing says any more are dropped. The English catalogue says each message as it stands.
"""

import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

WEB = Path(__file__).parents[1] / "src" / "caudal" / "web"
METHODS = [("**.py", "python"), ("templates/**.html", "jinja2")]
OPTIONS = {"templates/**.html": {"trimmed": "true", "newstyle_gettext": "true"}}
KEYWORDS = {"later": None, "gettext": None, "_": None, "ngettext": (1, 2)}
LANGUAGES = ("en", "es", "id")
# Forms that these messages need; CLDR's third Spanish one is only for whole millions.
PLURALS = {
    "en": (2, "nplurals=2; plural=(n != 1);"),
    "es": (2, "nplurals=2; plural=(n != 1);"),
    "id": (1, "nplurals=1; plural=0;"),
}


def said(folder: Path = WEB) -> Catalog:
    """Return every message that the pages say, without translations."""
    found = Catalog()
    for _, _, message, _, _ in extract_from_dir(
        folder, METHODS, OPTIONS, keywords=KEYWORDS, comment_tags=()
    ):
        found.add(message)
    return found


def updated(language: str, messages: Catalog, known: Catalog) -> Catalog:
    """Return the catalogue of one language with exactly these messages."""
    made = Catalog(locale=language, fuzzy=False, header_comment="# Messages of the pages.")
    setattr(made, "_num_plurals", PLURALS[language][0])  # noqa: B010  # has no public setter
    for message in sorted((item for item in messages if item.id), key=lambda item: str(item.id)):
        old = known.get(message.id if isinstance(message.id, str) else message.id[0])
        if language == "en":
            made.add(message.id, message.id)
        else:
            made.add(message.id, old.string if old is not None else "")
    return made


def write(language: str, catalogue: Catalog) -> None:
    """Write one catalogue, without dates, so that it only changes with its messages."""
    path = WEB / "locales" / language / "pages.po"
    with path.open("wb") as file:
        write_po(file, catalogue, width=0, omit_header=True, no_location=True)
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        f'"Language: {language}\\n"\n"Plural-Forms: {PLURALS[language][1]}\\n"\n\n'
    )
    path.write_text(header + path.read_text("utf-8"), "utf-8")


def main() -> None:
    """Update all catalogues and say what still lacks a translation."""
    messages, lacking = said(), 0
    for language in LANGUAGES:
        path = WEB / "locales" / language / "pages.po"
        with path.open("rb") as file:
            known = read_po(file, locale=language)
        catalogue = updated(language, messages, known)
        write(language, catalogue)
        missing = [item.id for item in catalogue if item.id and not whole(item.string)]
        lacking += len(missing)
        for message in missing:
            print(f"{language}: no translation: {message!r}")
    sys.exit(1 if lacking else 0)


def whole(string: object) -> bool:
    """Return whether a translation has every form that it needs."""
    return all(string) if isinstance(string, tuple | list) else bool(string)


if __name__ == "__main__":
    main()
