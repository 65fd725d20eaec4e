import pytest

from caudal.facts.accuracy import judged_figures
from caudal.facts.requirements import read_requirements, requirements
from caudal.vocabulary.errors import InvalidFactError

HEADER = "kind,name,task,least_gb,most_gb,needs,source,read_on\n"


def test_every_figure_has_a_source_and_the_unknown_has_none() -> None:
    for row in requirements():
        assert (row.wanted_bytes is None) == (row.source is None)


def test_every_kind_that_the_pages_show_is_there() -> None:
    assert {"images", "3d", "science"} == {row.kind for row in requirements()}


@pytest.mark.parametrize(
    ("problem", "row"),
    [
        ("without a source", "images,x,y,8,,,,"),
        ("no range", "images,x,y,9,8,,somewhere,2026-11-30"),
        ("could not convert", "images,x,y,many,,,somewhere,2026-11-30"),
        ("isoformat", "images,x,y,8,,,somewhere,yesterday"),
    ],
)
def test_a_bad_row_fails_with_its_line(problem: str, row: str) -> None:
    with pytest.raises(InvalidFactError, match=f"line 2.*{problem}"):
        read_requirements(HEADER + row)


def test_the_judged_figures_are_errors_with_a_day_and_a_command() -> None:
    for figure in judged_figures():
        assert 0 <= figure.median_percent <= figure.p90_percent
        assert figure.rows > 0
        assert figure.command in {"caudal accuracy memory", "make calibrate"}
