from decimal import Decimal

import pytest

from caudal.offers.sources.cells import CellError, clean, count, flag, for_spreadsheet, number


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2.50", "2.50"),
        ("$2.50", "2.50"),
        ("2,50 €", "2.50"),
        ("1,690", "1690"),
        ("1.690", "1.690"),
        ("1,234.56", "1234.56"),
        ("1.234,56", "1234.56"),
        ("1 234,56", "1234.56"),
        ("1'234.56", "1234.56"),
        ("12,345,678", "12345678"),
        ("1.234.567", "1234567"),
        ("0,350", "0.350"),
        ("79¢", "0.79"),
        ("-3", "-3"),
        ("1e3", "1e3"),
    ],
)
def test_numbers_are_read_as_people_write_them(cell: str, expected: str) -> None:
    assert Decimal(expected) == number(cell, what="price")


@pytest.mark.parametrize("cell", ["", "  ", "NaN", "n/a", "-", "None"])
def test_an_empty_number_is_unknown(cell: str) -> None:
    assert number(cell, what="price") is None


@pytest.mark.parametrize(
    "cell", ["=1+1", "@SUM(A1)", "12,34,56", "1.2.3", "two", "1e999", "0x10", "1;2", "9" * 40]
)
def test_what_is_no_number_is_refused(cell: str) -> None:
    with pytest.raises(CellError):
        number(cell, what="price")


@pytest.mark.parametrize("cell", ["=cmd|' /C calc'!A0", "@x", "+cmd|x", "-cmd|x", "\t=1", "-2+3"])
def test_a_formula_is_no_name(cell: str) -> None:
    with pytest.raises(CellError, match="formula"):
        clean(cell)


@pytest.mark.parametrize("cell", ["p5.48xlarge", "n3-H100", "8x H100", "-", "+5", "-3.5", "a=b"])
def test_names_that_only_look_odd_are_kept(cell: str) -> None:
    assert cell == clean(f" {cell}\n")


def test_a_name_of_a_thousand_signs_is_refused() -> None:
    with pytest.raises(CellError, match="1,000 signs"):
        clean("x" * 1000)


def test_control_characters_never_get_into_a_name() -> None:
    assert "a b c" == clean("a\x1fb\x00c")


@pytest.mark.parametrize("cell", ["1.5", "-1", "x"])
def test_a_count_is_whole_and_not_negative(cell: str) -> None:
    with pytest.raises(CellError):
        count(cell, what="stock")


def test_yes_and_no_are_read_in_several_words() -> None:
    assert [True, False, None] == [flag(word, what="spot") for word in ("YES", "0", "")]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("-2.5", "-2.5"),
        ("H100", "H100"),
        ("", ""),
    ],
)
def test_no_cell_of_ours_is_taken_for_a_formula(text: str, written: str) -> None:
    assert written == for_spreadsheet(text)
