"""Predictions for many measured rows at once, with any set of constants.

Each case becomes one entry of every array; the formulas are those of `speed`. The constants enter
as a table of offsets, so that the fit can ask how every prediction moves with each of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.calibrate.speed_cases import SpeedCase
from caudal.calibrate.speed_rows import Metric, RowKind
from caudal.facts.gpus import gpu_catalogue
from caudal.speed.efficiency import Constants, Machine, Parameter, keys_of, machine_for
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import (
    SteadyState,
    all_at_once,
    closed_loop,
    intake_seconds,
    largest_fed_batch,
    open_loop,
    static_batch_seconds,
    waiting_seconds,
)
from caudal.speed.steps import Pace
from caudal.speed.terms import WorkTerms, work_terms
from caudal.speed.work import StepWork

Floats = NDArray[np.float64]
Predictions = Mapping[Metric, Floats]  # NaN where a row has no such metric


@dataclass(frozen=True, slots=True)
class Columns:
    """The cases of one kind of load as columns; arrays [cases]."""

    cases: Sequence[SpeedCase]
    places: NDArray[np.intp]  # in the whole set
    terms: WorkTerms
    machine: Machine
    prompt: Floats
    output: Floats
    users: Floats  # per replica
    rate: Floats  # per replica
    limit: Floats
    cached: Floats
    replicas: Floats
    prefill_terms: WorkTerms | None = None
    prefill_machine: Machine | None = None
    prefill_replicas: Floats | None = None


def load_of(case: SpeedCase) -> str:
    """Return which formula stands for the load of `case`."""
    kind = case.row.kind
    if case.prefill_work is not None:
        return "pools"
    if kind in {RowKind.DECODE, RowKind.PREFILL, RowKind.STATIC, RowKind.OFFLINE}:
        return kind.value
    if case.burst:
        return "burst"
    if case.request_rate:
        return "open"
    return "closed" if case.concurrency else "offline"


def columns_by_load(cases: Sequence[SpeedCase]) -> Mapping[str, Columns]:
    """Return the cases sorted by load, as columns."""
    places: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        places.setdefault(load_of(case), []).append(place)
    return {load: _columns([cases[i] for i in found], found) for load, found in places.items()}


def _columns(cases: Sequence[SpeedCase], places: Sequence[int]) -> Columns:
    replicas = np.array([case.replicas for case in cases])
    pools = [case.prefill_work for case in cases if case.prefill_work is not None]
    return Columns(
        cases=cases,
        places=np.array(places, dtype=np.intp),
        terms=_stacked([case.work for case in cases]),
        machine=_machines([case.work for case in cases], cases),
        prompt=np.array([case.input_tokens for case in cases]),
        output=np.array([case.output_tokens for case in cases]),
        users=np.array([case.concurrency for case in cases]) / replicas,
        rate=np.array([case.request_rate for case in cases]) / replicas,
        limit=np.array([case.limit for case in cases]),
        cached=np.array([case.cached_tokens for case in cases]),
        replicas=replicas,
        prefill_terms=_stacked(pools) if pools else None,
        prefill_machine=_machines(pools, cases) if pools else None,
        prefill_replicas=np.array([case.prefill_replicas for case in cases]) if pools else None,
    )


def _stacked(works: Sequence[StepWork]) -> WorkTerms:
    """Return the columns of `works`, one entry each even where there is only one."""
    return work_terms(works if len(works) > 1 else [works[0], works[0]])


def all_gpus() -> GpuColumns:
    """Return the catalogue as columns."""
    return GpuColumns.of(gpu_catalogue().all)


def _machines(works: Sequence[StepWork], cases: Sequence[SpeedCase]) -> Machine:
    gpus = all_gpus()
    place = {name: index for index, name in enumerate(gpus.ids)}
    known: dict[tuple[str, str, bool], Machine] = {}
    found = []
    for work, case in zip(works, cases, strict=True):
        key = (work.engine, work.arithmetic.value, work.activations_quantised)
        if key not in known:
            known[key] = machine_for(work, gpus)
        found.append((known[key], place[case.gpu.id]))
    return Machine(
        np.array([machine.memory_bytes_per_s[at] for machine, at in found]),
        np.array([machine.plain_flop_per_s[at] for machine, at in found]),
        np.array([machine.quantised_flop_per_s[at] for machine, at in found]),
        np.array([machine.link_bytes_per_s[at] for machine, at in found]),
    )


def level_names(cases: Sequence[SpeedCase], levels: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the key of every case at every level."""
    gpus = all_gpus()
    place = {name: index for index, name in enumerate(gpus.ids)}
    known: dict[tuple[str, ...], dict[str, Sequence[str]]] = {}
    names: dict[str, list[str]] = {level: [] for level in levels}
    for case in cases:
        work = case.work
        key = (work.engine, work.era, work.version, work.weight_format, work.family)
        if key not in known:
            known[key] = {}
            for level in levels:
                found = keys_of(level, work, gpus)
                known[key][level] = [found.names[int(at)] for at in found.index]
        for level in levels:
            names[level].append(known[key][level][place[case.gpu.id]])
    return names


