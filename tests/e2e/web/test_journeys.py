"""What people come for, from the first field to the answer they take away."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

QUESTION = "model=llama-3.1-8b&load=rate&amount=2%2Fs&input=500&output=200&gpu=l4,l40s,rtx-4090"
Open = Callable[..., Page]


def test_ask_plan_derive_share_and_open_what_was_shared(open_page: Open, server: str) -> None:
    page = open_page(f"/?{QUESTION}")
    page.get_by_label("How much").fill("3/s")
    page.get_by_label("How much").press("Tab")
    expect(page.locator("#answer-title")).to_contain_text("3 requests a second")
    page.get_by_role("link", name="derive 1", exact=True).click()
    expect(page.locator("#derivation h2")).to_contain_text("How row 1 comes about")
    price = page.locator(".card .price a").first.inner_text()
    assert page.locator("#ranking tbody tr").first.locator("a.q").count() == 5
    address = urlsplit(page.url)

    shared = open_page(f"/?{address.query}")

    asked = parse_qs(address.query)
    assert ["3/s"] == asked["amount"]
    assert ["1"] == asked["explain"]
    expect(shared.locator("#answer-title")).to_contain_text("3 requests a second")
    expect(shared.locator("#derivation h2")).to_contain_text("How row 1 comes about")
    assert price == shared.locator(".card .price a").first.inner_text()


def test_a_preset_fills_the_question_and_keeps_the_model(open_page: Open) -> None:
    page = open_page("/?model=llama-3.1-8b&amount=1%2Fs&gpu=l40s")

    page.get_by_role("link", name="Questions about documents (RAG)").click()

    assert "llama-3.1-8b" == page.get_by_label("Model", exact=True).input_value()
    assert "6000" == page.get_by_label("Prompt (tokens)").input_value()
    assert "l40s" == page.get_by_label("Only these GPUs").input_value()


def test_filters_narrow_the_ranking_to_nothing_and_back(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}")
    rows = page.locator("#ranking tbody tr")
    before = rows.count()

    page.locator("#show_gpu").select_option(index=1)
    expect(page.locator("#ranking")).to_be_visible()
    page.wait_for_url(re.compile("show_gpu="))
    narrowed = rows.count()
    page.goto(page.url + "&show_term=3-year&show_provider=aws&show_precision=fp8")
    expect(page.locator("#ranking .empty")).to_be_visible()
    page.get_by_role("link", name="Show all again").click()

    expect(rows).to_have_count(before)
    assert 0 < narrowed < before


def test_why_not_says_at_which_check_a_gpu_falls(open_page: Open) -> None:
    page = open_page("/?model=llama-3.1-8b&amount=2%2Fs&ttft_p95=120ms&gpu=h100-sxm")

    page.get_by_role("link", name=re.compile("Why not.*NVIDIA L4$")).click()

    expect(page.locator("#why-not tr", has_text="NVIDIA L4").first).to_contain_text("SLO missed")


def test_why_not_says_that_a_gpu_was_not_asked_for(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}")

    page.get_by_role("link", name=re.compile("Why not.*H100 SXM")).click()

    row = page.locator("#why-not tr", has_text="H100 SXM").first
    expect(row).to_contain_text("not among the GPUs asked for")


def test_sliders_move_the_bar_and_the_verdict(open_page: Open) -> None:
    page = open_page("/fit?model=llama-3.1-8b&gpu=rtx-4090&count=1&concurrency=1")
    expect(page.locator(".verdict")).to_have_text("It fits.")
    bar = page.locator(".part.kv").get_attribute("width")

    page.get_by_label("Requests at once").evaluate(
        "field => { field.value = 200; field.dispatchEvent(new Event('input', {bubbles: true})) }"
    )

    expect(page.locator(".verdict")).to_have_text("It does not fit.")
    assert bar != page.locator(".part.kv").get_attribute("width")
    assert "200" == page.locator("output[for=concurrency]").inner_text()
    assert "concurrency=200" in page.url


def test_the_flags_are_copied(open_page: Open) -> None:
    page = open_page("/fit?model=llama-3.1-8b&gpu=rtx-4090&count=1&concurrency=1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy").click()

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("vllm serve meta-llama/Llama-3.1-8B")


def test_up_to_four_gpus_are_compared(open_page: Open) -> None:
    page = open_page("/gpus")
    for name in ("NVIDIA L40S", "NVIDIA L4", "GeForce RTX 4090"):
        page.get_by_role("checkbox", name=f"Compare {name}", exact=True).check()

    page.get_by_role("button", name=re.compile("Compare the chosen")).click()

    expect(page.locator("thead th")).to_have_count(4)
    expect(page.locator("table")).to_contain_text("Decode ceiling")


def test_five_gpus_are_refused_with_what_to_do(open_page: Open, watched: object) -> None:
    watched.allowed = ("422",)  # type: ignore[attr-defined]
    page = open_page("/gpus/compare?gpu=l4&gpu=l40s&gpu=a40&gpu=rtx-4090&gpu=rtx-5090")

    expect(page.get_by_role("alert")).to_contain_text("one to 4 fit side by side")


def test_a_table_is_sorted_by_its_headers(open_page: Open) -> None:
    page = open_page("/gpus")

    page.get_by_role("link", name="Price from (US$/GPU-h)").click()

    cells = page.locator("tbody tr td:nth-child(11)").all_inner_texts()
    prices = [float(text.replace(",", "")) for text in cells if text != "–"]
    assert sorted(prices) == prices
    assert "ascending" == page.locator("th[aria-sort]").get_attribute("aria-sort")


def test_offers_are_filtered_to_nothing_and_back(open_page: Open, watched: object) -> None:
    watched.allowed = ("409",)  # type: ignore[attr-defined]
    page = open_page("/offers?gpu=h100-sxm")
    before = page.locator("#list .facts").inner_text()

    page.get_by_label("At most (US$/GPU-h)").fill("0.01")
    page.get_by_label("At most (US$/GPU-h)").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("price per GPU-hour at most $0.01")
    page.get_by_label("At most (US$/GPU-h)").fill("")
    page.get_by_label("At most (US$/GPU-h)").press("Enter")

    expect(page.locator("#list .facts")).to_have_text(before)


def test_the_budget_follows_from_the_question(open_page: Open) -> None:
    page = open_page(f"/?{QUESTION}")

    page.get_by_role("link", name="What it costs in full, and what moves it").click()

    expect(page.locator("#bill-title")).to_be_visible()
    expect(page.locator("#tornado-title")).to_be_visible()
    assert "2/s" == page.get_by_label("How much").input_value()
    page.get_by_label("Hours a day").fill("8")
    page.get_by_label("Hours a day").press("Tab")
    page.wait_for_url(re.compile("hours_per_day=8"))
    expect(page.locator("#bill-title")).to_be_visible()


def test_a_longer_simulation_shows_its_progress_and_its_answer(open_page: Open) -> None:
    page = open_page("/load?model=llama-3.1-8b&gpu=l40s&tp=1&input=500&output=100")

    page.get_by_role("button", name=re.compile("20 times longer")).click()

    expect(page.locator("#answer")).to_contain_text("20,000 requests a rate")


def test_an_own_model_is_dropped_and_planned(open_page: Open, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type":"llama","hidden_size":2048,"num_hidden_layers":16,'
        '"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,'
        '"vocab_size":32000,"max_position_embeddings":8192,"torch_dtype":"bfloat16"}',
        encoding="utf-8",
    )
    page = open_page("/?model=llama-3.1-8b&amount=1%2Fs&gpu=l4")
    page.get_by_text("Your own model").click()
    page.get_by_label("File").set_input_files(config)

    page.get_by_role("button", name="Read the model").click()

    expect(page.locator("#answer-title")).to_contain_text("upload-")
    assert page.get_by_label("Model", exact=True).input_value().startswith("upload-")


def test_a_question_without_an_answer_says_why_and_what_would_mend_it(
    open_page: Open, watched: object
) -> None:
    watched.allowed = ("409",)  # type: ignore[attr-defined]
    page = open_page("/?model=llama-3.1-70b&amount=5%2Fs&gpu=l4:1&lang=es")

    expect(page.get_by_role("alert")).to_contain_text("no cabe")
    expect(page.locator("#why-not")).to_contain_text("Qué lo arreglaría")


def test_language_and_look_stay(open_page: Open) -> None:
    page = open_page("/gpus", locale="es-ES")
    assert "es" == page.get_attribute("html", "lang")

    page.get_by_role("link", name="Bahasa Indonesia").click()
    page.get_by_role("link", name="Gelap").click()
    page.get_by_role("link", name="Penawaran").first.click()
    page.goto(page.url.partition("?")[0])

    assert "id" == page.get_attribute("html", "lang")
    assert "dark" == page.get_attribute("html", "data-theme")
