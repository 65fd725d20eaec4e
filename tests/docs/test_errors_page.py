import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import caudal
from caudal.cli.failures import EXIT_CODES
from caudal.vocabulary.errors import CaudalError
from documents import ROOT

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)

for _module in pkgutil.walk_packages(caudal.__path__, "caudal."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)  # rooms define errors of their own


def with_subclasses(error: type[CaudalError]) -> Iterator[type[CaudalError]]:
    yield error
    for subclass in error.__subclasses__():
        yield from with_subclasses(subclass)


CODES = {error.code for error in with_subclasses(CaudalError)}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_error_code_is_explained(code: str) -> None:
    assert code in HEADINGS


@pytest.mark.parametrize("heading", HEADINGS)
def test_nothing_is_explained_that_no_longer_exists(heading: str) -> None:
    assert heading in CODES


def test_every_error_has_a_code_of_its_own() -> None:
    classes = list(with_subclasses(CaudalError))

    assert len({error.code for error in classes}) == len(set(classes))


def test_the_page_states_the_exit_code_of_each_kind() -> None:
    stated = dict(re.findall(r"^\| `(\w+)` \| (\d) \|", PAGE, re.MULTILINE))

    assert stated == {kind.value: str(code) for kind, code in EXIT_CODES.items()}