def predict(
    loads: Mapping[str, Columns], constants: Mapping[Parameter, Floats], total: int
) -> Predictions:
    """Return the predicted metrics of `total` cases; `constants` are arrays [cases]."""
    answers = {metric: np.full(total, np.nan) for metric in Metric}
    for load, columns in loads.items():
        part = {name: value[columns.places] for name, value in constants.items()}
        for metric, value in _predict(load, columns, part).items():
            answers[metric][columns.places] = value[: len(columns.places)]
    return answers


def _predict(load: str, columns: Columns, constants: Constants) -> Mapping[Metric, Floats]:
    pace = Pace(columns.terms, columns.machine, constants)
    if load == "pools":
        return _pools(pace, columns, constants)
    if load in _ALONE:
        return _ALONE[load](pace, columns)
    return _metrics(_LOADED[load](pace, columns), columns.replicas)


def _decode_alone(pace: Pace, columns: Columns) -> Mapping[Metric, Floats]:
    one, prompt = np.ones_like(columns.prompt), columns.prompt
    tpot = pace.decode(one, prompt + columns.output / 2)
    return {
        Metric.TPOT: tpot,
        Metric.OUTPUT: 1.0 / tpot,
        Metric.PREFILL: prompt / pace.prefill(prompt),
    }


def _prefill_alone(pace: Pace, columns: Columns) -> Mapping[Metric, Floats]:
    seconds = pace.prefill(columns.prompt, columns.cached)
    return {Metric.TTFT: seconds, Metric.PREFILL: columns.prompt / seconds}


def _static(pace: Pace, columns: Columns) -> Mapping[Metric, Floats]:
    users, output = columns.users, columns.output
    seconds = static_batch_seconds(pace, users, columns.prompt, output, columns.limit)
    return {Metric.OUTPUT: columns.replicas * users * output / seconds}


def _closed(pace: Pace, columns: Columns) -> SteadyState:
    return closed_loop(pace, columns.users, columns.prompt, columns.output, columns.limit)


def _open(pace: Pace, columns: Columns) -> SteadyState:
    return open_loop(pace, columns.rate, columns.prompt, columns.output, columns.limit)


def _burst(pace: Pace, columns: Columns) -> SteadyState:
    return all_at_once(pace, columns.users, columns.prompt, columns.output, columns.limit)


def _metrics(state: SteadyState, replicas: Floats) -> Mapping[Metric, Floats]:
    return {
        Metric.TPOT: state.tpot_s,
        Metric.TTFT: state.ttft_s,
        Metric.OUTPUT: state.output_tok_s * replicas,
    }


def _queued(pace: Pace, columns: Columns) -> SteadyState:
    """Return the state of a replica whose queue never runs empty: its batch is at the limit."""
    prompt, output = columns.prompt, columns.output
    batch = np.minimum(columns.limit, largest_fed_batch(pace, prompt, output))
    ranks = pace.terms.data
    prefill = pace.prefill(prompt, 0.0, ranks) / ranks
    tpot = pace.decode(batch, prompt + output / 2) + batch * prefill / output
    rate = batch / (output * tpot)
    return SteadyState(
        batch=batch,
        tpot_s=tpot,
        ttft_s=np.full_like(tpot, np.nan),
        request_rate=rate,
        output_tok_s=rate * output,
    )


_ALONE: Final[Mapping[str, Callable[[Pace, Columns], Mapping[Metric, Floats]]]] = {
    "decode_b1": _decode_alone,
    "prefill_b1": _prefill_alone,
    "static_batch": _static,
}
_LOADED: Final[Mapping[str, Callable[[Pace, Columns], SteadyState]]] = {
    "closed": _closed,
    "open": _open,
    "burst": _burst,
    "offline": _queued,
}


def _pools(pace: Pace, columns: Columns, constants: Constants) -> Mapping[Metric, Floats]:
    """Return the metrics of separate pools: nobody's decode waits for a prefill.

    The rate is a fixed point of Little's law over both pools, bounded by what prefill carries.
    """
    assert columns.prefill_terms is not None
    assert columns.prefill_machine is not None
    assert columns.prefill_replicas is not None
    before = Pace(columns.prefill_terms, columns.prefill_machine, constants)
    ranks = before.terms.data
    prefill = before.prefill(columns.prompt, 0.0, ranks) / ranks
    prompt, output, users = columns.prompt, columns.output, columns.users
    batch, ttft = 0.9 * users, prefill
    for _ in range(16):
        tpot = pace.decode(np.minimum(batch, columns.limit), prompt + output / 2)
        rate = users * columns.replicas / (ttft + output * tpot)
        each = np.minimum(rate, columns.prefill_replicas / prefill) / columns.prefill_replicas
        queue = np.maximum(users * columns.replicas / rate - ttft - output * tpot, 0.0)
        ttft = (
            intake_seconds(before, prompt, rate)
            + constants[Parameter.HANDLE] * users
            + prefill * ranks
            + constants[Parameter.CLUMP]
            * users
            * columns.replicas
            / columns.prefill_replicas
            * prefill
            + waiting_seconds(before, prefill, each)
            + queue
        )
        rate = np.minimum(
            users * columns.replicas / (ttft + output * tpot), columns.prefill_replicas / prefill
        )
        batch = 0.5 * batch + 0.5 * rate * output * tpot / columns.replicas
    return {Metric.TPOT: tpot, Metric.TTFT: ttft, Metric.OUTPUT: rate * output}
