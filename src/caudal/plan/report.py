"""What a plan says: ranked rows, what was assumed, and why every other candidate fell."""

from dataclasses import dataclass
from enum import StrEnum

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.facts.precision import SupportAnswer
from caudal.fit.serving import Serving
from caudal.offers.offer import Age, Offer
from caudal.plan.cost import FullPrice
from caudal.plan.use import Use
from caudal.traffic.slo import Metric, Slo
from caudal.traffic.workload import Workload
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.money import UsdPerHour, UsdPerMillionTokens, UsdPerMonth
from caudal.vocabulary.units import Tokens


class Gate(StrEnum):
    """The checks that a candidate passes, in this order."""

    LAYOUT = "layout not legal"
    PRECISION = "precision not supported"
    FIT = "does not fit"
    OFFER = "no offer"
    SLO = "SLO missed"
    INSTANCE = "no instance holds it"  # none large enough, or too few in stock
    BUDGET = "over budget"
    SIMULATION = "SLO missed under simulated load"  # only the cheapest come so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of one GPU of the replica that is filled most, in bytes."""

    usable_bytes: Estimate
    weights_bytes: Estimate
    kv_pool_bytes: Estimate
    other_bytes: Estimate  # activations, graphs, the driver's and the engine's own
    kv_bytes_per_token: float  # of one GPU, for a further token of a long sequence
    kv_tokens: Estimate  # that the pool of one replica holds, at the mean length asked for
    concurrency: Estimate  # sequences of the mean length that one replica holds at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """One predicted percentile beside what was asked for."""

    metric: Metric
    percentile: float
    seconds: Estimate
    at_most_s: float | None  # None: nothing was asked

    @property
    def label(self) -> str:
        """Return the name that flags and tables use, such as "TTFT p95"."""
        return f"{self.metric.upper()} p{round(self.percentile * 100)}"

    @property
    def kept(self) -> bool:
        """Return whether the predicted value keeps the bound."""
        return self.at_most_s is None or self.seconds.value <= self.at_most_s


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One latency that others measured where a row runs: same replica, nearly the same load."""

    metric: Metric
    statistic: str  # "p50" or "mean", as the source gives it
    seconds: float
    predicted_s: Estimate | None  # Caudal's own median at the load asked for; None beside a mean
    concurrency: float  # requests under way in the replica that was measured
    input_tokens: float  # mean, as run
    output_tokens: float  # mean, as run
    engine_version: str
    measured_on: str  # YYYY, YYYY-MM or YYYY-MM-DD; empty where unknown
    row_id: str
    source: str
    source_ref: str  # where in the source
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """How the deployment runs at the load asked for."""

    replicas: int
    batch: float  # sequences decoding at once in one replica
    request_rate: float  # of the whole deployment, requests/s
    largest_rate: Estimate  # that the whole deployment carries within the SLO, requests/s
    latencies: tuple[Latency, ...]
    output_tokens_per_s: Estimate  # of the whole deployment at the load asked for
    prefill_utilisation: float  # share of a replica's time spent on prompts
    simulated: str | None = None  # what the latencies rest on; None: closed forms
    measured: tuple[MeasuredPoint, ...] = ()  # by others, at nearly this load


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What the deployment costs on one offer."""

    offer: Offer
    age: Age
    age_days: int
    instances: int
    gpus_paid: int  # at least the GPUs used: whole instances are rented
    usd_per_gpu_hour: UsdPerHour
    usd_per_hour: UsdPerHour
    usd_per_month: UsdPerMonth  # in full; where days were asked for, at their rate
    usd_per_million_tokens: UsdPerMillionTokens  # input and output together, at the load asked for
    full: FullPrice  # the bill of the use asked about, item by item
    same_price_regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One way to serve the question."""

    rank: int
    gpu: GpuSpec
    serving: Serving
    support: SupportAnswer
    memory: Memory
    operation: Operation
    price: Price
    warnings: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        """Return how many GPUs serve, all replicas together."""
        return self.serving.layout.gpus * self.operation.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestMiss:
    """The rejected candidate that came closest at one gate, and what would mend it."""

    candidate: str  # such as "2 x A100-80GB, fp8, TP2"
    reason: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """How many candidates fell at one gate, of those that reached it."""

    gate: Gate
    reached: int
    fell: int
    nearest: NearestMiss | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """How much was looked at."""

    shapes: int  # precision x KV precision x layout x engine
    gpus: int
    candidates: int  # shapes on GPUs
    priced: int  # candidates that serve, each on each offer that can host it
    offers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The answer to one question."""

    model: ModelSpec
    workload: Workload
    slo: Slo
    rows: tuple[PlanRow, ...]
    gates: tuple[GateReport, ...]
    considered: Considered
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # what the reader should know: ambiguous names, stale prices ...
    longest_tokens: Tokens
    use: Use  # that prices are for
    oldest_price_days: int | None = None

    @property
    def binding_gate(self) -> GateReport | None:
        """Return the last gate at which everything that was left fell, if no row remains."""
        if self.rows:
            return None
        fallen = [gate for gate in self.gates if gate.fell and gate.fell == gate.reached]
        return fallen[-1] if fallen else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivationStep:
    """One line that a person can check with a pocket calculator."""

    section: str  # "memory", "speed", "load", "price"
    name: str
    formula: str  # in words and numbers, such as "70.6 G x 1 B / 4 GPUs"
    result: str  # with its unit
    source: str = ""
