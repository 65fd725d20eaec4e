"""Which offers can carry a deployment, and what each would cost in the use asked about."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from caudal.offers.offer import Offer
from caudal.plan.cost import egress_of, full_price
from caudal.plan.use import Use, rent_terms
from caudal.vocabulary.units import Bytes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OfferColumns:
    """The offers of one GPU, grouped by provider and term; arrays are [offers]."""

    offers: tuple[Offer, ...]
    gpus_each: Floats
    usd_each: Floats  # of one instance in the period, data out left aside
    stock: Floats  # infinite where the list does not say
    groups: NDArray[np.intp]  # [groups] first offer of each provider and term
    use: Use

    @classmethod
    def of(cls, offers: tuple[Offer, ...], use: Use | None = None) -> "OfferColumns":
        """Return the offers that hold whole GPUs as columns."""
        ordered = tuple(sorted(offers, key=lambda offer: (offer.provider, offer.term.value)))
        keys = [(offer.provider, offer.term) for offer in ordered]
        starts = [i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
        asked = use or Use()
        return cls(
            offers=ordered,
            gpus_each=np.array([float(offer.total_gpus) for offer in ordered]),
            usd_each=np.array([_usd_each(offer, asked) for offer in ordered]),
            stock=np.array(
                [float("inf") if offer.stock is None else float(offer.stock) for offer in ordered]
            ),
            groups=np.array(starts, dtype=np.intp),
            use=asked,
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
    """Return $ in the period [candidates, groups], the offers chosen, and the pairs looked at."""
    needed = instances_needed(columns, gpus=gpus, replicas=replicas)
    usd = needed * columns.usd_each
    if columns.use.data_out_bytes:
        usd += _egress(columns, needed)
    ends = [*columns.groups[1:].tolist(), len(columns.offers)]
    cheapest = np.empty((usd.shape[0], len(ends)))
    chosen = np.empty((usd.shape[0], len(ends)), dtype=np.intp)
    for group, (start, end) in enumerate(zip(columns.groups.tolist(), ends, strict=True)):
        block = usd[:, start:end]
        best = block.argmin(axis=1)
        chosen[:, group] = best + start
        cheapest[:, group] = np.take_along_axis(block, best[:, None], axis=1)[:, 0]
    return cheapest, chosen, int(np.isfinite(usd).sum())


def _usd_each(offer: Offer, use: Use) -> float:
    """Return what one instance costs in the period, data out left aside.

    The plain month is by far the most asked and needs no bill: price an hour times its hours.
    """
    if use.is_plain:
        return float(offer.usd_per_hour * offer.month_hours)
    return float(full_price(offer, replace(use, data_out_bytes=Bytes(0))).usd)


def _egress(columns: OfferColumns, needed: Floats) -> Floats:
    """Return what the data out costs, tax included; nothing where its price is not known."""
    use, usd = columns.use, np.zeros_like(needed)
    taxed = 1 + float(use.vat_percent or 0) / 100
    for at, offer in enumerate(columns.offers):
        terms = rent_terms(offer)
        if terms.egress is None:
            continue
        months = use.months(offer)
        sent = Bytes(use.data_out_bytes // months)
        for count in np.unique(needed[np.isfinite(needed[:, at]), at]).tolist():
            price = float(egress_of(terms, sent, instances=int(count))) * months
            usd[needed[:, at] == count, at] = price * (1.0 if offer.tax == "included" else taxed)
    return usd
