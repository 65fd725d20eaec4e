"""Run a load against a deployment and say how it went, or that the queue only grows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.simulate.clock import PS_PER_SECOND, picoseconds
from caudal.simulate.compiled import is_compiled, run_compiled, run_in_parts
from caudal.simulate.deployment import Deployment, Prepared, prepare
from caudal.simulate.outcome import Outcome, gap_bin_middles
from caudal.simulate.setup import EngineSetup
from caudal.simulate.stepwise import run_stepwise
from caudal.traffic.judge import Judge, Judgement, gap_percentiles
from caudal.traffic.load import PART, Load, request_parts, sample_requests
from caudal.traffic.records import Records
from caudal.traffic.requests import RequestTable
from caudal.traffic.slo import Slo
from caudal.vocabulary.units import RequestsPerSecond, Seconds

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]  # requests that have come, and how many will

REQUESTS: Final = 20_000  # chosen: p95 within 3 % at 90 % load, in 20 ms
SEED: Final = 7

# A queue that grows: its mean wait rises through the run by more than this share of the run's
# length (1 - 1/load), and as much is offered as the deployment carries when it never idles.
_GROWTH: Final = 0.004
_CLOSE: Final = 0.97
_FEW_BATCHES: Final = 5  # from which an interval means something


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeSeries:
    """How a run went over time; arrays are [bins]."""

    time_s: Floats  # the middle of each bin
    waiting: Floats  # requests
    running: Floats
    kv_share: Floats  # of all replicas' blocks
    replicas: Floats  # paid for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation:
    """What a run came to; without a judgement where the queue grows without end."""

    deployment: Deployment
    requests: int
    seed: int
    offered_rate: RequestsPerSecond | None  # None in a closed loop
    judgement: Judgement | None
    itl_s: dict[float, Seconds]  # percentiles of single gaps between tokens
    saturated: bool
    sustainable_rate: RequestsPerSecond | None  # where saturated: what it carries at most
    rejected: int  # longer than the deployment can hold
    preemptions: int
    mean_waiting: float
    mean_running: float
    utilisation: float  # share of the replicas' time in which they computed
    replica_hours: float
    span_s: Seconds
    series: TimeSeries
    pace_error: float
    compiled: bool
    records: Records | None = None  # where they were asked for

    @property
    def label(self) -> str:
        """Return what a row says of where its numbers come from."""
        return f"simulated, {self.requests:,} requests, seed {self.seed}"


def simulate(
    deployment: Deployment,
    load: Load,
    *,
    requests: int = REQUESTS,
    seed: int = SEED,
    slo: Slo | None = None,
    warm_up: float = 0.1,
    narrow: float | None = None,
    keep_records: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Return how `deployment` does under `load`.

    The first `warm_up` of the requests meet an empty system and are left out of the judgement.
    With `narrow` the run ends early once every asked percentile's 95 % interval is within that
    share of its value. The server's own time before scheduling and for handling streams, which
    the speed room's calibration knows, is added to the first token.

    Raises:
        DoesNotFitError: the model leaves no room for a request.
        NoSpeedError: the GPU's maker publishes no rate that the speed formulas need.
        NothingServesError: requests wait, and no replica will ever serve them.
        RunTooLongError: the run exceeds what the clock can count.
    """
    table = None if load.comes_in_parts else sample_requests(load, requests, seed=seed)
    count = requests if table is None else len(table)
    nodes = 0 if table is None or table.prefixes is None else table.prefixes.nodes
    prepared = prepare(
        deployment,
        mean_tokens=load.mean_tokens,
        users=load.users,
        nodes=nodes,
        span_s=_span_s(load, count),
        seed=seed,
    )
    judge = Judge(expected=count, slo=slo or Slo(), warm_up=warm_up)
    kept: list[NDArray[np.void]] | None = [] if keep_records else None
    outcome, done = _play(
        prepared, load, table, count, seed=seed, judge=judge, kept=kept, narrow=narrow, slo=slo,
        progress=progress,
    )  # fmt: skip
    sustainable = None
    if not load.users and load.rate is not None and _grows(judge):
        most = sustainable_rate(prepared.setup, load, seed=seed)
        sustainable = most if load.rate >= _CLOSE * most else None
    return _simulation(
        deployment, load, prepared, outcome, judge,
        requests=done, seed=seed, sustainable=sustainable, kept=kept,
    )  # fmt: skip


