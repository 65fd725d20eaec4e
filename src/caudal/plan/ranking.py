"""Survivors onto offers: the cheapest for each GPU, precision and provider, in order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caudal.offers.hosting import HostingPrice, hosting_cost
from caudal.offers.offer import Offer
from caudal.plan.candidate import Candidate
from caudal.plan.gates import Gates
from caudal.plan.hosting import OfferColumns, cheapest_of_groups
from caudal.plan.misses import budget_miss, instance_miss
from caudal.plan.report import Gate
from caudal.plan.use import Use

Key = tuple[str, str, str, bool]  # GPU, weight format, provider, metered


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate on the cheapest offer of one provider and term."""

    candidate: Candidate
    hosting: HostingPrice
    twins: tuple[Offer, ...]  # offers of the same provider and term at the same price


@dataclass(frozen=True, slots=True)
class Hosted:
    """A candidate on the cheapest offer of one provider and term, before it is put into words."""

    candidate: Candidate
    columns: OfferColumns
    offer: int
    usd: float  # in the period

    @property
    def is_metered(self) -> bool:
        """Return whether the offer is paid for the time used."""
        return self.columns.offers[self.offer].term.is_metered

    @property
    def key(self) -> Key:
        """Return what a list shows once: GPU, precision, provider, metered or termed."""
        return (
            self.candidate.gpu.id,
            self.candidate.shape.serving.weight_format.name,
            self.columns.offers[self.offer].provider,
            self.is_metered,
        )

    @property
    def order(self) -> tuple[float, int, float, float, float]:
        """Sort by price; at one price by fewer GPUs, less quantisation, then more reserve."""
        candidate, serving = self.candidate, self.candidate.shape.serving
        return (
            round(self.usd, 2),
            candidate.gpus,
            -serving.kv_format.bytes_per_element,
            -serving.weight_format.bytes_per_weight,
            -candidate.largest_rate * candidate.replicas,
        )

    def with_candidate(self, candidate: Candidate) -> "Hosted | None":
        """Return another candidate for this GPU at this provider and term, None if too large."""
        sizes = np.array([[float(candidate.shape.serving.layout.gpus)]])
        replicas = np.array([[float(candidate.replicas)]])
        usd, chosen, _ = cheapest_of_groups(self.columns, gpus=sizes, replicas=replicas)
        group = int(np.searchsorted(self.columns.groups, self.offer, side="right")) - 1
        if not np.isfinite(usd[0, group]):
            return None
        return Hosted(candidate, self.columns, int(chosen[0, group]), float(usd[0, group]))


@dataclass(frozen=True, slots=True)
class Ranking:
    """All that can be rented, cheapest first."""

    hosted: tuple[Hosted, ...]
    priced: int  # pairs of a candidate and an offer that can host it

    def first_of_each(self) -> Iterator[Hosted]:
        """Yield the cheapest of each key."""
        seen: set[Key] = set()
        for hosted in self.hosted:
            if hosted.key not in seen:
                seen.add(hosted.key)
                yield hosted


def rank(
    candidates: Sequence[Candidate],
    offers: Iterable[Offer],
    *,
    gates: Gates,
    budget_usd: float | None,
    use: Use | None = None,
) -> Ranking:
    """Return every candidate on every offer that hosts it; count those that fall on the way.

    What counts is the full price in the use, which without one is the month at list price.
    """
    by_gpu: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        if not offer.is_fraction:
            by_gpu[offer.gpu_id].append(offer)
    grouped: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        grouped[candidate.gpu.id].append(candidate)
    priced, found = 0, []
    for gpu_id, members in grouped.items():
        pairs, hosted = _host(members, by_gpu[gpu_id], gates, use)
        priced += pairs
        found += hosted
    affordable = _within_budget(found, gates, budget_usd)
    return Ranking(tuple(sorted(affordable, key=lambda hosted: hosted.order)), priced)


def _host(
    members: list[Candidate], offers: list[Offer], gates: Gates, use: Use | None
) -> tuple[int, list[Hosted]]:
    """Return the pairs looked at and, for each candidate and group, the cheapest offer."""
    gate = gates[Gate.INSTANCE]
    gate.reached += len(members)
    columns = OfferColumns.of(tuple(offers), use)
    sizes = np.array([[float(member.shape.serving.layout.gpus)] for member in members])
    replicas = np.array([[float(member.replicas)] for member in members])
    usd, chosen, pairs = cheapest_of_groups(columns, gpus=sizes, replicas=replicas)
    finite = np.isfinite(usd)
    without = np.flatnonzero(~finite.any(axis=1))
    if without.size:
        nearest = min((members[index] for index in without), key=lambda member: member.gpus)
        gate.reject(
            int(without.size), score=nearest.gpus, describe=lambda: instance_miss(nearest, offers)
        )
    hosted = [
        Hosted(members[row], columns, int(chosen[row, group]), float(usd[row, group]))
        for row, group in np.argwhere(finite).tolist()
    ]
    return pairs, hosted


def _within_budget(found: list[Hosted], gates: Gates, budget_usd: float | None) -> list[Hosted]:
    if budget_usd is None or not found:
        return found
    gate = gates[Gate.BUDGET]
    gate.reached += len(found)
    kept = [hosted for hosted in found if hosted.usd <= budget_usd]
    fallen = [hosted for hosted in found if hosted.usd > budget_usd]
    if fallen:
        nearest = min(fallen, key=lambda hosted: hosted.usd)
        gate.reject(
            len(fallen),
            score=nearest.usd,
            describe=lambda: budget_miss(
                nearest.candidate,
                nearest.columns.offers[nearest.offer],
                usd=nearest.usd,
                budget_usd=budget_usd,
                period=nearest.columns.use.period_text,
            ),
        )
    return kept


def choice_of(hosted: Hosted) -> Choice:
    """Return what is rented, with the offers that are as good."""
    columns, offer = hosted.columns, hosted.columns.offers[hosted.offer]
    each = columns.usd_each[hosted.offer]
    twins = tuple(
        other
        for index, other in enumerate(columns.offers)
        if other is not offer
        and (other.provider, other.term, other.instance)
        == (offer.provider, offer.term, offer.instance)
        and columns.usd_each[index] == each
    )
    return Choice(
        candidate=hosted.candidate,
        hosting=hosting_cost(
            offer,
            gpus_per_replica=hosted.candidate.shape.serving.layout.gpus,
            replicas=hosted.candidate.replicas,
        ),
        twins=twins,
    )
