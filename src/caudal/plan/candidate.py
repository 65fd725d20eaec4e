"""A shape on one GPU that serves the question."""

from dataclasses import dataclass

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

    @property
    def gpus(self) -> int:
        """Return the GPUs of all replicas."""
        return self.shape.serving.layout.gpus * self.replicas

    @property
    def name(self) -> str:
        """Return the deployment as people write it."""
        replica = name_serving(self.shape.serving, self.gpu)
        return replica if self.replicas == 1 else f"{self.replicas} x ({replica})"