def _span_s(load: Load, count: int) -> float:
    """Return about how long the run lasts; a closed loop's is not known beforehand."""
    return count / load.rate if load.rate else 3600.0


def _grows(judge: Judge) -> bool:
    waits = judge.waits_s()
    if len(waits) < _FEW_BATCHES:
        return False
    third = len(waits) // 3
    early, late = float(waits[:third].mean()), float(waits[-third:].mean())
    return late - early > _GROWTH * judge.span_s and late > 1.5 * early


def _play(
    prepared: Prepared,
    load: Load,
    table: RequestTable | None,
    count: int,
    *,
    seed: int,
    judge: Judge,
    kept: list[NDArray[np.void]] | None,
    narrow: float | None,
    slo: Slo | None,
    progress: Progress | None,
) -> tuple[Outcome, int]:
    """Run all requests, part by part where that is possible, and judge them as they end."""

    def take(rows: NDArray[np.void], mean_running: float) -> None:
        adjusted = with_server(rows, prepared, mean_running=mean_running)
        judge.add(Records(adjusted))
        if kept is not None:
            kept.append(adjusted)

    if table is None and is_compiled() and count > PART:
        outcome, done = None, 0
        parts = request_parts(load, count, seed=seed, part=PART)
        for run, rows in run_in_parts(prepared.setup, _in_time(parts, prepared)):
            outcome = run.outcome(rows)
            take(rows, outcome.running_area_s / max(outcome.end * 1e-12, 1e-12))
            done += PART
            if progress is not None:
                progress(min(done, count), count)
            if narrow is not None and _is_narrow(judge, slo, narrow):
                break
        assert outcome is not None, "there is a part"
        return outcome, min(done, count)
    table = sample_requests(load, count, seed=seed) if table is None else table
    outcome = run_any(prepared.setup, _delayed(table, prepared))
    take(outcome.records, outcome.running_area_s / max(outcome.end * 1e-12, 1e-12))
    if progress is not None:
        progress(count, count)
    return outcome, count


def run_any(setup: EngineSetup, requests: RequestTable) -> Outcome:
    """Return the outcome of the compiled engine, or of the plain one where there is none."""
    return run_compiled(setup, requests) if is_compiled() else run_stepwise(setup, requests)


def _in_time(parts: Iterator[RequestTable], prepared: Prepared) -> Iterator[RequestTable]:
    return (_delayed(part, prepared) for part in parts)


def _delayed(table: RequestTable, prepared: Prepared) -> RequestTable:
    """Return requests as the scheduler sees them: after the server has read them."""
    first = picoseconds(prepared.paces[0].first_s)
    arrival = np.where(table.arrival >= 0, table.arrival + first, table.arrival)
    return replace(table, arrival=arrival, think=table.think + first)


def with_server(
    rows: NDArray[np.void], prepared: Prepared, *, mean_running: float
) -> NDArray[np.void]:
    """Return records as clients see them: with the server's time before and after scheduling.

    Handling the streams of the others delays the first token by their number times a constant;
    their mean number in a replica is taken.
    """
    rows = rows.copy()
    answered = rows["finish"] >= 0
    replicas = max(len(prepared.setup.replica_pool), 1)
    handling = picoseconds(prepared.paces[0].handle_s * mean_running / replicas)
    rows["arrival"] -= picoseconds(prepared.paces[0].first_s)
    rows["first"][answered] += handling
    rows["finish"][answered] = np.maximum(rows["finish"], rows["first"])[answered]
    return rows


