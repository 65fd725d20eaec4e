import pytest

from caudal.web.phrases import localised, told, translated


@pytest.mark.parametrize(
    ("said", "language", "sentence"),
    [
        ("el precio tiene 90 días", "es", "price is 90 days old"),
        ("harga berumur 90 hari", "id", "price is 90 days old"),
        (
            "ninguna oferta de NVIDIA GB300 (per GPU) cumple los filtros",
            "es",
            "no offer of NVIDIA GB300 (per GPU) passes the filters",
        ),
        (
            "un contexto por debajo de 2.300 tokens, más GPU o una precisión menor",
            "es",
            "a context below 2,300 tokens, more GPUs or a smaller --precision",
        ),
        ("2,0979\u00a0US$ por GPU-hora", "es", "$2.0979 a GPU-hour"),
        ("US$2,0979 per GPU-jam", "id", "$2.0979 a GPU-hour"),
        ("0,3516 GiB", "es", "0.3516 GiB"),
    ],
)
def test_a_sentence_of_another_room_is_said_in_the_readers_language(
    said: str, language: str, sentence: str
) -> None:
    assert said == translated(sentence, language)


def test_parts_of_a_sentence_are_translated_too() -> None:
    sentence = (
        "Nothing serves meta-llama/Llama-3.1-8B as asked: all 90 candidates left fell at the gate "
        "'SLO missed'. Nearest: 8 x NVIDIA L4, fp8, TP8: even with 1 in the batch: "
        "TTFT p95 87.7 ms against 10.0 ms."
    )

    said = translated(sentence, "es")

    assert said is not None
    assert "SLO incumplido" in said
    assert "TTFT p95: 87,7 ms frente a 10,0 ms" in said
    assert "meta-llama/Llama-3.1-8B" in said


def test_options_of_the_command_line_are_said_as_fields_on_pages() -> None:
    sentence = "Relax --region, --provider, --term, --max-price or --max-price-age."

    assert "Relax region, provider, term, price or age of the price." == translated(sentence, "en")


def test_an_unknown_sentence_stays_english_and_says_so() -> None:
    assert '<span lang="en">Something new.</span>' == told("Something new.", "es")
    assert "Something new." == told("Something new.", "en")


def test_what_a_sentence_quotes_is_escaped() -> None:
    assert "<script>" not in told("Unknown model '<script>alert(1)</script>'.", "es")
    assert "<script>" not in told("<script>alert(1)</script>", "id")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("1.000 x 2,5", "1,000 x 2.5"),
        ("llama-3.1-70b", "llama-3.1-70b"),
        ("v0.26.0", "v0.26.0"),
        ("1.690,00\u00a0US$", "$1,690.00"),
    ],
)
def test_figures_are_rewritten_and_names_are_not(shown: str, text: str) -> None:
    assert shown == localised(text, "es")
