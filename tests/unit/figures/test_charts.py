import json
from dataclasses import replace

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.figures.budget import budget_figure
from caudal.figures.plan import plan_figure
from caudal.figures.render import FigureFormat, figure_format, render
from caudal.figures.style import DARK, LIGHT, Spec, chart, page, quantitative, wrapped
from caudal.plan.budget_answer import plan_budget
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.question import Wishes
from caudal.vocabulary.errors import InvalidInputError
from plan_cases import TODAY, answer, book, few_gpus, question

ASKED = question(wishes=Wishes(gpus=few_gpus("h100-sxm", "a100-80g-sxm", "l40s", "l4"), top=8))


def budget() -> BudgetReport:
    clouds = replace(ASKED, offers=replace(ASKED.offers, providers=frozenset({"gcp", "aws"})))
    return plan_budget(
        clouds,
        BudgetWishes(batch_share=0.3),
        book=book(),
        all_gpus=gpu_catalogue().all,
        today=TODAY,
    )


FIGURES = {"plan": plan_figure(answer(ASKED)), "budget": budget_figure(budget())}


def titles(spec: object) -> list[str]:
    """Return the titles of all channels of a specification."""
    if isinstance(spec, dict):
        own = []
        for name, channel in spec.get("encoding", {}).items():
            if name in {"x", "y"} and channel.get("type") == "quantitative" and "field" in channel:
                own.append(str(channel.get("title") or ""))
        return own + [title for value in spec.values() for title in titles(value)]
    if isinstance(spec, list):
        return [title for value in spec for title in titles(value)]
    return []


@pytest.mark.parametrize("spec", FIGURES.values(), ids=FIGURES)
def test_every_figure_is_drawn_without_a_word_of_complaint(spec: Spec) -> None:
    svg = render(spec, FigureFormat.SVG).decode()

    assert svg.startswith("<svg")
    assert "NaN" not in svg
    assert "undefined" not in svg


@pytest.mark.parametrize("spec", FIGURES.values(), ids=FIGURES)
def test_every_axis_of_amounts_says_its_unit(spec: Spec) -> None:
    for title in titles(spec):
        words = {"USD", "[s]", "[requests/s]", "hours", "tokens", "share", "minutes", "requests"}
        assert not title or any(word in title for word in words), title


@pytest.mark.parametrize("spec", FIGURES.values(), ids=FIGURES)
def test_a_specification_is_plain_json(spec: Spec) -> None:
    assert json.loads(render(spec, FigureFormat.JSON)) == json.loads(json.dumps(spec))


def test_the_same_specification_gives_the_same_bytes() -> None:
    spec = FIGURES["plan"]

    assert render(spec, FigureFormat.SVG) == render(spec, FigureFormat.SVG)


def test_a_page_works_offline_and_knows_both_screens() -> None:
    spec = page(
        chart("A", [{"x": 1.0}], {"mark": "point", "encoding": {"x": quantitative("x", "USD")}})
    )

    html = render(spec, FigureFormat.HTML).decode()

    assert "<script src" not in html
    assert "cdn." not in html
    assert "prefers-color-scheme: dark" in html
    assert str(DARK["background"]) in html
    assert LIGHT["background"] != DARK["background"]


def test_text_of_ours_cannot_end_the_script_of_a_page() -> None:
    spec = page(chart("</script><script>alert(1)", [], {"mark": "point", "encoding": {}}))

    assert "</script><script>alert(1)" not in render(spec, FigureFormat.HTML).decode()


def test_png_is_png() -> None:
    assert render(FIGURES["plan"], FigureFormat.PNG).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["front.svg", "a/b.PNG", "x.html", "y.json"])
def test_the_ending_says_what_to_draw(name: str) -> None:
    assert figure_format(name) == name.rpartition(".")[2].lower()


@pytest.mark.parametrize("name", ["front", "front.pdf", ".", ""])
def test_another_ending_is_refused_before_any_work(name: str) -> None:
    with pytest.raises(InvalidInputError):
        figure_format(name)


def test_sentences_are_cut_at_spaces() -> None:
    assert wrapped("one two three four", 9) == ["one two", "three", "four"]
