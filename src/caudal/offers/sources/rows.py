"""From what a list says of one thing for rent to an offer, or to the reason why it is none.

Every reader of a foreign format yields `Row`s; identity, place, price and plausibility are decided
here, once for all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple, TypedDict

from caudal.facts.currency import ExchangeRate
from caudal.facts.regions import Place, country_areas, place_of
from caudal.facts.source import Source
from caudal.offers.batch import OfferBatch, ReadingFacts, SetAside
from caudal.offers.checks import impossibility, price_problem, unusual_price
from caudal.offers.identity import Identity, identify
from caudal.offers.offer import DEFAULT_AGE_LIMITS, AgeLimits, Offer, Term
from caudal.offers.terms import provider_id
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds

# A part of a GPU as lists round it (0.167 of an A10): below one, exactly one card.
_ONE: Final = Decimal(1)
TERM_HOURS: Final = {
    Term.HOURLY: Decimal(1),
    Term.SPOT: Decimal(1),
    Term.WEEKLY: Decimal(168),
    Term.MONTHLY: Decimal(720),
    Term.QUARTERLY: Decimal(2160),
    Term.HALF_YEARLY: Decimal(4320),
    Term.YEARLY: Decimal(8760),
    Term.THREE_YEARLY: Decimal(26280),
}


class More(TypedDict, total=False):
    """What a list may know beside the price; each is a field of `Offer`."""

    vcpus: int | None
    ram_bytes: Bytes | None
    stock: int | None
    minimum_gpus: int
    included_egress_bytes: Bytes | None
    egress_usd_per_byte: Decimal | None
    note: str
    opens_later: bool
    tax: str
    interconnect: str | None
    local_disk_bytes: Bytes | None
    billing_unit_s: Seconds | None
    minimum_s: Seconds | None
    setup_s: Seconds | None
    setup_usd: Decimal | None
    cold_start_s: Seconds | None
    storage_usd_per_byte_hour: Decimal | None
    stopped_usd_per_hour: Decimal | None
    network_bytes_per_s: BytesPerSecond | None
    reliability: float | None
    verified: bool | None


@dataclass(slots=True, kw_only=True)
class Listed:
    """One priced term of one machine in the words of its list."""

    provider: str
    gpu_name: str
    gpu_count: Decimal  # below one where a part of a GPU is sold
    term: Term
    price: Decimal  # of the whole machine for one unit of the term
    currency: str = "USD"
    hours_per_unit: Decimal | None = None  # None: the usual length of the term
    instance: str = ""
    via: str = ""
    region: str = ""
    country: str | None = None  # where the list says it; else by the region
    gpu_memory_bytes: Bytes | None = None  # of each GPU
    hints: tuple[str, ...] = ()  # other texts that may name a form factor
    observed_on: date | None = None  # where the row has its own day
    more: More = field(default_factory=More)


class Row(NamedTuple):
    """One row of a list: where it stands, and what it offers or why it cannot be read."""

    where: str
    what: str
    listed: Listed | str


class Origin(NamedTuple):
    """What is known of all rows of a list."""

    source: str
    title: str
    licence: str
    where: str  # as `Source.where`
    observed_on: date
    read_on: date
    age_limits: AgeLimits = DEFAULT_AGE_LIMITS


def batch_of_rows(
    rows: Iterable[Row | None],
    *,
    origin: Origin,
    facts: ReadingFacts,
    notes: tuple[str, ...] = (),
) -> OfferBatch:
    """Return the offers of a list; what cannot be read is set aside, None (no GPU) is counted."""
    maker = _Maker(origin, facts)
    offers: list[Offer] = []
    set_aside: list[SetAside] = []
    seen: set[tuple[object, ...]] = set()
    ignored = 0
    for row in rows:
        if row is None:
            ignored += 1
            continue
        found = row.listed if isinstance(row.listed, str) else maker.offer(row.listed)
        if isinstance(found, Offer):
            same = _sameness(found)
            if same in seen:
                found = "the same offer stands above"
            else:
                seen.add(same)
                offers.append(found)
        if isinstance(found, str):
            set_aside.append(
                SetAside(source=origin.source, where=row.where, what=row.what, reason=found)
            )
    return OfferBatch(
        source=origin.source,
        title=origin.title,
        licence=origin.licence,
        offers=tuple(offers),
        set_aside=tuple(set_aside),
        ignored=ignored,
        notes=notes,
    )


def _sameness(offer: Offer) -> tuple[object, ...]:
    return (
        *(offer.provider, offer.via, offer.instance, offer.gpu_id, offer.gpu_count, offer.term),
        *(offer.region, offer.price, offer.vcpus, offer.ram_bytes, offer.note, offer.stock),
        offer.observed_on,
    )


class _Maker:
    """Makes offers of rows; what many rows share is decided once."""

    def __init__(self, origin: Origin, facts: ReadingFacts) -> None:
        self._origin = origin
        self._facts = facts
        self._source = Source(origin.where, origin.read_on, origin.licence)
        self._identities: dict[tuple[object, ...], Identity | str] = {}
        self._places: dict[tuple[str, str, str | None], tuple[str, str | None, str | None]] = {}

    def offer(self, row: Listed) -> Offer | str:
        """Return the offer of a row, or why there is none."""
        provider, country, area = self._place(row)
        identity = self._identity(row, provider)
        if isinstance(identity, str):
            return identity
        held = _held(row, identity)
        if isinstance(held, str):
            return held
        count, fraction = held
        rate = self._facts.rates.find(row.currency.upper())
        if rate is None:
            return f"there is no exchange rate for {row.currency!r}"
        hours = row.hours_per_unit or TERM_HOURS[row.term]
        each = _each(row.price, rate, hours, count * fraction)
        problem = self._problem(row, identity, count=count, fraction=fraction, each=each)
        if problem is not None:
            return problem
        more: More = {**_UNSAID, "minimum_gpus": count, **row.more}
        return Offer(
            provider=provider,
            instance=row.instance,
            gpu_id=identity.gpu.id,
            gpu_count=count,
            gpu_fraction=fraction,
            term=row.term,
            price=row.price,
            currency=row.currency.upper(),
            hours_per_unit=hours,
            price_usd_per_gpu_hour=UsdPerHour(each),
            region=row.region,
            country=country,
            area=area,
            observed_on=row.observed_on or self._origin.observed_on,
            source=self._source,
            via=provider_id(row.via) if row.via else "",
            mig_slice=identity.mig_slice,
            age_limits=self._origin.age_limits,
            **more,
        )

    def _problem(
        self,
        row: Listed,
        identity: Identity,
        *,
        count: int,
        fraction: Decimal,
        each: Decimal,
    ) -> str | None:
        seen = row.observed_on or self._origin.observed_on
        if seen > self._origin.read_on:
            return f"it was seen on {seen}, after the day it was read, {self._origin.read_on}"
        return (
            impossibility(identity.gpu, count=count, fraction=fraction, memory_gb_each=None)
            or price_problem(each)
            or unusual_price(each, self._facts.usual_usd.get(identity.gpu.id))
        )

    def _identity(self, row: Listed, provider: str) -> Identity | str:
        key = (row.gpu_name, row.gpu_memory_bytes, row.hints, provider, row.instance)
        found = self._identities.get(key)
        if found is None:
            found = self._identities[key] = identify(
                row.gpu_name,
                memory_bytes=row.gpu_memory_bytes,
                hints=(*row.hints, row.instance),
                instance=(provider, row.instance),
                facts=self._facts,
            )
        return found

    def _place(self, row: Listed) -> tuple[str, str | None, str | None]:
        """Return the provider's one name, and the country and area of the region."""
        key = (row.provider, row.region, row.country)
        found = self._places.get(key)
        if found is None:
            provider = provider_id(row.provider)
            place = place_of(provider, row.region)
            found = self._places[key] = (provider, *_country(row.country, place))
        return found


