import pytest

from caudal.fit.speculation import Speculation, parse_speculation
from caudal.vocabulary.errors import InvalidQuantityError


def test_acceptance_and_draft_tokens_are_read() -> None:
    assert Speculation(acceptance=0.7, draft_tokens=4, draft_share=0.05) == parse_speculation(
        "0.7:4"
    )
    assert Speculation(acceptance=0.7, draft_tokens=3, draft_share=0.1) == parse_speculation(
        "70%:3:0.1"
    )


@pytest.mark.parametrize(
    "text", ["", "0.7", "0.7:", "0.7:4:0.1:2", "0.7:-1", "0.7:99", "1.2:4", "a:4", "0.7:4:2"]
)
def test_what_says_something_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError):
        parse_speculation(text)


@pytest.mark.parametrize(
    ("acceptance", "k", "share"), [(1.1, 4, 0.05), (0.5, -1, 0.05), (0.5, 33, 0.05), (0.5, 4, 2.0)]
)
def test_no_value_is_out_of_range(acceptance: float, k: int, share: float) -> None:
    with pytest.raises(InvalidQuantityError):
        Speculation(acceptance=acceptance, draft_tokens=k, draft_share=share)


def test_seven_of_ten_kept_of_four_drafts_yield_2_8_tokens() -> None:
    """(1 − 0.7^5) / 0.3; arXiv:2211.17192 equation 1."""
    assert pytest.approx(2.7731) == parse_speculation("0.7:4").tokens_per_step
