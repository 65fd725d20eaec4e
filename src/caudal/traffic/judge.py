"""What the records of a run say: percentiles with their confidence, goodput, throughput.

Requests near each other in time share their queue, so they are no independent sample. The run is
cut into `BATCHES` stretches of equally many requests; the deviation of a percentile between
them gives its confidence interval (batch means).

Source: Law, Simulation Modeling and Analysis, 5th ed., §9.5.3.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.traffic.records import Records
from caudal.traffic.slo import Metric, Slo
from caudal.vocabulary.units import RequestsPerSecond, Seconds

Floats = NDArray[np.float64]

BATCHES: Final = 20
_T_95: Final = 2.093  # Student's t, 19 degrees of freedom, 97.5 %
PERCENTILES: Final = (0.5, 0.9, 0.95, 0.99)
BASE: Final = 1.005  # of the sketch's bins: a quantile is right within 0.25 %
_LOWEST: Final = 1e-6  # seconds; anything shorter falls into the first bin
_BINS: Final = 5600  # up to 1e6 seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """A number read off a run, with the 95 % interval of its sampling."""

    value: float
    low: float
    high: float

    @property
    def relative_width(self) -> float:
        """Return half the interval over the value; 0 for a value of 0."""
        return (self.high - self.low) / 2 / self.value if self.value > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """One percentile of one metric, in seconds."""

    metric: Metric
    percentile: float
    seconds: Measured

    @property
    def label(self) -> str:
        """Return the name as tables print it, such as "TTFT p95"."""
        return f"{self.metric.upper()} p{self.percentile * 100:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a run was like for those who asked."""

    requests: int  # judged: answered, and after the warm-up
    percentiles: tuple[Percentile, ...]
    mean_ttft_s: Seconds
    mean_tpot_s: Seconds | None
    mean_e2e_s: Seconds
    mean_queue_s: Seconds
    request_rate: RequestsPerSecond  # answered
    goodput: RequestsPerSecond  # answered within every objective, each taken by request
    output_tok_s: float
    cached_share: float  # of prompt tokens, found in the prefix cache
    preempted_share: float  # of requests that were preempted
    restarted_share: float  # of requests that were lost with a replica

    def seconds_of(self, metric: Metric, percentile: float) -> Measured | None:
        """Return one percentile, None where nothing was timed."""
        for each in self.percentiles:
            if each.metric is metric and each.percentile == percentile:
                return each.seconds
        return None