_UNSAID: Final[More] = {
    "vcpus": None,
    "ram_bytes": None,
    "stock": None,
    "included_egress_bytes": None,
    "egress_usd_per_byte": None,
}


def _country(stated: str | None, place: Place | None) -> tuple[str | None, str | None]:
    code = (stated or "").strip().upper()
    if code in country_areas():
        return code, country_areas()[code]
    return (place.country, place.area) if place else (None, None)


def _held(row: Listed, identity: Identity) -> tuple[int, Decimal] | str:
    """Return the number of (parts of) GPUs and how large each is."""
    if row.gpu_count <= 0:
        return f"it holds {row.gpu_count} GPUs"
    if row.gpu_count < _ONE:
        if identity.fraction != 1:
            return f"it holds {row.gpu_count} of the slice {identity.mig_slice}"
        return 1, row.gpu_count
    if row.gpu_count != row.gpu_count.to_integral_value():
        return f"it holds {row.gpu_count} GPUs, which is no whole number"
    return int(row.gpu_count), identity.fraction


def _each(price: Decimal, rate: ExchangeRate, hours: Decimal, gpus: Decimal) -> Decimal:
    return price * rate.usd_per_unit / (hours * gpus)


def without_repeats(rows: Iterable[Row | None]) -> Iterator[Row | None]:
    """Yield rows, None in the place of one that says the same as an earlier one."""
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        if row is None or isinstance(row.listed, str):
            yield row
            continue
        listed = row.listed
        key = (
            *(listed.provider, listed.instance, listed.region, listed.term, listed.price),
            *(listed.gpu_name, listed.gpu_count),
        )
        if key in seen:
            yield None
        else:
            seen.add(key)
            yield row
