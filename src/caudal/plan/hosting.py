"""Which offers can carry a deployment, and what each would cost a month."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caudal.offers.offer import Offer

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OfferColumns:
    """The offers of one GPU, grouped by provider and term; arrays are [offers]."""

    offers: tuple[Offer, ...]
    gpus_each: Floats
    usd_per_month_each: Floats
    stock: Floats  # infinite where the list does not say
    groups: NDArray[np.intp]  # [groups] first offer of each provider and term

    @classmethod
    def of(cls, offers: tuple[Offer, ...]) -> "OfferColumns":
        """Return the offers that hold whole GPUs as columns."""
        ordered = tuple(sorted(offers, key=lambda offer: (offer.provider, offer.term.value)))
        keys = [(offer.provider, offer.term) for offer in ordered]
        starts = [i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
        return cls(
            offers=ordered,
            gpus_each=np.array([float(offer.total_gpus) for offer in ordered]),
            usd_per_month_each=np.array(
                [float(offer.usd_per_hour * offer.month_hours) for offer in ordered]
            ),
            stock=np.array(
                [float("inf") if offer.stock is None else float(offer.stock) for offer in ordered]
            ),
            groups=np.array(starts, dtype=np.intp),
        )


def instances_needed(columns: OfferColumns, *, gpus: Floats, replicas: Floats) -> Floats:
    """Return instances of each offer that carry the replicas, infinite where none can.

    A replica stays within one instance; an instance of n GPUs carries ⌊n / g⌋ replicas.
    `gpus` and `replicas` are [candidates, 1]; the result is [candidates, offers].
    """
    per_instance = np.floor(columns.gpus_each / gpus)
    with np.errstate(divide="ignore"):
        needed = np.ceil(replicas / per_instance)
    impossible = (per_instance < 1) | (needed * columns.gpus_each > columns.stock)
    return np.where(impossible, np.inf, needed)


def cheapest_of_groups(
    columns: OfferColumns, *, gpus: Floats, replicas: Floats
) -> tuple[Floats, NDArray[np.intp], int]:
    """Return $/month [candidates, groups], the offer chosen for each, and the pairs looked at."""
    needed = instances_needed(columns, gpus=gpus, replicas=replicas)
    usd = needed * columns.usd_per_month_each
    ends = [*columns.groups[1:].tolist(), len(columns.offers)]
    cheapest = np.empty((usd.shape[0], len(ends)))
    chosen = np.empty((usd.shape[0], len(ends)), dtype=np.intp)
    for group, (start, end) in enumerate(zip(columns.groups.tolist(), ends, strict=True)):
        block = usd[:, start:end]
        best = block.argmin(axis=1)
        chosen[:, group] = best + start
        cheapest[:, group] = np.take_along_axis(block, best[:, None], axis=1)[:, 0]
    return cheapest, chosen, int(np.isfinite(usd).sum())