class Judge:
    """Collects records part by part, in bounded memory, and says what they come to.

    Up to `exact` requests the percentiles are those of the sample; beyond, they are read from
    bins half a per cent wide.
    """

    def __init__(
        self,
        *,
        expected: int,
        slo: Slo,
        percentiles: Iterable[float] = PERCENTILES,
        warm_up: float = 0.1,
        exact: int = 200_000,
    ) -> None:
        self._first = int(expected * warm_up)
        self._expected = max(expected - self._first, 1)
        self._slo = slo
        asked = {each.percentile for each in slo.objectives}
        self._percentiles = sorted({*percentiles, *asked})
        self._kept: list[Records] | None = [] if expected <= exact else None
        self._bins = {metric: np.zeros((BATCHES, _BINS), np.int64) for metric in Metric}
        self._sums = np.zeros(10)
        self._span = [np.inf, -np.inf]
        self._waits = np.zeros((2, BATCHES))  # sums and counts of the times in the queue
        self._counted = 0
        self._preempted = 0

    def add(self, records: Records) -> None:
        """Take the records of one part, in any order."""
        rows = records.rows
        rows = rows[(rows["finish"] >= 0) & (rows["id"] >= self._first)]
        chosen = Records(rows)
        if not len(chosen):
            return
        self._count(chosen)
        if self._kept is not None:
            self._kept.append(chosen)
            return
        batch = self._batch(rows["id"])
        for metric in Metric:
            values = _timed(chosen, metric)
            known = np.isfinite(values)
            scaled = np.log(np.maximum(values[known], _LOWEST) / _LOWEST) / np.log(BASE)
            at = batch[known] * _BINS + np.minimum(scaled.astype(np.int64), _BINS - 1)
            counts = np.bincount(at, minlength=BATCHES * _BINS)
            self._bins[metric] += counts.reshape(BATCHES, _BINS)

    def judgement(self) -> Judgement:
        """Return what the records so far come to."""
        assert self._counted, "nothing to judge"
        sums, count = self._sums, self._counted
        span = max(self._span[1] - self._span[0], 1e-12)
        return Judgement(
            requests=count,
            percentiles=tuple(self._all_percentiles()),
            mean_ttft_s=Seconds(float(sums[0] / count)),
            mean_tpot_s=Seconds(float(sums[1] / sums[2])) if sums[2] else None,
            mean_e2e_s=Seconds(float(sums[3] / count)),
            mean_queue_s=Seconds(float(sums[4] / count)),
            request_rate=RequestsPerSecond(count / span),
            goodput=RequestsPerSecond(float(sums[5]) / span),
            output_tok_s=float(sums[6]) / span,
            cached_share=float(sums[7] / sums[8]),
            preempted_share=self._preempted / count,
            restarted_share=float(sums[9] / count),
        )

    @property
    def counted(self) -> int:
        """Return how many requests were judged so far."""
        return self._counted

    @property
    def span_s(self) -> Seconds:
        """Return the time between the first and the last arrival judged."""
        return Seconds(max(self._span[1] - self._span[0], 0.0))

    def waits_s(self) -> Floats:
        """Return the mean time in the queue of each batch, in order of arrival, [batches]."""
        sums, counts = self._waits
        return np.asarray(sums[counts > 0] / counts[counts > 0])

    def _count(self, chosen: Records) -> None:
        rows = chosen.rows
        tpot = chosen.tpot_s
        timed = np.isfinite(tpot)
        self._counted += len(chosen)
        self._preempted += int((rows["preempted"] > 0).sum())
        self._sums += (
            chosen.ttft_s.sum(),
            tpot[timed].sum(),
            timed.sum(),
            chosen.e2e_s.sum(),
            chosen.queue_s.sum(),
            within(chosen, self._slo).sum(),
            rows["output"].sum(dtype=np.int64),
            rows["cached"].sum(dtype=np.int64),
            rows["prompt"].sum(dtype=np.int64),
            (rows["restarts"] > 0).sum(),
        )
        batch = self._batch(rows["id"])
        self._waits[0] += np.bincount(batch, chosen.queue_s, BATCHES)
        self._waits[1] += np.bincount(batch, minlength=BATCHES)
        self._span[0] = min(self._span[0], float(rows["arrival"].min()) * 1e-12)
        self._span[1] = max(self._span[1], float(rows["arrival"].max()) * 1e-12)

    def _batch(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum((ids - self._first) * BATCHES // self._expected, BATCHES - 1)

    def _all_percentiles(self) -> Iterable[Percentile]:
        for metric in Metric:
            table = self._exact(metric) if self._kept is not None else self._binned(metric)
            if table is None:
                continue
            for at, percentile in enumerate(self._percentiles):
                whole, parts = float(table[0][at]), table[1][:, at]
                parts = parts[np.isfinite(parts)]
                half = _T_95 * float(parts.std(ddof=1)) / len(parts) ** 0.5 if len(parts) > 1 else 0
                seconds = Measured(whole, max(whole - half, 0.0), whole + half)
                yield Percentile(metric=metric, percentile=percentile, seconds=seconds)

    def _exact(self, metric: Metric) -> tuple[Floats, Floats] | None:
        assert self._kept is not None, "kept where exact"
        rows = np.concatenate([each.rows for each in self._kept])
        values = _timed(Records(rows), metric)
        known = np.isfinite(values)
        values, batch = values[known], self._batch(rows["id"])[known]
        if not len(values):
            return None
        order = np.argsort(batch, kind="stable")
        cuts = np.searchsorted(batch[order], np.arange(1, BATCHES))
        parts = np.full((BATCHES, len(self._percentiles)), np.nan)
        for at, part in enumerate(np.split(values[order], cuts)):
            if len(part):
                parts[at] = _interpolated(part, self._percentiles)
        return _interpolated(values, self._percentiles), parts

    def _binned(self, metric: Metric) -> tuple[Floats, Floats] | None:
        counts = self._bins[metric]
        if not counts.sum():
            return None
        rows = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
        table = np.array([_quantiles(row, self._percentiles) for row in rows])
        return table[0], table[1:]


def _interpolated(values: Floats, percentiles: list[float]) -> Floats:
    """Return percentiles between neighbours, as `np.quantile` does, in a tenth of its time."""
    ordered = np.sort(values)
    places = np.array(percentiles) * (len(ordered) - 1)
    return np.asarray(np.interp(places, np.arange(len(ordered)), ordered))


def _quantiles(counts: NDArray[np.int64], percentiles: list[float]) -> Floats:
    total = np.cumsum(counts)
    if not total[-1]:
        return np.full(len(percentiles), np.nan)
    at = np.searchsorted(total, np.array(percentiles) * total[-1])
    return np.asarray(_LOWEST * BASE ** (np.minimum(at, _BINS - 1) + 0.5))


def _timed(records: Records, metric: Metric) -> Floats:
    match metric:
        case Metric.TTFT:
            return records.ttft_s
        case Metric.TPOT:
            return records.tpot_s
        case Metric.E2E:
            return records.e2e_s


def within(records: Records, slo: Slo) -> NDArray[np.bool_]:
    """Return which requests keep every objective, its percentile aside, [requests]."""
    good = np.ones(len(records), np.bool_)
    for objective in slo.objectives:
        values = _timed(records, objective.metric)
        good &= ~(values > objective.at_most_s)  # one token has no TPOT to miss
    return good


def gap_percentiles(
    counts: NDArray[np.int64], middles: Floats, percentiles: Iterable[float] = PERCENTILES
) -> dict[float, Seconds]:
    """Return percentiles of single gaps between tokens (ITL) from a histogram of them."""
    total = np.cumsum(counts)
    if not total[-1]:
        return {}
    return {
        each: Seconds(float(middles[np.searchsorted(total, each * total[-1])]))
        for each in percentiles
    }
