"""What people type at a door, read into base units; `formats` writes it back.

Two readings are worth knowing, because the field uses one letter for two things:

* lengths of a sequence are binary: `8k` is 8,192 tokens, as in "a model with 8k context", so
  that `--context 128k` is the 131,072 that model files state. Amounts (tokens a day,
  parameters, requests) are decimal: `50M` is 50,000,000.
* sizes: `80GB` and `80G` are 80 x 10^9 bytes, as GPU makers print them; `80GiB` is 80 x 2^30,
  as drivers and engines print them.

Every parser takes `name`, which opens the message of its error, and refuses a unit of another
kind by saying which kind it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.formats import (
    format_bandwidth,
    format_bytes_gb,
    format_bytes_gib,
    format_count,
    format_duration,
    format_fraction,
    format_gpu_counts,
    format_money,
    format_rate,
    format_tokens,
)
from caudal.vocabulary.money import TERM_HOURS_PER_MONTH, UsdPerHour
from caudal.vocabulary.spellings import (
    AMOUNTS,
    BANDWIDTH,
    BANDWIDTHS,
    CAPITAL_M,
    COUNT,
    DURATION,
    FRACTION,
    GPU_COUNTS,
    LENGTH,
    LENGTHS,
    PERIODS,
    PRICE,
    PRICE_UNITS,
    RATE,
    RATE_NOUNS,
    RATE_WORDS,
    SECONDS,
    SIZE,
    SIZES,
    SMALL_M,
    Per,
)
from caudal.vocabulary.units import (
    Bytes,
    BytesPerSecond,
    RequestsPerSecond,
    Seconds,
    Tokens,
    TokensPerSecond,
)
from caudal.vocabulary.written import (
    CURRENCIES,
    Quantity,
    problem_with,
    split_written,
    unit_factor,
    within_sense,
)

__all__ = [
    "Per",
    "Price",
    "format_bandwidth",
    "format_bytes_gb",
    "format_bytes_gib",
    "format_count",
    "format_duration",
    "format_fraction",
    "format_gpu_counts",
    "format_money",
    "format_rate",
    "format_tokens",
    "parse_bandwidth",
    "parse_bytes",
    "parse_count",
    "parse_duration",
    "parse_fraction",
    "parse_gpu_counts",
    "parse_price",
    "parse_rate",
    "parse_token_rate",
    "parse_tokens",
    "parse_usd_per_hour",
    "tokens_reading",
]


@dataclass(frozen=True, slots=True)
class Price:
    """An amount of dollars and what it buys."""

    amount_usd: Decimal
    per: Per


def parse_bytes(text: str, *, name: str = "", zero_ok: bool = False) -> Bytes:
    """Return a size in bytes; `80GB` and `80G` are decimal, `80GiB` is binary."""
    value = _read(text, SIZE, SIZES, zero_ok=zero_ok, name=name)
    return Bytes(round(value))


def parse_duration(text: str, *, name: str = "", zero_ok: bool = False) -> Seconds:
    """Return a duration in seconds; `5m` is minutes; `1h30m` is allowed."""
    total = Decimal(0)
    for part in _duration_parts(text):
        total += _read(part, DURATION, SECONDS, zero_ok=True, name=name, case_matters=CAPITAL_M)
    return Seconds(float(within_sense(total, text, DURATION, zero_ok=zero_ok, name=name)))


def parse_rate(text: str, *, name: str = "") -> RequestsPerSecond:
    """Return events per second of `5/s`, `300/min`, `50M/day`, `5 req/s` or `5rps`.

    A month is 730 h, the mean one.
    """
    written = split_written(text, RATE, name=name)
    unit = f" {written.unit}".replace(" per ", "/").replace(" ", "")
    unit = RATE_WORDS.get(unit.casefold(), unit)
    what, slash, period = unit.partition("/")
    if not slash:
        raise _wrong_kind(text, RATE, name=name)
    seconds = unit_factor(period, PERIODS, case_matters=CAPITAL_M)
    amount = _rate_amount(what)
    if seconds is None or amount is None:
        raise _wrong_kind(text, RATE, name=name)
    value = within_sense(written.number * amount / seconds, text, RATE, zero_ok=False, name=name)
    return RequestsPerSecond(float(value))


def parse_token_rate(text: str, *, name: str = "") -> TokensPerSecond:
    """Return tokens per second; written as `parse_rate` reads it."""
    return TokensPerSecond(float(parse_rate(text, name=name)))


def parse_count(text: str, *, name: str = "", zero_ok: bool = False) -> int:
    """Return a whole number; `50M`, `13B` and `2k` are decimal."""
    value = _read(text, COUNT, AMOUNTS, zero_ok=zero_ok, name=name, case_matters=SMALL_M)
    return _whole(value, text, COUNT, name=name)


def parse_tokens(text: str, *, name: str = "", zero_ok: bool = False) -> Tokens:
    """Return the length of a sequence in tokens; `8k` is 8,192 and `1M` is 1,048,576."""
    trimmed = text.strip()
    for noun in ("tokens", "token", "tok"):
        trimmed = trimmed.removesuffix(noun)
    value = _read(trimmed, LENGTH, LENGTHS, zero_ok=zero_ok, name=name, case_matters=SMALL_M)
    return Tokens(_whole(value, text, LENGTH, name=name))


def tokens_reading(text: str) -> str:
    """Return how `parse_tokens` understood `text` where a letter hid it; "" where none did."""
    plain = text.strip().replace(",", "").replace("_", "")
    if plain.isdigit():
        return ""
    return f"{text.strip()} is read as {parse_tokens(text):,} tokens"


def parse_price(text: str, *, name: str = "", zero_ok: bool = False) -> Price:
    """Return dollars and what they are for: `$2.50/h`, `2.50`, `$1,690/month`, `$3/M tokens`."""
    amount, _, per_text = text.strip().replace(" per ", "/").partition("/")
    amount = _without_currency(amount, text, name=name)
    written = split_written(amount, PRICE, name=name)
    factor = unit_factor(written.unit, AMOUNTS, case_matters=SMALL_M)
    per = PRICE_UNITS.get(per_text.replace(" ", "").casefold())
    if factor is None or per is None:
        raise _wrong_kind(text, PRICE, name=name)
    value = within_sense(written.number * factor, text, PRICE, zero_ok=zero_ok, name=name)
    return Price(value, per)


def parse_usd_per_hour(
    text: str, *, name: str = "", hours_per_month: Decimal = TERM_HOURS_PER_MONTH
) -> UsdPerHour:
    """Return dollars per hour; a number without a period is per hour.

    A monthly price is divided by the hours that sellers of monthly terms count, so that a
    ceiling of `$1,690/month` admits an offer at exactly $1,690 a month.
    """
    price = parse_price(text, name=name)
    hours = {
        Per.ONCE: Decimal(1),
        Per.HOUR: Decimal(1),
        Per.DAY: Decimal(24),
        Per.WEEK: Decimal(168),
        Per.MONTH: hours_per_month,
    }.get(price.per)
    if hours is None:
        raise problem_with(text, f"is a price per {price.per}, not per time", PRICE, name=name)
    return UsdPerHour(price.amount_usd / hours)


def parse_bandwidth(text: str, *, name: str = "") -> BytesPerSecond:
    """Return bytes per second of `900GB/s`, `3.35TB/s`, `3.35TBps` or `400Gbit/s`."""
    written = split_written(text, BANDWIDTH, name=name)
    unit = written.unit.replace(" ", "")
    factor = BANDWIDTHS.get(unit)
    if factor is None and unit.casefold() in {known.casefold() for known in BANDWIDTHS} | {
        f"{letter}bps" for letter in "kmgtp"
    }:
        raise problem_with(text, "may be bits or bytes: write GB/s or Gbit/s", BANDWIDTH, name=name)
    if factor is None:
        raise _wrong_kind(text, BANDWIDTH, name=name)
    value = within_sense(written.number * factor, text, BANDWIDTH, zero_ok=False, name=name)
    return BytesPerSecond(float(value))


def parse_fraction(text: str, *, name: str = "", zero_ok: bool = False) -> float:
    """Return a share between 0 and 1 of `80%` or `0.8`; a bare `80` is refused."""
    written = split_written(text, FRACTION, name=name)
    if written.unit not in {"", "%"}:
        raise _wrong_kind(text, FRACTION, name=name)
    if written.unit == "" and written.number > 1:
        raise problem_with(text, "has no unit and is more than 1", FRACTION, name=name)
    value = written.number / 100 if written.unit else written.number
    return float(within_sense(value, text, FRACTION, zero_ok=zero_ok, name=name))


def parse_gpu_counts(text: str, *, name: str = "") -> tuple[int, ...]:
    """Return the numbers of GPUs meant by `4`, `1..8`, `1-8` or `1,2,4`, ascending."""
    counts: set[int] = set()
    for part in text.split(","):
        first, dots, last = part.strip().replace("..", "-").replace("–", "-").partition("-")
        low = _gpu_count(first, text, name=name)
        high = _gpu_count(last, text, name=name) if dots else low
        if high < low:
            why = f"runs backwards from {low} to {high}"
            raise problem_with(text, why, GPU_COUNTS, name=name)
        counts.update(range(low, high + 1))
    return tuple(sorted(counts))


def _gpu_count(part: str, text: str, *, name: str) -> int:
    cleaned = part.strip()
    if not (cleaned.isascii() and cleaned.isdigit()):
        raise _wrong_kind(text, GPU_COUNTS, name=name)
    value = Decimal(cleaned[:12])
    return int(within_sense(value, text, GPU_COUNTS, zero_ok=False, name=name))


def _read(
    text: str,
    quantity: Quantity,
    units: Mapping[str, Decimal],
    *,
    zero_ok: bool,
    name: str,
    case_matters: frozenset[str] = frozenset(),
) -> Decimal:
    written = split_written(text, quantity, name=name)
    factor = unit_factor(written.unit, units, case_matters=case_matters)
    if factor is None:
        raise _wrong_kind(text, quantity, name=name)
    if written.looks_like_thousands and factor == 1 and "" in units:
        plain = str(written.number).replace(".", "")
        why = f"can be read as {plain} or as {written.number.normalize():f}"
        raise problem_with(text, why, quantity, name=name)
    return within_sense(written.number * factor, text, quantity, zero_ok=zero_ok, name=name)


def _whole(value: Decimal, text: str, quantity: Quantity, *, name: str) -> int:
    if value != value.to_integral_value():
        raise problem_with(text, "is not a whole number", quantity, name=name)
    return int(value)


def _duration_parts(text: str) -> tuple[str, ...]:
    """Return `1h30m` as `1h` and `30m`; anything that is not such a chain comes back whole."""
    parts: list[str] = []
    current = ""
    for before, letter in zip(" " + text.strip(), text.strip(), strict=False):
        if letter.isdigit() and before.isalpha() and before not in {"e", "E"}:
            parts.append(current)
            current = ""
        current += letter
    return (*parts, current)


def _rate_amount(what: str) -> Decimal | None:
    """Return the factor of what stands before the slash: `M`, `req`, `Mtokens` or nothing."""
    for suffix in sorted(AMOUNTS, key=len, reverse=True):
        rest = what.removeprefix(suffix)
        if (suffix == "" or rest != what) and rest.casefold() in RATE_NOUNS:
            return AMOUNTS[suffix]
    return Decimal(1000) if what == "K" else None


def _without_currency(amount: str, text: str, *, name: str) -> str:
    bare = amount.strip()
    for sign in ("US$", "USD", "$"):
        if bare.upper().startswith(sign):
            bare = bare[len(sign) :].lstrip()
            break
    for sign in ("US$", "USD", "$"):
        if bare.upper().endswith(sign):
            bare = bare[: -len(sign)].rstrip()
            break
    if any(sign in bare.upper() for sign in ("€", "£", "¥", "EUR", "GBP", "CNY", "JPY")):
        raise problem_with(text, "is not in US dollars", PRICE, name=name)
    return bare


def _wrong_kind(text: str, quantity: Quantity, *, name: str) -> InvalidQuantityError:
    """Return the error that says what `text` is instead of what is needed."""
    shown = text.strip()
    kind = _kind_of(shown)
    if kind is None or kind == quantity.noun:
        return problem_with(shown, f"is not {quantity.noun}", quantity, name=name)
    why = f"is {kind}; {quantity.noun} such as {quantity.examples} is needed"
    return problem_with(shown, why, quantity, name=name)


def _kind_of(text: str) -> str | None:
    """Return what `text` would be at another door, such as "a size"; None if it is nothing."""
    if text.upper().startswith(CURRENCIES):
        return PRICE.noun
    try:
        unit = split_written(text, COUNT).unit.replace(" ", "")
    except InvalidQuantityError:
        return None
    by_unit = {"": "a number without a unit", "%": "a percentage"}
    by_unit |= dict.fromkeys(BANDWIDTHS, BANDWIDTH.noun)
    if unit in by_unit:
        return by_unit[unit]
    what, slash, period = unit.partition("/")
    if (slash and period in PERIODS and _rate_amount(what)) or unit.casefold() in RATE_WORDS:
        return RATE.noun
    kinds = (
        (DURATION.noun, SECONDS, CAPITAL_M),
        ("an amount", AMOUNTS, SMALL_M),
        (SIZE.noun, SIZES, frozenset[str]()),
    )
    found = (n for n, units, case in kinds if unit_factor(unit, units, case_matters=case))
    return next(found, None)
