"""How quantities are spelt: the units each kind knows, and the bounds of sense."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Final

from caudal.vocabulary.written import Quantity

SIZE: Final = Quantity(
    noun="a size", examples="80GB or 79.6GiB", largest=Decimal(10**18), largest_text="1 EB"
)
DURATION: Final = Quantity(
    noun="a duration",
    examples="500ms or 1.5s",
    largest=Decimal(366 * 86_400),
    largest_text="a year",
)
RATE: Final = Quantity(
    noun="a rate",
    examples="5/s, 300/min or 50M/day",
    largest=Decimal(10**12),
    largest_text="10^12 a second",
)
COUNT: Final = Quantity(
    noun="a plain number", examples="50M or 2,000", largest=Decimal(10**18), largest_text="10^18"
)
LENGTH: Final = Quantity(
    noun="a number of tokens",
    examples="8192 or 8k",
    largest=Decimal(2**30),
    largest_text="2^30 tokens",
)
PRICE: Final = Quantity(
    noun="a price",
    examples="$2.50/h or $1,690/month",
    largest=Decimal(10**10),
    largest_text="ten billion dollars",
)
BANDWIDTH: Final = Quantity(
    noun="a bandwidth",
    examples="900GB/s or 3.35TB/s",
    largest=Decimal(10**18),
    largest_text="1 EB/s",
)
FRACTION: Final = Quantity(
    noun="a share", examples="80% or 0.8", largest=Decimal(1), largest_text="100 %"
)
GPU_COUNTS: Final = Quantity(
    noun="a number of GPUs",
    examples="4, 1..8 or 1,2,4",
    largest=Decimal(4096),  # chosen: beyond any single deployment that is planned here
    largest_text="4,096",
)

_THOUSANDS: Final = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
SIZES: Final[Mapping[str, Decimal]] = (
    {f"{letter}B": Decimal(1000) ** power for letter, power in _THOUSANDS.items()}
    | {letter: Decimal(1000) ** power for letter, power in _THOUSANDS.items()}
    | {f"{letter}iB": Decimal(1024) ** power for letter, power in _THOUSANDS.items()}
    | {f"{letter}i": Decimal(1024) ** power for letter, power in _THOUSANDS.items()}
    | {"byte": Decimal(1), "bytes": Decimal(1)}
)
# A small b is a bit to some and a byte to others, which is a factor of eight: it is refused.
BANDWIDTHS: Final[Mapping[str, Decimal]] = (
    {f"{size}/s": factor for size, factor in SIZES.items() if size.endswith("B")}
    | {f"{size}ps": factor for size, factor in SIZES.items() if size.endswith("B")}
    | {f"{letter}bit/s": Decimal(1000) ** n / 8 for letter, n in _THOUSANDS.items()}
)
SECONDS: Final[Mapping[str, Decimal]] = {
    **dict.fromkeys(("us", "µs", "μs"), Decimal("1e-6")),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), Decimal("0.001")),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86_400)),
    **dict.fromkeys(("w", "week", "weeks"), Decimal(7 * 86_400)),
}
# A month of traffic is the mean one, 365/12 days = 730 h.
PERIODS: Final[Mapping[str, Decimal]] = {
    **{unit: factor for unit, factor in SECONDS.items() if factor >= 1},
    **dict.fromkeys(("mo", "month", "months"), Decimal(730 * 3600)),
}
RATE_WORDS: Final[Mapping[str, str]] = {
    "rps": "/s",
    "qps": "/s",
    "rpm": "/min",
    "qpm": "/min",
    "tps": "/s",
    "tpm": "/min",
}
RATE_NOUNS: Final = frozenset(
    {"", "req", "reqs", "request", "requests", "tok", "toks", "token", "tokens"}
    | {"query", "queries", "call", "calls"}
)
AMOUNTS: Final[Mapping[str, Decimal]] = {
    "": Decimal(1),
    **dict.fromkeys(("k", "thousand"), Decimal(10**3)),
    **dict.fromkeys(("M", "mn", "mio", "million"), Decimal(10**6)),
    **dict.fromkeys(("B", "bn", "billion"), Decimal(10**9)),
    **dict.fromkeys(("T", "tn", "trillion"), Decimal(10**12)),
}
LENGTHS: Final[Mapping[str, Decimal]] = {
    "": Decimal(1),
    **dict.fromkeys(("k", "Ki"), Decimal(2**10)),
    **dict.fromkeys(("M", "Mi"), Decimal(2**20)),
}
CAPITAL_M: Final = frozenset({"M"})  # `5M` is five million, never five minutes
SMALL_M: Final = frozenset({"m"})  # `5m` is five minutes, never five million


class Per(StrEnum):
    """What a price is for."""

    ONCE = "once"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    MILLION_TOKENS = "million tokens"


PRICE_UNITS: Final[Mapping[str, Per]] = {
    "": Per.ONCE,
    **dict.fromkeys(("h", "hr", "hour"), Per.HOUR),
    **dict.fromkeys(("d", "day"), Per.DAY),
    **dict.fromkeys(("w", "wk", "week"), Per.WEEK),
    **dict.fromkeys(("mo", "mon", "month"), Per.MONTH),
    **dict.fromkeys(("m", "1m", "mtok", "1mtok", "mtoken", "mtokens"), Per.MILLION_TOKENS),
    **dict.fromkeys(("1mtokens", "milliontokens"), Per.MILLION_TOKENS),
}
