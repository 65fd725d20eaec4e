"""Every page in every language: it opens, says nothing in another language, and axe is content."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
QUESTION = "model=llama-3.1-8b&load=rate&amount=2%2Fs&input=500&output=200&gpu=l4,l40s,rtx-4090"
PAGES = {
    "home": f"/?{QUESTION}",
    "derivation": f"/?{QUESTION}&explain=1",
    "gpus": "/gpus",
    "compare": "/gpus/compare?gpu=h100-sxm&gpu=l40s&gpu=rtx-4090",
    "gpu": "/gpus/a100-80g-sxm",
    "models": "/models?family=qwen",
    "model": "/models/llama-3.1-8b",
    "fit": "/fit?model=llama-3.1-8b&gpu=rtx-4090&count=1",
    "load": "/load?model=llama-3.1-8b&gpu=l40s&tp=1",
    "cost": f"/cost?{QUESTION}",
    "offers": "/offers?gpu=h100-sxm",
    "workloads": "/workloads",
    "training": "/workloads/training",
    "fine-tuning": "/workloads/fine-tuning",
    "images": "/workloads/images",
    "rendering": "/workloads/rendering",
    "science": "/workloads/science",
    "numbers": "/numbers",
}
LANGUAGES = ("es", "en", "id")
# Data that is quoted from its source stays in the source's language, and says so.
QUOTED = ("td", "p.source", "th[scope=row]", "small", "li")
Open = Callable[..., Page]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_all_its_own_words_in_each_language(
    name: str, open_page: Open, screens: Path
) -> None:
    for language in LANGUAGES:
        sign = "&" if "?" in PAGES[name] else "?"

        page = open_page(f"{PAGES[name]}{sign}lang={language}")

        assert language == page.get_attribute("html", "lang")
        assert 1 == page.locator("h1").count()
        foreign = page.locator('main span[lang="en"]').all_inner_texts()
        quoted = page.locator('.source span[lang="en"], td span[lang="en"]').all_inner_texts()
        assert [] == [text for text in foreign if text not in quoted]
        page.screenshot(path=screens / f"{name}-{language}.png", full_page=True)
        page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(name: str, open_page: Open) -> None:
    page = open_page(PAGES[name])
    page.evaluate(AXE.read_text("utf-8"))

    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    serious = [
        (each["id"], [node["target"] for node in each["nodes"]][:3], each["help"])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert [] == serious


@pytest.mark.parametrize("name", ["home", "fit", "offers", "cost", "load"])
def test_axe_finds_nothing_serious_in_the_dark(name: str, open_page: Open) -> None:
    page = open_page(PAGES[name], dark=True)
    page.evaluate(AXE.read_text("utf-8"))

    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    serious = [
        (each["id"], [node["target"] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert [] == serious


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 2560])
def test_a_page_is_as_wide_as_its_window(
    name: str, width: int, open_page: Open, screens: Path
) -> None:
    page = open_page(f"{PAGES[name]}{'&' if '?' in PAGES[name] else '?'}lang=id", width=width)

    assert width == page.evaluate("document.documentElement.scrollWidth")
    if width == 360:
        page.screenshot(path=screens / f"{name}-360.png", full_page=True)
