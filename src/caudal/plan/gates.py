"""The gates: how many candidates fell at each, and the one that came closest."""

from collections.abc import Callable
from dataclasses import dataclass, field

from caudal.plan.report import Gate, GateReport, NearestMiss


@dataclass(slots=True)
class GateCount:
    """The running count of one gate; the nearest miss is only put into words at the end."""

    gate: Gate
    reached: int = 0
    fell: int = 0
    _score: float = float("inf")
    _describe: Callable[[], NearestMiss] | None = None

    def reject(self, count: int, *, score: float, describe: Callable[[], NearestMiss]) -> None:
        """Count `count` fallen candidates, of which the closest has `score` (smaller is closer)."""
        self.fell += count
        if count and score < self._score:
            self._score, self._describe = score, describe

    def report(self) -> GateReport:
        """Return the count, with the nearest miss described."""
        nearest = self._describe() if self._describe is not None else None
        return GateReport(gate=self.gate, reached=self.reached, fell=self.fell, nearest=nearest)


def _all_gates() -> dict[Gate, GateCount]:
    return {gate: GateCount(gate) for gate in Gate}


@dataclass(slots=True)
class Gates:
    """All gates of one plan, in order."""

    counts: dict[Gate, GateCount] = field(default_factory=_all_gates)

    def __getitem__(self, gate: Gate) -> GateCount:
        return self.counts[gate]

    def reports(self) -> tuple[GateReport, ...]:
        """Return every gate that something reached, in the order they are passed."""
        return tuple(count.report() for count in self.counts.values() if count.reached)
