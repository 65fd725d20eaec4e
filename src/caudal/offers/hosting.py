"""What it costs to host replicas on an offer: whole instances are paid, used or not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from caudal.offers.offer import Offer
from caudal.vocabulary.errors import InfeasibleError
from caudal.vocabulary.money import (
    METERED_HOURS_PER_MONTH,
    UsdPerHour,
    UsdPerMonth,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingPrice:
    """What `replicas` of `gpus_per_replica` GPUs cost on one offer.

    A replica stays within one instance, an instance carries as many as it holds whole. Leaves
    out storage, egress, start-up time and billing minima.
    """

    offer: Offer
    gpus_per_replica: int
    replicas: int
    replicas_per_instance: int
    instances: int

    @property
    def gpus_paid(self) -> int:
        """Return all GPUs of all instances."""
        return self.instances * self.offer.gpu_count

    @property
    def gpus_idle(self) -> int:
        """Return the GPUs that are paid without a replica on them."""
        return self.gpus_paid - self.replicas * self.gpus_per_replica

    @property
    def usd_per_hour(self) -> UsdPerHour:
        """Return the price per hour of the term."""
        return UsdPerHour(self.instances * self.offer.usd_per_hour)

    @property
    def usd_per_month(self) -> UsdPerMonth:
        """Return the price of a month as it is sold: 730 h metered, 720 h (30 days) termed."""
        return UsdPerMonth(self.usd_per_hour * self.offer.month_hours)

    @property
    def usd_per_mean_month(self) -> UsdPerMonth:
        """Return the price of 730 hours: one basis for metered and termed offers."""
        return UsdPerMonth(self.usd_per_hour * METERED_HOURS_PER_MONTH)

    @property
    def exceeds_stock(self) -> bool:
        """Return whether the list has fewer GPUs free than are needed; no if it doesn't say."""
        stock = self.offer.stock
        return stock is not None and self.gpus_paid > stock


def hosting_problem(offer: Offer, *, gpus_per_replica: int) -> str | None:
    """Return why an offer cannot carry such a replica, None if it can."""
    if offer.is_fraction:
        return f"{offer.instance} holds {offer.gpu_fraction} of a GPU, a replica needs whole ones"
    if offer.gpu_count < gpus_per_replica:
        return (
            f"{offer.instance} holds {offer.gpu_count} GPUs, a replica needs {gpus_per_replica}"
            " in one node"
        )
    return None


def hosting_cost(offer: Offer, *, gpus_per_replica: int, replicas: int) -> HostingPrice:
    """Return what hosting costs: `ceil(replicas / (gpus // gpus_per_replica))` instances.

    Leaves out mixing instances of different sizes.

    Raises:
        InfeasibleError: the instance cannot carry one replica.
    """
    problem = hosting_problem(offer, gpus_per_replica=gpus_per_replica)
    if problem is not None:
        raise InfeasibleError(
            f"{problem[0].upper()}{problem[1:]}.", remedy="Take a larger instance."
        )
    each = offer.gpu_count // gpus_per_replica
    return HostingPrice(
        offer=offer,
        gpus_per_replica=gpus_per_replica,
        replicas=replicas,
        replicas_per_instance=each,
        instances=-(-replicas // each),
    )


@dataclass(frozen=True, slots=True)
class OfferShelf:
    """The whole-GPU offers of one GPU as columns, cheapest per GPU-hour first.

    `gpus` and `usd_per_hour` (of the instance) may be taken into arrays: a layout of n GPUs in
    r replicas costs `ceil(r / (gpus // n)) · usd_per_hour` where `gpus >= n`.
    """

    offers: tuple[Offer, ...]
    gpus: tuple[int, ...]
    usd_per_hour: tuple[float, ...]
    cheapest_of_size: tuple[int, ...]  # positions: per number of GPUs the cheapest instance

    @classmethod
    def of(cls, offers: Iterable[Offer]) -> "OfferShelf":
        """Return the shelf of these offers; parts of a GPU are left out."""
        whole = sorted(
            (offer for offer in offers if not offer.is_fraction),
            key=lambda offer: offer.price_usd_per_gpu_hour,
        )
        gpus = tuple(offer.gpu_count for offer in whole)
        first: dict[int, int] = {}
        for position, size in enumerate(gpus):
            first.setdefault(size, position)
        return cls(
            offers=tuple(whole),
            gpus=gpus,
            usd_per_hour=tuple(float(offer.usd_per_hour) for offer in whole),
            cheapest_of_size=tuple(first.values()),
        )

    @property
    def largest(self) -> int:
        """Return the most GPUs of one instance, 0 on an empty shelf."""
        return max(self.gpus, default=0)

    def cheapest_usd_per_hour(self, *, gpus_per_replica: int, replicas: int) -> float | None:
        """Return the least price of hosting, None where no instance is large enough."""
        prices = self._prices(self.cheapest_of_size, gpus_per_replica, replicas)
        return min((price for price, _ in prices), default=None)

    def cheapest(
        self, *, gpus_per_replica: int, replicas: int, most: int = 1
    ) -> tuple[HostingPrice, ...]:
        """Return the cheapest ways to host, one an offer; ties go to the smaller instance."""
        positions: Sequence[int] = self.cheapest_of_size if most == 1 else range(len(self.offers))
        priced = self._prices(positions, gpus_per_replica, replicas)
        best = nsmallest(most, priced, key=lambda item: (item[0], self.gpus[item[1]], item[1]))
        return tuple(
            hosting_cost(
                self.offers[position], gpus_per_replica=gpus_per_replica, replicas=replicas
            )
            for _, position in best
        )

    def _prices(
        self, positions: Iterable[int], gpus_per_replica: int, replicas: int
    ) -> list[tuple[float, int]]:
        return [
            (-(-replicas // (self.gpus[i] // gpus_per_replica)) * self.usd_per_hour[i], i)
            for i in positions
            if self.gpus[i] >= gpus_per_replica
        ]
