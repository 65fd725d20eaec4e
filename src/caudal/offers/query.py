"""What a user asks of the offers, as filters that can be named, counted and relaxed one by one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from caudal.facts.regions import RegionWish, region_wish
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, AgeLimits, Offer, Term
from caudal.offers.terms import provider_id
from caudal.vocabulary.money import UsdPerHour

Test = Callable[[Offer], bool]
Distance = Callable[[Offer], Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferQuery:
    """Which offers are wanted. None and empty mean that everything is.

    Prices too old to quote are left out unless `oldest` asks for them.
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
    age_limits: AgeLimits = field(default=DEFAULT_AGE_LIMITS)
    max_age_days: int | None = None
    fractions: bool = True  # parts of a GPU too
    opening_later: bool = True  # priced, but cannot be rented yet
    in_stock_only: bool = False  # not those of which the list has too few


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
        _price_filter("price per GPU-hour", query.max_usd_per_gpu_hour, _gpu_hour_price),
        _price_filter("price per hour", query.max_usd_per_hour, _instance_price),
        None if query.fractions else _flag("whole GPUs only", lambda offer: not offer.is_fraction),
        None
        if query.opening_later
        else _flag("can be rented now", lambda offer: not offer.opens_later),
        _flag("in stock", lambda offer: not offer.is_short_of_stock)
        if query.in_stock_only
        else None,
    )
    return tuple(condition for condition in found if condition is not None)


def _gpu_hour_price(offer: Offer) -> Decimal:
    return offer.price_usd_per_gpu_hour


def _instance_price(offer: Offer) -> Decimal:
    return offer.usd_per_hour


def _flag(name: str, test: Test) -> OfferFilter:
    return OfferFilter(name=name, test=test, distance=_gpu_hour_price)


def _gpu_filter(gpu_ids: frozenset[str] | None) -> OfferFilter | None:
    if gpu_ids is None:
        return None
    return _flag(f"GPU {_listed(gpu_ids)}", lambda offer: offer.gpu_id in gpu_ids)


def _count_filter(counts: frozenset[int] | None) -> OfferFilter | None:
    if counts is None:
        return None

    def distance(offer: Offer) -> Decimal:
        return Decimal(min((abs(offer.gpu_count - count) for count in counts), default=0))

    return OfferFilter(
        name=f"GPUs in the instance: {', '.join(str(count) for count in sorted(counts))}",
        test=lambda offer: offer.gpu_count in counts,
        distance=distance,
    )


def _term_filter(terms: frozenset[Term] | None) -> OfferFilter | None:
    if terms is None:
        return None
    return _flag(f"term {_listed(terms)}", lambda offer: offer.term in terms)


def _provider_filter(wanted: frozenset[str], unwanted: frozenset[str]) -> OfferFilter | None:
    """Return one condition for both: only these, and none of those; resellers count too."""
    if not wanted and not unwanted:
        return None
    only = {provider_id(name) for name in wanted}
    never = {provider_id(name) for name in unwanted}

    def test(offer: Offer) -> bool:
        names = {offer.provider, offer.via} - {""}
        return bool(not only or names & only) and not names & never

    names = [*sorted(only), *(f"not {name}" for name in sorted(never))]
    return _flag(f"provider {', '.join(names)}", test)


def _region_filter(regions: tuple[str, ...]) -> OfferFilter | None:
    if not regions:
        return None
    wishes: tuple[RegionWish, ...] = tuple(region_wish(text) for text in regions)

    def test(offer: Offer) -> bool:
        return any(
            wish.admits(provider=offer.provider, region=offer.region, country=offer.country)
            for wish in wishes
        )

    return _flag(f"region {_listed(regions)}", test)


def _price_filter(name: str, most: UsdPerHour | None, price: Distance) -> OfferFilter | None:
    if most is None:
        return None
    return OfferFilter(
        name=f"{name} at most ${most}", test=lambda offer: price(offer) <= most, distance=price
    )


def _age_filter(query: OfferQuery, *, today: date) -> OfferFilter | None:
    limits = query.age_limits
    days = {Age.FRESH: limits.fresh_days, Age.STALE: limits.stale_days}.get(query.oldest)
    bounds = [bound for bound in (days, query.max_age_days) if bound is not None]
    if not bounds:
        return None
    most = min(bounds)

    def distance(offer: Offer) -> Decimal:
        return Decimal(offer.age_days(today))

    return OfferFilter(
        name=f"price seen within {most} days",
        test=lambda offer: (today - offer.observed_on).days <= most,
        distance=distance,
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
