"""Without a mouse, without JavaScript, without a large screen."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

QUESTION = "model=llama-3.1-8b&load=rate&amount=2%2Fs&input=500&output=200&gpu=l4,l40s,rtx-4090"
Open = Callable[..., Page]


def test_without_javascript_the_form_asks_and_the_answer_comes(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}", scripts=False)
    page.get_by_label("How much").fill("3/s")

    page.get_by_role("button", name="Show the plans").click()

    expect(page.locator("#answer-title")).to_contain_text("3 requests a second")
    page.get_by_role("link", name="derive 1", exact=True).click()
    expect(page.locator("#derivation h2")).to_contain_text("How row 1 comes about")


def test_without_javascript_sliders_and_filters_are_sent(open_page: Open) -> None:
    page = open_page("/fit?model=llama-3.1-8b&gpu=rtx-4090&count=1&concurrency=200", scripts=False)
    expect(page.locator(".verdict")).to_have_text("It does not fit.")

    page.get_by_role("button", name="Calculate").click()
    expect(page.locator(".verdict")).to_have_text("It does not fit.")
    page.goto(urlsplit(page.url)._replace(path="/offers", query="").geturl())
    page.get_by_label("Region", exact=True).fill("eu")
    page.get_by_role("button", name="Filter").click()

    assert ["eu"] == parse_qs(urlsplit(page.url).query)["region"]
    assert page.locator("#list tbody tr").count() > 0


def test_without_a_mouse_everything_is_reached_and_seen(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}")

    page.keyboard.press("Tab")
    assert "Skip to the content" == page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, visible = page.evaluate(
            "[document.activeElement.id || document.activeElement.innerText,"
            " getComputedStyle(document.activeElement).outlineStyle !== 'none']"
        )
        reached.append(name)
        assert visible, f"{name} shows no focus"

    for field in ("model", "load", "amount", "input", "output", "ttft_p95", "tpot_p95"):
        assert field in reached
    assert "Show the plans" in reached


def test_a_question_is_asked_by_keyboard_alone(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}")
    page.locator("#amount").focus()

    page.keyboard.press("Control+A")
    page.keyboard.type("4/s")
    page.keyboard.press("Enter")

    expect(page.locator("#answer-title")).to_contain_text("4 requests a second")


def test_a_phone_shows_the_cards_below_each_other(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}", width=360, height=740)

    boxes = [card.bounding_box() for card in page.locator(".card").all()]

    lefts = {round(box["x"]) for box in boxes if box is not None}
    assert 1 == len(lefts)


def test_the_dark_is_the_systems_until_one_is_chosen(open_page: Open) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = open_page("/workloads").evaluate(colour)

    page = open_page("/workloads", dark=True)

    dark = page.evaluate(colour)
    assert light != dark
    page.get_by_role("link", name="Light", exact=True).click()
    assert light == page.evaluate(colour)


def test_nothing_moves_when_the_answer_changes(open_page: Open) -> None:
    page = open_page("/fit?model=llama-3.1-8b&gpu=rtx-4090&count=1&concurrency=1")
    page.evaluate(
        "window.shift = 0; new PerformanceObserver(list => { for (const entry of"
        " list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value })"
        ".observe({type: 'layout-shift', buffered: true})"
    )

    page.reload()
    expect(page.locator(".verdict")).to_be_visible()

    assert page.evaluate("window.shift || 0") < 0.1
