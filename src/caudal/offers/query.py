"""What a user asks of the offers, as filters that can be named, counted and relaxed one by one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

import numpy as np

from caudal.facts.regions import RegionWish, region_wish
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, AgeLimits, Term
from caudal.offers.table import Flags, Floats, OfferTable
from caudal.offers.terms import provider_id
from caudal.vocabulary.formats import format_bandwidth, format_bytes_gb, format_duration
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds

Test = Callable[[OfferTable], Flags]
Distance = Callable[[OfferTable], Floats]

# Prices per hour are products of two rounded numbers; a bound that is met exactly must hold.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferQuery:
    """Which offers are wanted. None and empty mean that everything is.

    Prices too old to quote are left out unless `oldest` asks for them. An offer of which the
    list does not say what a filter asks for does not pass that filter.
    """

    gpu_ids: frozenset[str] | None = None
    counts: frozenset[int] | None = None  # GPUs in the instance
    regions: tuple[str, ...] = ()  # any of these, as people write them
    terms: frozenset[Term] | None = None
    providers: frozenset[str] = frozenset()
    without_providers: frozenset[str] = frozenset()
    max_usd_per_gpu_hour: UsdPerHour | None = None
    max_usd_per_hour: UsdPerHour | None = None  # of the whole instance
    oldest: Age = Age.STALE
    age_limits: AgeLimits | None = None  # instead of those of each source
    max_age_days: int | None = None
    fractions: bool = True  # parts of a GPU too
    opening_later: bool = True  # priced, but cannot be rented yet
    in_stock_only: bool = False  # not those of which the list has too few
    native_fp8: bool = False  # only GPUs that multiply FP8
    fast_link: bool = False  # only where GPUs are joined by more than PCIe
    min_total_memory_bytes: Bytes | None = None  # of all GPUs of the instance
    min_memory_bytes_per_s: BytesPerSecond | None = None  # of one GPU
    max_billing_unit_s: Seconds | None = None
    max_cold_start_s: Seconds | None = None
    min_reliability: float | None = None  # 0 to 1
    verified_only: bool = False  # only hosts that the marketplace vouches for


class OfferFilter(NamedTuple):
    """One condition of a query: its name, its test, and how far an offer is from passing it."""

    name: str  # such as "region eu"
    test: Test
    distance: Distance


def filters_of(query: OfferQuery, *, today: date) -> tuple[OfferFilter, ...]:
    """Return the conditions of a query that say anything, the cheapest to test first.

    Raises:
        UnknownRegionError: nothing is called like one of the regions.
    """
    found = (
        _gpu_filter(query.gpu_ids),
        _age_filter(query, today=today),
        _count_filter(query.counts),
        _term_filter(query.terms),
        _provider_filter(query.providers, query.without_providers),
        _region_filter(query.regions),
        _most("price per GPU-hour", query.max_usd_per_gpu_hour, _gpu_hour_price),
        _most("price per hour", query.max_usd_per_hour, _instance_price),
        *_hardware_filters(query),
        *_service_filters(query),
    )
    return tuple(condition for condition in found if condition is not None)


def _hardware_filters(query: OfferQuery) -> tuple[OfferFilter | None, ...]:
    memory, bandwidth = query.min_total_memory_bytes, query.min_memory_bytes_per_s
    return (
        None if query.fractions else _flag("whole GPUs only", _is_whole),
        _flag("native FP8", lambda table: table.derived("native_fp8") == 1)
        if query.native_fp8
        else None,
        _flag("NVLink or the like", lambda table: table.derived("fast_link") == 1)
        if query.fast_link
        else None,
        None
        if memory is None
        else _least(
            f"at least {format_bytes_gb(memory)} of GPU memory in all",
            float(memory),
            lambda table: table.derived("total_memory_bytes"),
        ),
        None
        if bandwidth is None
        else _least(
            f"at least {format_bandwidth(bandwidth)} of memory bandwidth",
            float(bandwidth),
            lambda table: table.derived("memory_bytes_per_s"),
        ),
    )


def _service_filters(query: OfferQuery) -> tuple[OfferFilter | None, ...]:
    unit, start, least = query.max_billing_unit_s, query.max_cold_start_s, query.min_reliability
    return (
        None
        if query.opening_later
        else _flag("can be rented now", lambda table: table.number("opens_later") == 0),
        _flag("in stock", _is_in_stock) if query.in_stock_only else None,
        None
        if unit is None
        else _bound(
            f"billed by {format_duration(unit)} or less",
            float(unit),
            lambda table: table.derived("billing_unit_s"),
        ),
        None
        if start is None
        else _bound(
            f"cold start within {format_duration(start)}",
            float(start),
            lambda table: table.number("cold_start_s"),
        ),
        None
        if least is None
        else _least(
            f"reliability of at least {least:g}",
            least,
            lambda table: table.number("reliability"),
        ),
        _flag("verified host", lambda table: table.number("verified") == 1)
        if query.verified_only
        else None,
    )


def _gpu_hour_price(table: OfferTable) -> Floats:
    return table.number("price_usd_per_gpu_hour")


def _instance_price(table: OfferTable) -> Floats:
    return table.derived("usd_per_hour")


def _is_whole(table: OfferTable) -> Flags:
    whole: Flags = table.number("gpu_fraction") == 1
    return whole


def _is_in_stock(table: OfferTable) -> Flags:
    stock = table.number("stock")
    enough: Flags = np.isnan(stock) | (stock >= table.number("gpu_count"))
    return enough


def _flag(name: str, test: Test) -> OfferFilter:
    return OfferFilter(name=name, test=test, distance=_gpu_hour_price)


def _bound(name: str, most: float, figure: Distance) -> OfferFilter:
    """Return the filter `figure <= most`; an unknown figure does not pass and is farthest."""
    return OfferFilter(
        name=name,
        test=lambda table: figure(table) <= most,
        distance=lambda table: np.nan_to_num(figure(table), nan=np.inf),
    )


def _least(name: str, least: float, figure: Distance) -> OfferFilter:
    """Return the filter `figure >= least`; an unknown figure does not pass and is farthest."""
    return OfferFilter(
        name=name,
        test=lambda table: figure(table) >= least,
        distance=lambda table: -np.nan_to_num(figure(table), nan=-np.inf),
    )


def _gpu_filter(gpu_ids: frozenset[str] | None) -> OfferFilter | None:
    if gpu_ids is None:
        return None
    return _flag(
        f"GPU {_listed(gpu_ids)}", lambda table: table.text("gpu_id").where(gpu_ids.__contains__)
    )


def _count_filter(counts: frozenset[int] | None) -> OfferFilter | None:
    if counts is None:
        return None
    wanted = np.array(sorted(counts), dtype=np.float64)

    def distance(table: OfferTable) -> Floats:
        have = table.number("gpu_count")
        if not wanted.size:
            return have
        nearest: Floats = np.abs(have[:, None] - wanted[None, :]).min(axis=1)
        return nearest

    return OfferFilter(
        name=f"GPUs in the instance: {', '.join(str(count) for count in sorted(counts))}",
        test=lambda table: np.isin(table.number("gpu_count"), wanted),
        distance=distance,
    )


def _term_filter(terms: frozenset[Term] | None) -> OfferFilter | None:
    if terms is None:
        return None
    names = frozenset(term.value for term in terms)
    return _flag(
        f"term {_listed(terms)}", lambda table: table.text("term").where(names.__contains__)
    )


def _provider_filter(wanted: frozenset[str], unwanted: frozenset[str]) -> OfferFilter | None:
    """Return one condition for both: only these, and none of those; resellers count too."""
    if not wanted and not unwanted:
        return None
    only = {provider_id(name) for name in wanted}
    never = {provider_id(name) for name in unwanted}

    def test(table: OfferTable) -> Flags:
        seller, reseller = table.text("provider"), table.text("via")
        passes = ~(seller.where(never.__contains__) | reseller.where(never.__contains__))
        if only:
            passes &= seller.where(only.__contains__) | reseller.where(only.__contains__)
        return passes

    names = [*sorted(only), *(f"not {name}" for name in sorted(never))]
    return _flag(f"provider {', '.join(names)}", test)


def _region_filter(regions: tuple[str, ...]) -> OfferFilter | None:
    if not regions:
        return None
    wishes: tuple[RegionWish, ...] = tuple(region_wish(text) for text in regions)
    countries = frozenset[str | None]().union(*(wish.countries for wish in wishes))
    named = frozenset(place for wish in wishes for place in wish.regions)

    def test(table: OfferTable) -> Flags:
        passes = table.text("country").where(countries.__contains__)
        if not named:
            return passes
        provider, region = table.text("provider"), table.text("region")
        for wanted in {seller for seller, _ in named}:
            names = frozenset(name for seller, name in named if seller == wanted)
            passes |= provider.where(wanted.__eq__) & region.where(names.__contains__)
        return passes

    return _flag(f"region {_listed(regions)}", test)


def _most(name: str, most: UsdPerHour | None, price: Distance) -> OfferFilter | None:
    if most is None:
        return None
    bound = float(most) * (1 + _ROUNDING)
    return OfferFilter(
        name=f"{name} at most ${most}", test=lambda table: price(table) <= bound, distance=price
    )


def _age_filter(query: OfferQuery, *, today: date) -> OfferFilter | None:
    limits = query.age_limits
    column = {Age.FRESH: "fresh_days", Age.STALE: "stale_days"}.get(query.oldest)
    if column is None and query.max_age_days is None:
        return None
    usual: int | None = getattr(limits or DEFAULT_AGE_LIMITS, column) if column else None
    bounds = [bound for bound in (usual, query.max_age_days) if bound is not None]

    def age(table: OfferTable) -> Floats:
        return today.toordinal() - table.number("observed_on")

    def test(table: OfferTable) -> Flags:
        passes = np.ones(table.size, dtype=np.bool_)
        if query.max_age_days is not None:
            passes &= age(table) <= query.max_age_days
        if usual is not None and column is not None:
            passes &= age(table) <= (table.number(column) if limits is None else usual)
        return passes

    return OfferFilter(name=f"price seen within {min(bounds)} days", test=test, distance=age)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
