"""Survivors onto offers: the cheapest for each GPU, precision and provider, in order."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from caudal.offers.hosting import HostingPrice, hosting_cost
from caudal.offers.offer import Offer
from caudal.plan.candidate import Candidate
from caudal.plan.gates import Gates
from caudal.plan.hosting import OfferColumns, cheapest_of_groups
from caudal.plan.misses import budget_miss, offer_miss
from caudal.plan.report import Gate
from caudal.plan.use import Use


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate on the cheapest offer of one provider and term."""

    candidate: Candidate
    hosting: HostingPrice
    twins: tuple[Offer, ...]  # offers of the same provider and term at the same price


@dataclass(frozen=True, slots=True)
class Ranking:
    """The choices, cheapest first; each GPU, precision and provider once metered, once termed."""

    choices: tuple[Choice, ...]
    without_term: Choice | None  # the cheapest that is paid by the hour, if none of the above is
    priced: int  # pairs of a candidate and an offer that can host it


def rank(
    candidates: Sequence[Candidate],
    offers: Iterable[Offer],
    *,
    gates: Gates,
    budget_usd: float | None,
    most: int,
    use: Use | None = None,
) -> Ranking:
    """Return at most `most` choices, cheapest first; count those that fall at offers and budget.

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
        pairs, hosted = _host(members, by_gpu.get(gpu_id, []), gates, use)
        priced += pairs
        found += hosted
    affordable = _within_budget(found, gates, budget_usd)
    choices = _first_of_each(affordable, most)
    without_term = None
    if choices and not any(choice.hosting.offer.term.is_metered for choice in choices):
        metered = [hosted for hosted in affordable if hosted.is_metered]
        without_term = next(iter(_first_of_each(metered, 1)), None)
    return Ranking(choices, without_term, priced)


@dataclass(frozen=True, slots=True)
class _Hosted:
    """A candidate on one group's cheapest offer, before anything is put into words."""

    candidate: Candidate
    columns: OfferColumns
    offer: int
    usd: float  # in the period

    @property
    def is_metered(self) -> bool:
        """Return whether the offer is paid for the time used."""
        return self.columns.offers[self.offer].term.is_metered


def _host(
    members: list[Candidate], offers: list[Offer], gates: Gates, use: Use | None
) -> tuple[int, list[_Hosted]]:
    """Return the pairs looked at and, for each candidate and group, the cheapest offer."""
    gate = gates[Gate.OFFER]
    gate.reached += len(members)
    if not offers:
        nearest = min(members, key=lambda candidate: candidate.gpus)
        gate.reject(len(members), score=nearest.gpus, describe=lambda: offer_miss(nearest, []))
        return 0, []
    columns = OfferColumns.of(tuple(offers), use)
    sizes = np.array([[float(member.shape.serving.layout.gpus)] for member in members])
    replicas = np.array([[float(member.replicas)] for member in members])
    usd, chosen, pairs = cheapest_of_groups(columns, gpus=sizes, replicas=replicas)
    finite = np.isfinite(usd)
    without = np.flatnonzero(~finite.any(axis=1))
    if without.size:
        nearest = min((members[index] for index in without), key=lambda member: member.gpus)
        gate.reject(
            int(without.size), score=nearest.gpus, describe=lambda: offer_miss(nearest, offers)
        )
    hosted = [
        _Hosted(members[row], columns, int(chosen[row, group]), float(usd[row, group]))
        for row, group in np.argwhere(finite).tolist()
    ]
    return pairs, hosted


def _within_budget(found: list[_Hosted], gates: Gates, budget_usd: float | None) -> list[_Hosted]:
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


def _first_of_each(found: list[_Hosted], most: int) -> tuple[Choice, ...]:
    """Return the first `most`: each GPU, precision, provider once metered and once termed."""
    choices: list[Choice] = []
    seen: set[tuple[str, str, str, bool]] = set()
    for hosted in sorted(found, key=_hosted_order):
        candidate, offer = hosted.candidate, hosted.columns.offers[hosted.offer]
        key = (
            candidate.gpu.id,
            candidate.shape.serving.weight_format.name,
            offer.provider,
            offer.term.is_metered,
        )
        if key in seen:
            continue
        seen.add(key)
        choices.append(_chosen(hosted))
        if len(choices) == most:
            break
    return tuple(choices)


def _hosted_order(hosted: _Hosted) -> tuple[float, int, float, float, float]:
    """Sort by price; at one price by fewer GPUs, less quantisation, then more reserve."""
    candidate, serving = hosted.candidate, hosted.candidate.shape.serving
    return (
        round(hosted.usd, 2),
        candidate.gpus,
        -serving.kv_format.bytes_per_element,
        -serving.weight_format.bytes_per_weight,
        -candidate.largest_rate * candidate.replicas,
    )


def _chosen(hosted: _Hosted) -> Choice:
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
