"""What can be rented, on one basis, with the age of each price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from caudal.facts.gpus import gpu_catalogue
from caudal.offers.book import OfferBook, Selection, SourceReport
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, Offer, Term
from caudal.offers.query import OfferQuery
from caudal.offers.terms import provider_id
from caudal.vocabulary.errors import InfeasibleError, UnknownNameError
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds

USUAL_ROWS: Final = 20  # chosen: fits a screen
BILLING_UNITS: Final = {"per-second": 1.0, "per-minute": 60.0, "per-hour": 3600.0}


class UnknownProviderError(UnknownNameError):
    """No offer of ours is from a provider of this name."""

    code, noun = "unknown-provider", "provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedOffer:
    """An offer with the age of its price on the day of the answer."""

    offer: Offer
    usd_per_hour: UsdPerHour  # of the whole instance
    age_days: int
    age: Age


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferDocument:
    """The offers that pass, cheapest per GPU-hour first, and where they were read."""

    found: int  # offers that pass, of which `offers` holds the first --top
    today: date
    offers: tuple[PricedOffer, ...]
    notes: tuple[str, ...]  # how ambiguous names were read
    sources: tuple[SourceReport, ...]


def offer_query(
    *,
    regions: tuple[str, ...] = (),
    providers: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    terms: tuple[str, ...] = (),
    max_price: UsdPerHour | None = None,
    max_gpu_price: UsdPerHour | None = None,
    max_price_age: int | None = None,
) -> OfferQuery:
    """Return the query that the shared options ask, for any GPU.

    An age beyond the limit for quoting admits such prices too: whoever names it, wants them.
    """
    only, never = _wished(providers)
    beyond = max_price_age is not None and max_price_age > DEFAULT_AGE_LIMITS.stale_days
    return OfferQuery(
        regions=regions,
        terms=frozenset(Term(term) for term in terms) or None,
        providers=only,
        without_providers=never | frozenset(without),
        max_usd_per_hour=max_price,
        max_usd_per_gpu_hour=max_gpu_price,
        oldest=Age.HISTORICAL if beyond else Age.STALE,
        max_age_days=max_price_age,
    )


def narrowed(
    query: OfferQuery,
    *,
    counts: tuple[int, ...] | None = None,
    fp8: bool = False,
    nvlink: bool = False,
    min_total_memory: Bytes | None = None,
    min_bandwidth: BytesPerSecond | None = None,
    countries: tuple[str, ...] = (),
    billing: str | None = None,
    max_cold_start: Seconds | None = None,
    min_reliability: float | None = None,
    verified: bool = False,
    in_stock: bool = False,
) -> OfferQuery:
    """Return the query with the filters that only lists of offers have.

    A country may be several, `DE,FR`.
    """
    named = tuple(name.strip() for text in countries for name in text.split(",") if name.strip())
    return replace(
        query,
        regions=(*query.regions, *named),
        counts=None if counts is None else frozenset(counts),
        native_fp8=fp8,
        fast_link=nvlink,
        min_total_memory_bytes=min_total_memory,
        min_memory_bytes_per_s=min_bandwidth,
        max_billing_unit_s=None if billing is None else Seconds(BILLING_UNITS[billing]),
        max_cold_start_s=max_cold_start,
        min_reliability=min_reliability,
        verified_only=verified,
        in_stock_only=in_stock,
    )


def _wished(providers: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the providers wanted and those not wanted, written `!aws`; commas separate several."""
    names = [name.strip() for text in providers for name in text.split(",") if name.strip()]
    never = frozenset(name[1:].strip() for name in names if name.startswith("!"))
    return frozenset(name for name in names if not name.startswith("!")), never


def find_offers(
    gpus: Sequence[str],
    query: OfferQuery,
    *,
    book: OfferBook,
    top: int = USUAL_ROWS,
    sort: str = "",
) -> OfferDocument:
    """Return the offers that pass, for any of the GPUs named, in the order of `sort`.

    A GPU may be written `H100|H200`. See `caudal.offers.sorting` for the orders; the usual one is
    the price of a GPU-hour.

    Raises:
        UnknownProviderError, UnknownGpuError, UnknownRegionError: with the nearest names.
        UnknownFieldError: there is no such order; the nearest are named.
        InfeasibleError: no offer passes; the message names the filter that binds.
    """
    check_providers(book, query)
    queries, notes = _queries(gpus, query)
    found = _select(book, queries, sort=sort)
    shown = tuple(
        PricedOffer(
            offer=offer,
            usd_per_hour=offer.usd_per_hour,
            age_days=offer.age_days(book.today),
            age=offer.age(book.today),
        )
        for offer in found.first(top)
    )
    return OfferDocument(
        found=len(found), today=book.today, offers=shown, notes=notes, sources=book.sources
    )


def check_providers(book: OfferBook, query: OfferQuery) -> None:
    """Raise if a provider is named that no offer is from: the list would be empty for no reason.

    Raises:
        UnknownProviderError: with the nearest names.
    """
    known = book.sellers
    for name in (*query.providers, *query.without_providers):
        if provider_id(name) not in known:
            listed = ", ".join(sorted(book.providers))
            raise UnknownProviderError(name, known=known, hint=f"Known: {listed}.")


def _queries(gpus: Sequence[str], query: OfferQuery) -> tuple[list[OfferQuery], tuple[str, ...]]:
    """Return one query a GPU option, since each may name its own counts, and how it was read."""
    if not gpus:
        return [query], ()
    queries, notes = [], []
    for text in (name for several in gpus for name in several.split("|")):
        choice = gpu_catalogue().resolve(text)
        counts = query.counts if choice.counts is None else frozenset(choice.counts)
        ids = frozenset(spec.id for spec in choice.specs)
        queries.append(replace(query, gpu_ids=ids, counts=counts))
        notes.append(choice.note)
    return queries, tuple(dict.fromkeys(note for note in notes if note))


def _select(book: OfferBook, queries: Sequence[OfferQuery], *, sort: str) -> Selection:
    """Return every offer that one of the queries admits, in the order asked for."""
    found = book.find_any(queries)
    if not len(found):
        reasons = [reason.text for query in queries if (reason := book.explain_empty(query))]
        raise InfeasibleError(
            " ".join(dict.fromkeys(reasons)), remedy="Drop or widen the filter that binds."
        )
    if not sort:
        return found
    from caudal.offers.sorting import sort_figures  # noqa: PLC0415 - loads the room of speed

    return found.order_by(sort_figures(book, sort))
