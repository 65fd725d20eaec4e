import re
from pathlib import Path

import pytest

from documents import ROOT, documents

LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)")


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", documents(), ids=page_id)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", documents(), ids=page_id)
def test_every_page_opens_with_its_title(page: Path) -> None:
    text = re.sub(r"<!--.*?-->\s*", "", page.read_text(encoding="utf-8"))

    assert text.startswith("# ")


@pytest.mark.parametrize("page", documents(), ids=page_id)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:src|scripts|tests|docs)/[^`\s]+)`", page.read_text(encoding="utf-8"))

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/decisions").glob("*.md"))]

    assert numbers == list(range(1, len(numbers) + 1))


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pages = (ROOT / "docs/decisions").glob("*.md")
    reasons = "".join(page.read_text(encoding="utf-8") for page in pages)

    for package in re.findall(r'"([a-z0-9-]+)>=', project):
        if package != "hatchling":
            assert package in reasons, package
