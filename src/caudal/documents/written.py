"""Quantities that only questions have, as people write them: ages of prices and budgets."""

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
