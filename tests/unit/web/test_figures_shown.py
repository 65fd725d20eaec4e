from datetime import date
from decimal import Decimal

import pytest

from caudal.vocabulary.estimate import Basis, Estimate
from caudal.web.languages import chosen_language, preferred_language
from caudal.web.numbers_shown import UNKNOWN, Figures


@pytest.mark.parametrize(
    ("language", "number", "money", "small", "share"),
    [
        ("en", "1,008", "$2,290", "$0.0152", "12.5%"),
        ("es", "1.008", "2.290\u00a0US$", "0,0152\u00a0US$", "12,5\u00a0%"),
        ("id", "1.008", "US$2.290", "US$0,0152", "12,5%"),
    ],
)
def test_each_language_writes_figures_its_way(
    language: str, number: str, money: str, small: str, share: str
) -> None:
    figures = Figures(language)

    assert number == figures.number(1008)
    assert money == figures.usd(Decimal(2290)).replace(" ", "\u00a0")
    assert small == figures.usd(0.0152).replace(" ", "\u00a0")
    assert share == figures.percent(0.125, 1)


def test_what_is_unknown_or_endless_is_a_dash() -> None:
    figures = Figures("en")

    assert UNKNOWN == figures.number(None)
    assert UNKNOWN == figures.usd(float("inf"))
    assert UNKNOWN == figures.duration(float("nan"))
    assert UNKNOWN == figures.gib(None)
    assert UNKNOWN == figures.date(None)


def test_times_take_the_unit_that_people_read() -> None:
    figures = Figures("en")

    assert "48.2 ms" == figures.duration(0.0482)
    assert "50 ms" == figures.duration(0.05)
    assert "911 ms" == figures.duration(0.9112)
    assert "1.25 s" == figures.duration(1.25)


def test_digits_follow_the_size() -> None:
    figures = Figures("en")

    assert "5,300" == figures.significant(5300.2)
    assert "99.2" == figures.significant(99.21)
    assert "5" == figures.significant(5.0)
    assert "1 … 5" == figures.range_of(Estimate(2, 1, 5, Basis.ASSUMED), figures.number)
    assert "30 nov 2026" == Figures("es").date(date(2026, 11, 30))


@pytest.mark.parametrize(
    ("language", "header"),
    [
        ("es", "es-MX,es;q=0.9,en;q=0.8"),
        ("id", "fr, id;q=0.7, en;q=0.3"),
        ("en", "de-DE,de;q=0.9"),
        ("en", ""),
        ("es", "en;q=0,es;q=0.1"),
        ("en", "es;q=banana,,;;=,en"),
    ],
)
def test_the_browsers_first_language_of_ours_is_taken(language: str, header: str) -> None:
    assert language == preferred_language(header)


def test_what_is_asked_for_comes_before_what_was_kept() -> None:
    assert "id" == chosen_language("id", "es", "en")
    assert "es" == chosen_language("xx", "es", "en")
    assert "en" == chosen_language(None, None, "en")
