"""The load of a scenario: who asks, how often, how long."""

from collections.abc import Callable
from typing import Final

from caudal.simulate.scenario_fields import Fields
from caudal.traffic.arrivals import (
    Arrivals,
    BurstyArrivals,
    DailyArrivals,
    PoissonArrivals,
    UserArrivals,
)
from caudal.traffic.conversations import Conversation
from caudal.traffic.lengths import (
    EmpiricalLength,
    ExponentialLength,
    FixedLength,
    Length,
    LognormalLength,
    UniformLength,
)
from caudal.traffic.load import Load
from caudal.traffic.trace import Trace
from caudal.vocabulary import quantities
from caudal.vocabulary.units import Seconds

_MOST_TOKENS: Final = 10_000_000
_MOST_RATE: Final = 1e9
_NO_TIME: Final = Seconds(0.0)
_CUT: Final = (
    20  # means at which lognormal lengths are cut where nothing is said; takes nothing off
)
_FIELDS: Final = (
    *("rate", "users", "think", "pattern", "variation", "hours", "input", "output"),
    *("turns", "pause", "prefix", "prefixes", "trace", "speed"),
)


def load_of(fields: Fields, read_trace: Callable[[str], Trace]) -> Load:
    """Return the load that a table describes; `read_trace` opens the trace file it names.

    Raises:
        InvalidScenarioError: a field is missing, unknown, out of range or contradicts another.
    """
    fields.finish(_FIELDS)
    if fields.has("trace"):
        extra = [key for key in fields.values if key not in {"trace", "speed"}]
        if extra:
            raise fields.refuse(extra[0], "stands beside a trace", "Remove it, or the trace.")
        trace = read_trace(fields.text("trace"))
        return Load(trace=trace, trace_speed=fields.number("speed", 1.0, least=1e-6, most=1e6))
    arrivals = _arrivals(fields)
    return Load(
        arrivals=arrivals,
        prompt=_length(fields, "input"),
        output=_length(fields, "output"),
        conversation=_conversation(fields, arrivals),
    )


def _arrivals(fields: Fields) -> Arrivals:
    if fields.has("rate") == fields.has("users"):
        given = "stands beside users" if fields.has("rate") else "is missing"
        raise fields.refuse("rate", given, 'Write rate = "5/s", or users = 50, or a trace.')
    if fields.has("users"):
        think = fields.quantity("think", _time, _NO_TIME)
        return UserArrivals(fields.whole("users", most=1_000_000), think)
    rate = fields.quantity("rate", quantities.parse_rate)
    match fields.text("pattern", "poisson"):
        case "poisson":
            return PoissonArrivals(rate)
        case "bursty":
            return BurstyArrivals(rate, fields.number("variation", 2.0, least=0.01, most=100.0))
        case "daily":
            return DailyArrivals(rate, _hours(fields))
        case other:
            raise fields.refuse("pattern", f"is {other!r}", "Write poisson, bursty or daily.")


def _hours(fields: Fields) -> tuple[float, ...]:
    found = fields.get("hours")
    given: list[object] = found if isinstance(found, list) else []
    hours = tuple(
        float(each) for each in given if isinstance(each, int | float) and 0 <= each < _MOST_RATE
    )
    if len(hours) != 24 or len(given) != 24:
        raise fields.refuse("hours", "is no list of 24 rates", "Write one for each hour from 0 h.")
    if not sum(hours):
        raise fields.refuse("hours", "has no request", "Write a rate above 0 for some hour.")
    return hours


def _conversation(fields: Fields, arrivals: Arrivals) -> Conversation | None:
    asked = [key for key in ("turns", "pause", "prefix", "prefixes") if fields.has(key)]
    if not asked:
        return None
    if isinstance(arrivals, UserArrivals):
        raise fields.refuse(
            asked[0], "stands beside users", "Conversations begin at a rate: give rate instead."
        )
    return Conversation(
        turns=fields.whole("turns", 1, most=1000),
        think_s=fields.quantity("pause", _time, _NO_TIME),
        prefix_tokens=fields.quantity("prefix", _tokens, 0),
        prefixes=fields.whole("prefixes", 1, most=1_000_000),
    )


def _length(fields: Fields, key: str) -> Length:
    found = fields.get(key)
    if isinstance(found, list):
        whole = [each for each in found if type(each) is int and 1 <= each <= _MOST_TOKENS]
        if not found or len(whole) != len(found):
            raise fields.refuse(key, "is no list of token counts", "Write whole numbers from 1.")
        return EmpiricalLength(tuple(whole))
    if not isinstance(found, dict):
        return FixedLength(fields.quantity(key, quantities.parse_tokens))
    inner = fields.table(key)
    inner.finish(("mean", "variation", "most", "low", "high", "kind"))
    if inner.has("low") or inner.has("high"):
        low = inner.whole("low", most=_MOST_TOKENS)
        return UniformLength(low, inner.whole("high", least=low, most=_MOST_TOKENS))
    mean = inner.quantity("mean", quantities.parse_tokens)
    most = inner.quantity(
        "most", quantities.parse_tokens, quantities.parse_tokens(str(_CUT * mean))
    )
    match inner.text("kind", "lognormal"):
        case "lognormal":
            variation = inner.number("variation", 1.0, least=0.01, most=20.0)
            return LognormalLength(float(mean), variation, most)
        case "exponential":
            return ExponentialLength(float(mean), most)
        case other:
            raise inner.refuse("kind", f"is {other!r}", "Write lognormal or exponential.")


def _time(text: str) -> Seconds:
    return quantities.parse_duration(text, zero_ok=True)


def _tokens(text: str) -> int:
    return quantities.parse_tokens(text, zero_ok=True)
