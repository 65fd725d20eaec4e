"""Quantities that only questions have, as people write them: ages, budgets and batches."""

from decimal import Decimal
from typing import Final

from caudal.vocabulary import quantities
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.money import METERED_HOURS_PER_MONTH

_DAYS: Final = {
    **dict.fromkeys(("", "d", "day", "days"), 1.0),
    **dict.fromkeys(("w", "week", "weeks"), 7.0),
    **dict.fromkeys(("mo", "month", "months"), 365 / 12),
    **dict.fromkeys(("y", "year", "years"), 365.0),
}
LARGEST_BATCH: Final = 65_536  # chosen: no engine runs more sequences at once
MOST_BATCHES: Final = 64  # chosen: bounds the work of one question
_LONGEST_AGE_DAYS: Final = 36_500  # chosen: a century, so that "all of them" can be said


def parse_age_days(text: str) -> int:
    """Return whole days of an age such as `90`, `90d`, `6 months` or `3y`."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    factor = _DAYS.get(text.strip()[len(number) :].strip())
    if not (number.isascii() and number.isdigit()) or factor is None:
        raise InvalidQuantityError(
            f"{text!r} is not an age.", remedy="Write an age such as 90d, 6months or 3y."
        )
    return min(int(int(number[:9]) * factor), _LONGEST_AGE_DAYS)


def parse_monthly_budget(text: str) -> Decimal:
    """Return dollars a month of `$5,000`, `$5,000/month` or, metered (730 h), `$7/h`.

    Raises:
        InvalidQuantityError: no price, or one for another thing than a time.
    """
    price = quantities.parse_price(text)
    hours = {quantities.Per.HOUR: 1, quantities.Per.DAY: 24, quantities.Per.WEEK: 168}
    if price.per in {quantities.Per.ONCE, quantities.Per.MONTH}:
        return price.amount_usd
    if price.per not in hours:
        raise InvalidQuantityError(
            f"{text!r} is a price per {price.per}, not per time.",
            remedy="Write a budget such as $5,000 or $7/h.",
        )
    return price.amount_usd * METERED_HOURS_PER_MONTH / hours[price.per]


def parse_batches(text: str) -> tuple[int, ...]:
    """Return the batches of `1,8,32`, ascending, each once.

    Raises:
        InvalidQuantityError: a part is no whole number from 1 to 65,536.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InvalidQuantityError(
            f"{text!r} is not a list of batches.", remedy="Write whole numbers such as 1,8,32."
        )
    return check_batches(tuple(sorted({int(part[:12]) for part in parts})))


def check_batches(batches: tuple[int, ...]) -> tuple[int, ...]:
    """Return `batches`, of which there are neither none nor too many, each in bounds.

    Raises:
        InvalidQuantityError: otherwise.
    """
    if not 1 <= len(batches) <= MOST_BATCHES:
        raise InvalidQuantityError(
            f"{len(batches)} batches are asked about.", remedy=f"Give 1 to {MOST_BATCHES}."
        )
    wrong = [batch for batch in batches if not 1 <= batch <= LARGEST_BATCH]
    if wrong:
        raise InvalidQuantityError(
            f"A batch of {wrong[0]:,} sequences makes no sense.",
            remedy=f"Give whole numbers from 1 to {LARGEST_BATCH:,}.",
        )
    return batches
