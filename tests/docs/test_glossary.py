import re

from documents import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^\*\*([^*]+)\*\*", PAGE, re.MULTILINE)


def test_every_term_is_defined_once() -> None:
    folded = [term.casefold() for heading in TERMS for term in heading.split(", ")]

    assert len(set(folded)) == len(folded)


def test_the_words_of_the_output_are_defined() -> None:
    words = {
        "TTFT", "TPOT", "ITL", "SLO", "Goodput", "Prefill", "Decode", "KV cache", "GQA", "MLA",
        "MoE", "TP", "PP", "EP", "Layout", "Replica", "Basis", "Gate", "Nearest miss", "Offer",
    }  # fmt: skip

    assert words <= set(TERMS)


def test_every_definition_is_a_sentence() -> None:
    for paragraph in PAGE.split("\n\n"):
        if paragraph.startswith("**"):
            assert paragraph.rstrip().endswith((".", "…")), paragraph
