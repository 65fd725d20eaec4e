from hypothesis import given
from hypothesis import strategies as st

from caudal.cli.table import Column, render_pairs, render_table, shown_width, wrap_text

NAME = Column(title="GPU", wraps=True)
MEMORY = Column(title="memory", unit="GB", numeric=True)
NOTE = Column(title="note", wraps=True, priority=1)


def test_numbers_stand_to_the_right_and_units_in_the_heading() -> None:
    text = render_table([NAME, MEMORY], [["H100", "80"], ["B200", "180"]], width=80)

    expected = ["GPU   memory", "        [GB]", "────  ──────", "H100      80", "B200     180"]
    assert expected == text.split("\n")


def test_a_narrow_terminal_wraps_text_before_it_drops_a_column() -> None:
    text = render_table([NAME, NOTE], [["H100", "one two three four five"]], width=24)

    assert all(shown_width(line) <= 24 for line in text.split("\n"))
    assert "five" in text
    assert "no room" not in text


def test_a_dropped_column_is_named() -> None:
    text = render_table([NAME, MEMORY, NOTE], [["H100", "80", "a long note"]], width=16)

    assert "(no room for" in text
    assert "note: a" in " ".join(text.split("\n"))


def test_a_number_is_never_cut() -> None:
    text = render_table([MEMORY], [["123456789012345"]], width=5)

    assert "123456789012345" in text


def test_wide_characters_count_two_cells() -> None:
    text = render_table([NAME, MEMORY], [["通义千问", "1"], ["abc", "2"]], width=40)

    assert 8 == shown_width("通义千问")
    assert 1 == shown_width("e\u0301")
    assert 1 == len({shown_width(line) for line in text.split("\n")[-2:]})


def test_pairs_wrap_under_their_value() -> None:
    text = render_pairs([("name", "one two three"), ("id", "x")], width=14)

    assert ["name  one two", "      three", "id    x"] == text.split("\n")


@given(text=st.text(), width=st.integers(2, 60))
def test_wrapping_loses_no_character_and_exceeds_no_width(text: str, width: int) -> None:
    lines = wrap_text(text, width)

    assert "".join(text.split()) == "".join("".join(lines).split())
    assert all(shown_width(line) <= width for line in lines)


@given(
    rows=st.lists(st.tuples(st.text("ab 漢", max_size=30), st.integers(0, 10**9)), max_size=5),
    width=st.integers(24, 100),
)
def test_a_table_fits_wherever_its_columns_may_wrap(
    rows: list[tuple[str, int]], width: int
) -> None:
    text = render_table([NAME, MEMORY], [[name, str(size)] for name, size in rows], width=width)

    assert all(shown_width(line) <= width for line in text.split("\n"))
