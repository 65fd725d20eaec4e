"""A shape on one GPU that serves the question."""

from dataclasses import dataclass, replace
from math import ceil, isfinite

from caudal.facts.gpu import GpuSpec
from caudal.facts.precision import SupportAnswer
from caudal.plan.screen import Curve
from caudal.plan.shapes import Shape, name_serving


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape on one GPU that serves the question, with the replicas it takes."""

    shape: Shape
    gpu: GpuSpec
    support: SupportAnswer
    replicas: int
    batch: float  # largest that memory and the SLO allow in one replica
    largest_rate: float  # of one replica, requests/s
    concurrency: float  # sequences of the mean length that memory holds in one replica
    curve: Curve  # of this GPU, arrays [batches]
    totals: tuple[int, ...] | None = None  # GPU counts allowed in all, None for any

    @property
    def gpus(self) -> int:
        """Return the GPUs of all replicas."""
        return self.shape.serving.layout.gpus * self.replicas

    def with_more(self) -> "Candidate | None":
        """Return the candidate with the next larger number of replicas allowed, None if none is."""
        size, least = self.shape.serving.layout.gpus, self.gpus + 1
        total = allowed_total(size, least / size, self.totals)
        return replace(self, replicas=total // size) if total else None

    @property
    def name(self) -> str:
        """Return the deployment as people write it."""
        replica = name_serving(self.shape.serving, self.gpu)
        return replica if self.replicas == 1 else f"{self.replicas} x ({replica})"


def allowed_total(size: int, replicas: float, totals: tuple[int, ...] | None) -> int:
    """Return how many GPUs to rent for `replicas` of `size` GPUs each, 0 where not allowed."""
    if not isfinite(replicas):
        return 0
    least = size * ceil(replicas)
    if totals is None:
        return least
    return min((total for total in totals if total >= least and total % size == 0), default=0)
