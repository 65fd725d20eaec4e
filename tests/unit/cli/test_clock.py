from datetime import UTC, date, datetime

import pytest

from caudal.cli.clock import today
from caudal.vocabulary.errors import InvalidInputError


def test_the_day_can_be_set_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796040000")

    assert date(2026, 11, 30) == today()


def test_the_day_is_utcs_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    before = datetime.now(UTC).date()

    day = today()

    assert before <= day <= datetime.now(UTC).date()


@pytest.mark.parametrize("told", ["yesterday", "1" * 30])
def test_a_day_that_is_no_number_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", told)

    with pytest.raises(InvalidInputError, match="SOURCE_DATE_EPOCH"):
        today()
