"""Every question about memory that people asked is answered as the evidence says, or said why not.

Sources stand with each case in `tests/fit_answers.py`.
"""

import pytest

from documents import ROOT
from fit_answers import CASES, Case, page, status

IN_SCOPE = [case for case in CASES if case.ours is not None]


@pytest.mark.parametrize("case", IN_SCOPE, ids=lambda case: case.id)
def test_a_question_is_answered_as_the_evidence_says(case: Case) -> None:
    assert status(case) == ("differs" if case.differs else "agrees"), case.truth


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_out_of_scope_or_differs_says_why(case: Case) -> None:
    assert case.why or (case.ours is not None and not case.differs)


def test_no_case_is_told_twice() -> None:
    assert len(CASES) == len({case.id for case in CASES})


def test_the_page_shows_what_caudal_answers() -> None:
    shown = (ROOT / "docs/cases.md").read_text(encoding="utf-8")

    assert shown == page(), "run: python scripts/cases.py"
