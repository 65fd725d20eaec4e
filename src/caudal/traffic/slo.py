"""Service level objectives: latency percentiles that an answer must keep."""

from dataclasses import dataclass
from enum import StrEnum

from caudal.vocabulary.units import Seconds


class Metric(StrEnum):
    """What is timed. TPOT leaves the first token out: (E2E - TTFT) / (output tokens - 1)."""

    TTFT = "ttft"
    TPOT = "tpot"
    E2E = "e2e"


@dataclass(frozen=True, slots=True, order=True)
class Objective:
    """A bound on one percentile of one metric; percentile 0.5, 0.9, 0.95 or 0.99."""

    metric: Metric
    percentile: float
    at_most_s: Seconds

    @property
    def label(self) -> str:
        """Return the objective's name as flags and tables print it, such as "TTFT p95"."""
        return f"{self.metric.upper()} p{round(self.percentile * 100)}"


@dataclass(frozen=True, slots=True)
class Slo:
    """All objectives of a service; none means throughput is all that counts."""

    objectives: tuple[Objective, ...] = ()
