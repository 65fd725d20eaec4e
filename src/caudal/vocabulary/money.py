"""Money: decimal amounts in a named currency, and the two lengths of a month that offers use."""

from decimal import Decimal
from typing import Final, NewType

Usd = NewType("Usd", Decimal)
UsdPerHour = NewType("UsdPerHour", Decimal)
UsdPerMonth = NewType("UsdPerMonth", Decimal)
UsdPerMillionTokens = NewType("UsdPerMillionTokens", Decimal)

METERED_HOURS_PER_MONTH: Final = Decimal(730)  # 365 x 24 / 12, what metered clouds bill on average
TERM_HOURS_PER_MONTH: Final = Decimal(720)  # 30 days, what sellers of monthly terms divide by


def cents(amount: Decimal) -> Decimal:
    """Return `amount` rounded half up to a hundredth, as price lists print it."""
    return amount.quantize(Decimal("0.01"), rounding="ROUND_HALF_UP")
