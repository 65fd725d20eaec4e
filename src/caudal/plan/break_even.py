"""Break-evens: where two ways to pay cost the same, each as number, sentence and lines to draw.

All of them are plain arithmetic on prices, hours and tokens, so that a person can check them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from caudal.facts.api_prices import ApiPrice, ApiPrices
from caudal.plan.spot_tier import SpotRisk, break_even_life_s, life_text

MONTH_HOURS: Final = 730.0
MONTH_DAYS: Final = MONTH_HOURS / 24
_POINTS: Final = 33  # of a line; chosen: smooth on paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One way to pay, as points to draw."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where two ways to pay meet; `value` is None where they never do."""

    name: str
    value: float | None
    unit: str
    yours: float | None  # where the load asked about lies, in the same unit
    sentence: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


def term_against_hourly(
    *,
    term: str,
    term_usd: float,
    term_hours: float,
    hourly_usd_per_hour: float,
    used_hours: float,
    hourly: str = "by the hour",
) -> BreakEven:
    """Return the hours of use in a term from which the term is cheaper than by the hour.

    `hours = price of the term / price of an hour`. Both are of the whole deployment.
    """
    hours = term_usd / hourly_usd_per_hour
    cheaper = term if used_hours >= hours else hourly
    reach = (
        f"more than the {term_hours:,.0f} h that it has, so by the hour is always cheaper"
        if hours > term_hours
        else f"{hours / term_hours:.0%} of its {term_hours:,.0f} h"
    )
    return BreakEven(
        name=f"{term} against hourly",
        value=hours,
        unit="hours used",
        yours=used_hours,
        sentence=(
            f"The {term} price of ${term_usd:,.0f} equals {hours:,.0f} h at "
            f"${hourly_usd_per_hour:,.2f} ({hourly}): {reach}. You use {used_hours:,.0f} h: "
            f"{cheaper} is cheaper."
        ),
        x_title="hours used in the term",
        y_title="USD a term",
        lines=(
            _line(term, _grid(0, term_hours), lambda _: term_usd),
            _line(hourly, _grid(0, term_hours), lambda used: used * hourly_usd_per_hour),
        ),
    )


def spot_against_on_demand(
    *, on_demand_usd_per_hour: float, spot_usd_per_hour: float, risk: SpotRisk
) -> BreakEven:
    """Return the mean life of a spot instance at which its kept work costs as on demand."""
    life = break_even_life_s(
        on_demand_usd_per_hour=on_demand_usd_per_hour,
        spot_usd_per_hour=spot_usd_per_hour,
        risk=risk,
    )
    lost = risk.restart_s + risk.lost_s

    def effective(hours: float) -> float:
        share = 1 - lost / (hours * 3600)
        return spot_usd_per_hour / share if share > 0 else float("inf")

    useful = risk.useful_share
    if life is None:
        said = f"Spot at ${spot_usd_per_hour:,.2f}/h is not cheaper than on demand."
    elif useful <= 0:
        said = (
            f"Restarting takes {life_text(lost)} and an instance lives {life_text(risk.life_s)}: "
            "spot would do no work."
        )
    else:
        said = (
            f"Spot at ${spot_usd_per_hour:,.2f}/h pays if an instance lives {life_text(life)} or "
            f"more; at {life_text(risk.life_s)}, {1 - useful:.1%} of the time paid is lost and an "
            f"hour of work costs ${spot_usd_per_hour / useful:,.2f} against "
            f"${on_demand_usd_per_hour:,.2f}."
        )
    spans = [point for point in _spread(lost / 3600 * 1.05, 200) if point > lost / 3600 * 1.01]
    return BreakEven(
        name="spot against on demand",
        value=None if life is None else life / 3600,
        unit="hours between interruptions",
        yours=risk.life_s / 3600,
        sentence=said,
        x_title="hours between interruptions",
        y_title="USD an hour of kept work",
        lines=(
            _line("spot", spans, lambda x: min(effective(x), 3 * on_demand_usd_per_hour)),
            _line("on demand", spans, lambda _: on_demand_usd_per_hour),
        ),
        log_x=True,
    )


def own_against_api(
    *,
    own_usd: float,
    prices: ApiPrices,
    input_tokens: float,
    output_tokens: float,
    capacity_tokens: float,
    period: str = "a month",
    cached_share: float = 0.0,
) -> BreakEven | None:
    """Return the tokens of a period at which the rental costs what the cheapest API would.

    `tokens = rental / the API's price of a token in this mix`; None where no price is
    known. Leaves out the work of running one's own, and data that may not leave.
    """
    if not prices.prices:
        return None
    tokens = input_tokens + output_tokens

    def asked(price: ApiPrice) -> float:
        return price.usd(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_share=cached_share,
        )

    cheapest = min(prices.prices, key=asked)
    each = asked(cheapest) / tokens
    even = own_usd / each
    own_cheaper = tokens >= even
    carried = (
        "the deployment carries that many"
        if even <= capacity_tokens
        else f"it carries {capacity_tokens / 1e6:,.0f} M at most, so it never gets there"
    )
    grid = _spread(min(tokens, even) / 10, max(tokens, even, capacity_tokens) * 1.5)
    lines = [
        _line("own, this deployment", [x for x in grid if x <= capacity_tokens * 1.001]
              or [grid[0]], lambda _: own_usd),
        *(
            _line(price.provider, grid, lambda x, price=price: asked(price) / tokens * x)  # type: ignore[misc]
            for price in prices.prices[:4]
        ),
    ]  # fmt: skip
    return BreakEven(
        name="own GPU against a token API",
        value=even,
        unit=f"tokens {period}",
        yours=tokens,
        sentence=(
            f"The cheapest API ({cheapest.provider} {cheapest.listed_as}, {prices.said}, seen "
            f"{cheapest.observed_on}) asks ${each * 1e6:,.3f} a million tokens in this mix: it "
            f"costs as much as your GPUs at {even / 1e6:,.0f} M tokens {period} ({carried}). You "
            f"have {tokens / 1e6:,.0f} M, ${each * tokens:,.0f} at the API against "
            f"${own_usd:,.0f}: {'your own GPUs are' if own_cheaper else 'the API is'} "
            "cheaper."
        ),
        x_title=f"tokens {period}, input and output",
        y_title=f"USD {period}",
        lines=tuple(lines),
        log_x=True,
        log_y=True,
    )


