from datetime import date

import pytest

from caudal.cli.figures import age_text, days_between, figure, gibibytes, marks_used, ranged
from caudal.vocabulary.estimate import Basis, Estimate


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("0", 0.0),
        ("0.0123", 0.012345),
        ("31", 31.04),
        ("3.14", 3.14159),
        ("12,346", 12345.6),
        ("1,000", 999.7),
        ("–", None),
        ("∞", float("inf")),
        ("-2.5", -2.5),
    ],
)
def test_a_figure_has_three_digits(expected: str, value: float | None) -> None:
    assert expected == figure(value)


def test_a_range_and_its_basis_stand_behind_the_value() -> None:
    estimate = Estimate(0.031, 0.026, 0.038, Basis.CALIBRATED)

    assert ranged(estimate, unit=1e-3) == "31 (26–38) c"


def test_an_exact_number_stands_alone() -> None:
    assert ranged(Estimate.exact(8.0)) == "8"


def test_only_the_marks_in_use_are_explained() -> None:
    used = marks_used([Estimate.exact(1), Estimate(1, 1, 2, Basis.ROOFLINE)])

    assert "r roofline" in used
    assert "calibrated" not in used
    assert not marks_used([Estimate.exact(1)])


def test_gib_is_binary() -> None:
    assert gibibytes(80e9) == "74.5"


@pytest.mark.parametrize(("expected", "days"), [("today", 0), ("12 d", 12), ("14 mo", 426)])
def test_ages_read_as_people_say_them(expected: str, days: int) -> None:
    assert expected == age_text(days)


def test_days_are_counted_between_dates() -> None:
    assert days_between(date(2026, 11, 1), date(2026, 11, 30)) == 29
