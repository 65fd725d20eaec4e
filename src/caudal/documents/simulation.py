"""Simulated runs and capacity searches as documents: what every door shows of them."""

from dataclasses import dataclass

import numpy as np

from caudal.simulate.deployment import Deployment
from caudal.simulate.run import Simulation
from caudal.simulate.scenario import Scenario, router_name
from caudal.simulate.search import Capacity, CapacityPoint, missed_objectives
from caudal.traffic.judge import PERCENTILES
from caudal.traffic.slo import Metric, Slo
from caudal.vocabulary.units import RequestsPerSecond, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSummary:
    """What was simulated."""

    model: str
    gpu: str
    gpus_per_replica: int
    layout: str
    engine: str
    weight_format: str
    kv_format: str
    replicas: int
    decode_replicas: int  # of a pool that only decodes; 0: every replica does both
    router: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """One percentile of one metric with the 95 % interval of its sampling, and its bound."""

    metric: Metric
    percentile: float
    seconds: Seconds
    low_s: Seconds
    high_s: Seconds
    at_most_s: Seconds | None
    keeps: bool | None  # None: nothing was asked of it


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow:
    """One percentile of single gaps between tokens (ITL)."""

    percentile: float
    seconds: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDocument:
    """How the run went over time; the lists have one entry a bin."""

    time_s: tuple[float, ...]
    waiting: tuple[float, ...]
    running: tuple[float, ...]
    kv_share: tuple[float, ...]
    replicas: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument:
    """One run; `latencies` is empty where the queue grows without end."""

    name: str
    deployment: DeploymentSummary
    label: str  # where the numbers come from
    requests: int
    seed: int
    offered_rate: RequestsPerSecond | None
    saturated: bool
    sustainable_rate: RequestsPerSecond | None  # where saturated
    keeps_slo: bool
    latencies: tuple[LatencyRow, ...]
    gaps: tuple[GapRow, ...]
    mean_ttft_s: Seconds | None
    mean_tpot_s: Seconds | None
    mean_e2e_s: Seconds | None
    request_rate: RequestsPerSecond | None
    goodput: RequestsPerSecond | None
    output_tok_s: float | None
    mean_waiting: float
    mean_running: float
    utilisation: float
    cached_share: float | None
    preemptions: int
    restarted_share: float | None
    rejected: int
    replica_hours: float
    span_s: Seconds
    pace_error: float  # of the step table against the formulas it was made from
    compiled: bool
    series: SeriesDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateDocument:
    """Every scenario that was run, in the order given."""

    runs: tuple[RunDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRow:
    """One rate (or number of users) that was tried."""

    rate: float
    keeps: bool
    missed: tuple[str, ...]
    saturated: bool
    latencies: tuple[LatencyRow, ...]
    goodput: RequestsPerSecond | None
    output_tok_s: float | None
    utilisation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityDocument:
    """The highest rate or number of users within the SLO, and the curve below and above it."""

    name: str
    deployment: DeploymentSummary
    by_users: bool
    requests: int  # of each run
    seed: int
    best: CapacityRow | None
    limit: CapacityRow | None  # the lowest tried that misses
    sustainable_rate: RequestsPerSecond
    rows: tuple[CapacityRow, ...]


def deployment_summary(deployment: Deployment) -> DeploymentSummary:
    """Return what is shown of a deployment."""
    serving, scaling = deployment.serving, deployment.autoscaling
    return DeploymentSummary(
        model=deployment.model.id,
        gpu=deployment.gpu.name,
        gpus_per_replica=serving.layout.gpus,
        layout=str(serving.layout),
        engine=serving.engine.name,
        weight_format=serving.weight_format.name,
        kv_format=serving.kv_format.name,
        replicas=scaling.most if scaling else deployment.replicas,
        decode_replicas=deployment.decode.replicas if deployment.decode else 0,
        router=router_name(deployment.router),
    )


def run_document(scenario: Scenario, run: Simulation) -> RunDocument:
    """Return what is shown of one run."""
    judged, series = run.judgement, run.series
    return RunDocument(
        name=scenario.name,
        deployment=deployment_summary(run.deployment),
        label=run.label,
        requests=run.requests,
        seed=run.seed,
        offered_rate=run.offered_rate,
        saturated=run.saturated,
        sustainable_rate=run.sustainable_rate,
        keeps_slo=judged is not None and not missed_objectives(run, scenario.slo),
        latencies=latency_rows(run, scenario.slo),
        gaps=tuple(
            GapRow(percentile=each, seconds=seconds)
            for each, seconds in (run.itl_s.items() if judged else ())
        ),
        mean_ttft_s=judged.mean_ttft_s if judged else None,
        mean_tpot_s=judged.mean_tpot_s if judged else None,
        mean_e2e_s=judged.mean_e2e_s if judged else None,
        request_rate=judged.request_rate if judged else None,
        goodput=judged.goodput if judged else None,
        output_tok_s=judged.output_tok_s if judged else None,
        mean_waiting=run.mean_waiting,
        mean_running=run.mean_running,
        utilisation=run.utilisation,
        cached_share=judged.cached_share if judged else None,
        preemptions=run.preemptions,
        restarted_share=judged.restarted_share if judged else None,
        rejected=run.rejected,
        replica_hours=run.replica_hours,
        span_s=run.span_s,
        pace_error=run.pace_error,
        compiled=run.compiled,
        series=SeriesDocument(
            time_s=_rounded(series.time_s),
            waiting=_rounded(series.waiting),
            running=_rounded(series.running),
            kv_share=_rounded(series.kv_share),
            replicas=_rounded(series.replicas),
        ),
    )


def _rounded(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, ...]:
    return tuple(np.round(values, 4).tolist())


def latency_rows(run: Simulation, slo: Slo) -> tuple[LatencyRow, ...]:
    """Return every percentile with its bound; none where the queue grows."""
    if run.judgement is None:
        return ()
    bounds = {(each.metric, each.percentile): each.at_most_s for each in slo.objectives}
    rows = []
    for each in run.judgement.percentiles:
        bound = bounds.get((each.metric, each.percentile))
        if bound is None and each.percentile not in PERCENTILES:
            continue
        rows.append(
            LatencyRow(
                metric=each.metric,
                percentile=each.percentile,
                seconds=Seconds(each.seconds.value),
                low_s=Seconds(each.seconds.low),
                high_s=Seconds(each.seconds.high),
                at_most_s=bound,
                keeps=None if bound is None else each.seconds.value <= bound,
            )
        )
    return tuple(rows)


def capacity_document(scenario: Scenario, capacity: Capacity) -> CapacityDocument:
    """Return what is shown of a search."""
    rows = {point.rate: _capacity_row(point, scenario.slo) for point in capacity.points}
    return CapacityDocument(
        name=scenario.name,
        deployment=deployment_summary(scenario.deployment),
        by_users=capacity.by_users,
        requests=scenario.requests,
        seed=scenario.seed,
        best=None if capacity.best is None else rows[capacity.best.rate],
        limit=None if capacity.limit is None else rows[capacity.limit.rate],
        sustainable_rate=RequestsPerSecond(capacity.sustainable_rate),
        rows=tuple(rows.values()),
    )


def _capacity_row(point: CapacityPoint, slo: Slo) -> CapacityRow:
    run = point.simulation
    judged = run.judgement
    return CapacityRow(
        rate=point.rate,
        keeps=point.keeps,
        missed=tuple(each.label for each in point.missed),
        saturated=run.saturated,
        latencies=latency_rows(run, slo),
        goodput=judged.goodput if judged else None,
        output_tok_s=judged.output_tok_s if judged else None,
        utilisation=run.utilisation,
    )
