"""All offers on one page: select, find the cheapest, and say why a selection is empty."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property

from caudal.offers.batch import OfferBatch, SetAside
from caudal.offers.hosting import OfferShelf
from caudal.offers.offer import DEFAULT_AGE_LIMITS, Age, AgeLimits, Offer
from caudal.offers.query import OfferFilter, OfferQuery, filters_of
from caudal.vocabulary.money import cents

__all__ = ["EmptyReason", "OfferBook", "OfferQuery", "Relaxation", "SourceReport", "assemble_book"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one source contributed, and when its prices were seen."""

    name: str
    title: str
    licence: str
    offers: int
    set_aside: int
    first_seen: date | None
    last_seen: date | None

    def age(self, today: date, limits: AgeLimits = DEFAULT_AGE_LIMITS) -> Age | None:
        """Return how far its newest price may be trusted, None where it has no offers."""
        return None if self.last_seen is None else limits.age((today - self.last_seen).days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """What would be found if one filter were dropped."""

    filter: str
    offers: int
    nearest: Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyReason:
    """Why a selection is empty.

    `relaxations` are the filters of which any one alone, if dropped, lets offers through. Where
    there are none, `binding` is the filter at which the last offer fell, tested in order.
    """

    binding: str
    left_before: int  # offers that passed the filters before `binding`
    relaxations: tuple[Relaxation, ...]

    @property
    def text(self) -> str:
        """Return the reason in sentences."""
        if not self.relaxations:
            return (
                f"No offer passes, even if any one filter is dropped: {self.left_before} passed"
                f" the filters before {self.binding!r}, none passed it."
            )
        parts = [
            f"Without {item.filter!r} there would be {item.offers}, the nearest"
            f" {_described(item.nearest)}."
            for item in self.relaxations
        ]
        return " ".join(["No offer passes all filters.", *parts])


@dataclass(frozen=True, kw_only=True)
class OfferBook:
    """Every offer of every source as of `today`, the cheapest per GPU-hour first."""

    offers: tuple[Offer, ...]
    set_aside: tuple[SetAside, ...]
    sources: tuple[SourceReport, ...]
    today: date

    @cached_property
    def providers(self) -> frozenset[str]:
        """Return the names of all providers."""
        return frozenset(offer.provider for offer in self.offers)

    def select(self, query: OfferQuery) -> tuple[Offer, ...]:
        """Return the offers that pass every filter of `query`, cheapest per GPU-hour first."""
        found: Iterable[Offer] = self.offers
        for condition in filters_of(query, today=self.today):
            found = [offer for offer in found if condition.test(offer)]
        return tuple(found)

    def cheapest_by(self, gpu_id: str, count: int, query: OfferQuery | None = None) -> Offer | None:
        """Return the cheapest instance of exactly `count` whole GPUs, None where none is sold."""
        asked = replace(
            query or OfferQuery(),
            gpu_ids=frozenset({gpu_id}),
            counts=frozenset({count}),
            fractions=False,
        )
        return next(iter(self.select(asked)), None)

    def shelves(self, query: OfferQuery) -> Mapping[str, OfferShelf]:
        """Return the selected offers by GPU, ready to be priced for many layouts.

        Parts of a GPU cannot host what needs a whole one and are left out.
        """
        by_gpu: dict[str, list[Offer]] = {}
        for offer in self.select(replace(query, fractions=False)):
            by_gpu.setdefault(offer.gpu_id, []).append(offer)
        return {gpu_id: OfferShelf.of(offers) for gpu_id, offers in by_gpu.items()}

    def explain_empty(self, query: OfferQuery) -> EmptyReason | None:
        """Return why `query` selects nothing, None if it selects something."""
        conditions = filters_of(query, today=self.today)
        passed = self.offers
        for condition in conditions:
            left = tuple(offer for offer in passed if condition.test(offer))
            if not left:
                return EmptyReason(
                    binding=condition.name,
                    left_before=len(passed),
                    relaxations=_relaxations(self.offers, conditions),
                )
            passed = left
        return None if passed else EmptyReason(binding="no offers", left_before=0, relaxations=())


def assemble_book(batches: Sequence[OfferBatch], *, today: date) -> OfferBook:
    """Return one book of all batches.

    Where two sources price the same instance, region and term, the later observation is offered
    and the earlier set aside; the offer says so where the prices differ by more than 0.1 %.
    """
    offers, superseded = _newest(batches)
    offers.sort(key=_by_price)
    return OfferBook(
        offers=tuple(offers),
        set_aside=(*(row for batch in batches for row in batch.set_aside), *superseded),
        sources=tuple(_report(batch) for batch in batches),
        today=today,
    )


def _by_price(offer: Offer) -> tuple[Decimal, str, str, str]:
    return (offer.price_usd_per_gpu_hour, offer.provider, offer.instance, offer.region)


def _report(batch: OfferBatch) -> SourceReport:
    seen = batch.observed
    return SourceReport(
        name=batch.source,
        title=batch.title,
        licence=batch.licence,
        offers=len(batch.offers),
        set_aside=len(batch.set_aside),
        first_seen=seen[0] if seen else None,
        last_seen=seen[1] if seen else None,
    )


def _newest(batches: Sequence[OfferBatch]) -> tuple[list[Offer], list[SetAside]]:
    """Return the offers without those that a later observation replaces, and these."""
    kept: dict[object, tuple[Offer, str]] = {}
    superseded: list[SetAside] = []
    for batch in batches:
        for position, offer in enumerate(batch.offers):
            named = offer.instance and offer.region
            key: object = (
                (
                    offer.provider,
                    offer.instance,
                    offer.region,
                    offer.gpu_id,
                    offer.gpu_count,
                    offer.term,
                )
                if named
                else (batch.source, position)
            )
            other = kept.get(key)
            if other is None or other[1] == batch.source:
                # Within one source a name may stand for several configurations: all are kept.
                kept[key if other is None else (batch.source, position)] = (offer, batch.source)
                continue
            newer, older, older_source = (
                (offer, other[0], other[1])
                if offer.observed_on > other[0].observed_on
                else (other[0], offer, batch.source)
            )
            kept[key] = (_completed(newer, older), batch.source if newer is offer else other[1])
            superseded.append(_superseded(older, older_source, newer))
    return [offer for offer, _ in kept.values()], superseded


def _completed(newer: Offer, older: Offer) -> Offer:
    """Return the newer offer with what only the older source knew, and any conflict noted."""
    differs = abs(newer.price_usd_per_gpu_hour / older.price_usd_per_gpu_hour - 1) > Decimal(
        "0.001"
    )
    conflict = (
        f"Another source had {older.price} {older.currency} on {older.observed_on}."
        if differs
        else ""
    )
    return replace(
        newer,
        vcpus=newer.vcpus if newer.vcpus is not None else older.vcpus,
        ram_bytes=newer.ram_bytes if newer.ram_bytes is not None else older.ram_bytes,
        note=" ".join(part for part in (newer.note, conflict) if part),
    )


def _superseded(older: Offer, source: str, newer: Offer) -> SetAside:
    return SetAside(
        source=source,
        where=f"{older.instance} in {older.region}",
        what=f"{older.provider} {older.instance} {older.region} {older.term} {older.price}",
        reason=f"{newer.source.where} saw it later, on {newer.observed_on}: {newer.price}",
    )


def _relaxations(
    offers: Sequence[Offer], conditions: Sequence[OfferFilter]
) -> tuple[Relaxation, ...]:
    """Return, for each filter that alone stands in the way, what its fall would let through."""
    through: list[list[Offer]] = [[] for _ in conditions]
    for offer in offers:
        failed = [index for index, item in enumerate(conditions) if not item.test(offer)]
        if len(failed) == 1:
            through[failed[0]].append(offer)
    return tuple(
        Relaxation(
            filter=condition.name,
            offers=len(found),
            nearest=min(
                found,
                key=lambda offer, item=condition: (item.distance(offer), _by_price(offer)),  # type: ignore[misc]
            ),
        )
        for condition, found in zip(conditions, through, strict=True)
        if found
    )


def _described(offer: Offer) -> str:
    place = f" in {offer.region}" if offer.region else ""
    return (
        f"{offer.provider} {offer.instance or offer.gpu_id}{place}, {offer.term},"
        f" ${cents(offer.price_usd_per_gpu_hour)} per GPU-hour, seen {offer.observed_on}"
    )