def zero_against_always_on(
    *,
    usd_per_hour: float,
    always_usd_per_month: float,
    busy_hours_per_day: float,
    starts_per_day: float,
    cold_start_s: float,
    stopping: str = "on demand",
) -> BreakEven:
    """Return the busy hours a day up to which stopping in between is cheaper.

    A day on demand costs `(busy + starts · cold start) · price an hour`; always on costs what it
    is rented for. Each start lets the first request wait for the cold start. Leaves out what a
    stopped instance and its disk cost: see the bill.
    """
    cold = starts_per_day * cold_start_s / 3600
    always_per_day = always_usd_per_month / MONTH_DAYS
    even = max(0.0, always_per_day / usd_per_hour - cold)
    zero_usd = min(24.0, busy_hours_per_day + cold) * usd_per_hour * MONTH_DAYS
    cheaper = "scaling to zero" if zero_usd < always_usd_per_month else "always on"
    until = (
        "so stopping pays at any use"
        if even >= 24
        else f"so stopping pays up to {even:,.1f} busy hours a day"
    )
    return BreakEven(
        name="scale to zero against always on",
        value=min(24.0, even),
        unit="busy hours a day",
        yours=busy_hours_per_day,
        sentence=(
            f"Stopping in between, {stopping} at ${usd_per_hour:,.2f}/h: {starts_per_day:g} starts "
            f"of {life_text(cold_start_s)} add {cold:,.1f} h a day, "
            f"{until}. At {busy_hours_per_day:,.1f} busy hours it costs ${zero_usd:,.0f} a month "
            f"against ${always_usd_per_month:,.0f}: {cheaper} is cheaper, and each start lets "
            f"its first request wait {life_text(cold_start_s)}."
        ),
        x_title="busy hours a day",
        y_title="USD a month",
        lines=(
            _line(
                "scale to zero",
                _grid(0, 24),
                lambda busy: min(24.0, busy + cold) * usd_per_hour * MONTH_DAYS,
            ),
            _line("always on", _grid(0, 24), lambda _: always_usd_per_month),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One deployment in a comparison of cards: whole replicas of it carry any rate."""

    name: str
    usd_per_hour: float  # of one replica
    gpus: int  # of one replica
    largest_rate: float  # of one replica, requests/s

    def usd_per_month(self, rate: float) -> float:
        """Return a month at this rate of requests, in whole replicas."""
        return max(1, ceil(rate / self.largest_rate - 1e-9)) * self.usd_per_hour * MONTH_HOURS


def newer_against_older(newer: Contender, older: Contender, *, rate: float, name: str) -> BreakEven:
    """Return the price of a newer card's GPU-hour at which a full replica of both costs the same.

    `price = older's price an hour · newer's rate / older's rate / newer's GPUs`.
    """
    even = older.usd_per_hour * newer.largest_rate / older.largest_rate / newer.gpus
    asked = newer.usd_per_hour / newer.gpus
    a, b = newer.usd_per_month(rate), older.usd_per_month(rate)
    cheaper = newer if a <= b else older
    most = max(4 * rate, 2.2 * max(newer.largest_rate, older.largest_rate))
    rates = [most * step / 64 for step in range(1, 65)]
    return BreakEven(
        name=name,
        value=even,
        unit="USD a GPU-hour of the newer card",
        yours=asked,
        sentence=(
            f"Full, {newer.name} carries {newer.largest_rate / older.largest_rate:.2f} times what "
            f"{older.name} does, so it wins while a GPU-hour costs less than ${even:,.2f}; it "
            f"costs ${asked:,.2f}. At {rate:,.3g} requests/s a month costs ${a:,.0f} against "
            f"${b:,.0f}: {cheaper.name} is cheaper."
        ),
        x_title="requests a second",
        y_title="USD a month",
        lines=(
            _line(newer.name, rates, newer.usd_per_month),
            _line(older.name, rates, older.usd_per_month),
        ),
    )


def _line(name: str, at: Sequence[float], cost: Callable[[float], float]) -> Line:
    return Line(name=name, points=tuple((x, cost(x)) for x in at))


def _grid(low: float, high: float) -> list[float]:
    return [low + (high - low) * step / (_POINTS - 1) for step in range(_POINTS)]


def _spread(low: float, high: float) -> list[float]:
    """Return points that lie evenly on a logarithmic scale."""
    ratio = high / low
    return [low * ratio ** (step / (_POINTS - 1)) for step in range(_POINTS)]
