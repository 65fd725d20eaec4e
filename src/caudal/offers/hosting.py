"""What it costs to host replicas on an offer: whole instances are paid, used or not."""

from dataclasses import dataclass

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