def _is_narrow(judge: Judge, slo: Slo | None, narrow: float) -> bool:
    if len(judge.waits_s()) < _FEW_BATCHES:
        return False
    asked = {(each.metric, each.percentile) for each in (slo or Slo()).objectives}
    widths = [
        each.seconds.relative_width
        for each in judge.judgement().percentiles
        if not asked or (each.metric, each.percentile) in asked
    ]
    return max(widths, default=0.0) <= narrow


def sustainable_rate(
    setup: EngineSetup, load: Load, *, seed: int = SEED, requests: int | None = None
) -> RequestsPerSecond:
    """Return the rate at which the deployment ends requests when its queue is never empty.

    All replicas run; of requests that all wait from the start, the middle three fifths to end
    give the rate, so that neither filling nor draining counts.
    """
    slots = sum(setup.pools[pool].max_sequences for pool in setup.replica_pool)
    count = requests or min(max(6 * slots, 2_000), 200_000)
    table = sample_requests(load, count, seed=seed)
    at_once = replace(table, arrival=np.where(table.arrival >= 0, 0, -1))
    always = replace(
        setup, scaling=None, controls=(), users=0, replica_up=(True,) * len(setup.replica_pool)
    )
    rows = run_any(always, at_once).records
    ends = np.sort(rows["finish"][rows["finish"] >= 0]) / PS_PER_SECOND
    if len(ends) < 10:
        return RequestsPerSecond(0.0)
    low, high = len(ends) // 5, len(ends) * 4 // 5
    return RequestsPerSecond(float((high - low) / max(ends[high] - ends[low], 1e-12)))


def _simulation(
    deployment: Deployment,
    load: Load,
    prepared: Prepared,
    outcome: Outcome,
    judge: Judge,
    *,
    requests: int,
    seed: int,
    sustainable: RequestsPerSecond | None,
    kept: list[NDArray[np.void]] | None,
) -> Simulation:
    span = max(outcome.end / PS_PER_SECOND, 1e-12)
    up = float(outcome.up_ps.sum()) / PS_PER_SECOND
    return Simulation(
        deployment=deployment,
        requests=requests,
        seed=seed,
        offered_rate=None if load.rate is None else RequestsPerSecond(load.rate),
        judgement=judge.judgement() if sustainable is None and judge.counted else None,
        itl_s=gap_percentiles(outcome.gaps, gap_bin_middles()),
        saturated=sustainable is not None,
        sustainable_rate=sustainable,
        rejected=outcome.rejected,
        preemptions=outcome.preemptions,
        mean_waiting=outcome.waiting_area_s / span,
        mean_running=outcome.running_area_s / span,
        utilisation=float(outcome.busy_ps.sum()) / PS_PER_SECOND / max(up, 1e-12),
        replica_hours=up / 3600,
        span_s=Seconds(span),
        series=_series(outcome, prepared),
        pace_error=prepared.pace_error,
        compiled=is_compiled(),
        records=None if kept is None else _in_order(kept),
    )


def _in_order(kept: list[NDArray[np.void]]) -> Records:
    rows = np.concatenate(kept)
    return Records(rows[np.argsort(rows["arrival"], kind="stable")])


def _series(outcome: Outcome, prepared: Prepared) -> TimeSeries:
    series = outcome.series
    used = -(-outcome.end // series.width)
    widths = np.full(used, float(series.width))
    if used:
        widths[-1] = max(outcome.end - (used - 1) * series.width, 1)
    return TimeSeries(
        time_s=(np.arange(used) + 0.5) * series.width / PS_PER_SECOND,
        waiting=series.waiting[:used] / widths,
        running=series.running[:used] / widths,
        kv_share=series.blocks[:used] / widths / prepared.kv_blocks,
        replicas=series.up[:used] / widths,
    )
