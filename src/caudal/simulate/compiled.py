"""The compiled engine (`engine.c`) behind the same function as the plain one.

The library is built when Caudal is installed on a machine with a C compiler; `is_compiled` says
whether it is there. Its structs are mirrored here, field by field.
"""

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

import caudal.simulate
from caudal.simulate.outcome import GAP_BINS, SERIES_BINS, Outcome, Series
from caudal.simulate.refusals import NothingServesError, RunTooLongError
from caudal.simulate.setup import EngineSetup, PoolSetup
from caudal.traffic.records import RECORD
from caudal.traffic.requests import RequestTable

_DONE, _MORE_ROWS, _STUCK, _TOO_LONG, _NO_MEMORY = range(5)
_LIBRARY: Final = "_engine.bin"
_I64, _PTR, _F64 = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double


class _Pool(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("max_sequences", "budget", "blocks", "block_tokens")),
        *((name, _I64) for name in ("longest", "prefill_first", "reserve_q10", "prefix_cache")),
        *((name, _I64) for name in ("pair_q", "mixed_pair_q")),
        *((name, _PTR) for name in ("decode", "context", "prefill", "mixed")),
    ]


class _Control(ctypes.Structure):
    _fields_ = [("time", _I64), ("replica", _I64), ("action", _I64)]


class _Config(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("pools", "replicas", "router", "affinity_slack", "closed")),
        *((name, _I64) for name in ("users", "transfer_ps", "transfer_token_ps")),
        *((name, _I64) for name in ("scale_interval", "scale_target", "scale_min", "scale_max")),
        *((name, _I64) for name in ("scale_start", "scale_window", "controls", "series_width")),
        ("nodes", _I64),
        *((name, _PTR) for name in ("pool", "replica_pool", "replica_up", "control")),
    ]


class _Rows(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("count", "base", "last")),
        *((name, _PTR) for name in ("arrival", "think", "root", "prompt", "output", "following")),
        *((name, _PTR) for name in ("node_first", "node", "node_end")),
    ]


class _Totals(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("finished", "rejected", "prefill_tokens", "decode_tokens")),
        *((name, _I64) for name in ("preemptions", "end", "steps", "waiting", "running")),
        *((name, _I64) for name in ("used_blocks", "evictable_blocks", "events")),
        *((name, _F64) for name in ("waiting_area", "running_area")),
        ("gaps", _I64 * GAP_BINS),
        *((f"series_{name}", _F64 * SERIES_BINS) for name in ("waiting", "running", "blocks")),
        ("series_up", _F64 * SERIES_BINS),
        ("series_width", _I64),
    ]


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """Return the library, None where none was built."""
    try:
        library = ctypes.CDLL(f"{caudal.simulate.__path__[0]}/{_LIBRARY}")
    except OSError:
        return None
    library.caudal_new.restype = _PTR
    library.caudal_new.argtypes = [_PTR, _PTR]
    library.caudal_run.argtypes = [_PTR, _PTR, _PTR, _I64, _PTR]
    library.caudal_cursor.restype = _I64
    library.caudal_cursor.argtypes = [_PTR]
    library.caudal_replica_times.argtypes = [_PTR, _PTR, _PTR]
    library.caudal_free.argtypes = [_PTR]
    return library


def is_compiled() -> bool:
    """Return whether the compiled engine is there."""
    return _library() is not None


def built_from() -> str:
    """Return the digest of the sources that the library was built from, "" where there is none."""
    library = _library()
    if library is None:
        return ""
    library.caudal_sources.restype = ctypes.c_char_p
    told: bytes = library.caudal_sources()
    return told.decode()


def run_compiled(setup: EngineSetup, requests: RequestTable) -> Outcome:
    """Return what happens to `requests`, from event to event.

    Raises:
        NothingServesError: requests wait, and no replica will ever serve them.
        RunTooLongError: the run exceeds what the clock can count.
    """
    with CompiledRun(setup) as run:
        records = run.feed(requests, last=True, by_id=True)
        return run.outcome(records)


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """What the library points to, kept alive."""

    config: _Config
    totals: _Totals
    arrays: tuple[object, ...]


class CompiledRun:
    """A run that takes its requests in parts, so that memory holds one part and what is under way.

    Use it in a `with` block; feed parts in order, the last with `last=True`.
    """

    def __init__(self, setup: EngineSetup) -> None:
        library = _library()
        assert library is not None, "ask is_compiled() first"
        self._library = library
        self._setup = setup
        self._kept = _config(setup)
        self._fed = 0
        self._left: RequestTable | None = None
        self._engine = library.caudal_new(
            ctypes.byref(self._kept.config), ctypes.byref(self._kept.totals)
        )
        if not self._engine:
            raise MemoryError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.caudal_free(self._engine)
        self._engine = None

    def feed(self, requests: RequestTable, *, last: bool, by_id: bool = False) -> NDArray[np.void]:
        """Run over these requests and return the records of those that ended, as they ended.

        With `by_id` (all requests in one part) they come in the order of the requests.
        """
        table = requests if self._left is None else self._left.then(requests)
        base = self._fed - (0 if self._left is None else len(self._left))
        self._fed += len(requests)
        rows, kept = _rows(table, base=base, last=last, nodes=self._setup.nodes)
        room = len(table) if by_id else len(table) + self._under_way()
        records = np.zeros(room, RECORD)
        count = _I64()
        state = self._library.caudal_run(
            self._engine, ctypes.byref(rows), records.ctypes.data, int(by_id), ctypes.byref(count)
        )
        del kept
        if state == _STUCK:
            raise NothingServesError(self._under_way())
        if state == _TOO_LONG:
            raise RunTooLongError
        if state == _NO_MEMORY:
            raise MemoryError
        cursor = self._library.caudal_cursor(self._engine)
        self._left = table.part(cursor, len(table)) if cursor < len(table) else None
        return records[: count.value]

    def _under_way(self) -> int:
        totals = self._kept.totals
        return self._fed - int(totals.finished) - int(totals.rejected)

    def outcome(self, records: NDArray[np.void]) -> Outcome:
        """Return the counts so far together with `records`."""
        totals = self._kept.totals
        up = np.zeros(len(self._setup.replica_pool), np.int64)
        busy = np.zeros_like(up)
        self._library.caudal_replica_times(self._engine, up.ctypes.data, busy.ctypes.data)
        series = Series(
            totals.series_width,
            *(np.array(values) for values in (totals.series_waiting, totals.series_running)),
            *(np.array(values) for values in (totals.series_blocks, totals.series_up)),
        )
        return Outcome(
            records=records,
            finished=totals.finished,
            rejected=totals.rejected,
            prefill_tokens=totals.prefill_tokens,
            decode_tokens=totals.decode_tokens,
            preemptions=totals.preemptions,
            steps=totals.steps,
            end=totals.end,
            used_blocks=totals.used_blocks,
            evictable_blocks=totals.evictable_blocks,
            waiting_area_s=totals.waiting_area,
            running_area_s=totals.running_area,
            gaps=np.array(totals.gaps, np.int64),
            series=series,
            up_ps=up,
            busy_ps=busy,
        )


def run_in_parts(
    setup: EngineSetup, parts: Iterable[RequestTable]
) -> Iterator[tuple[CompiledRun, NDArray[np.void]]]:
    """Yield the run and the records of each part; the run's outcome is complete at the end."""
    with CompiledRun(setup) as run:
        waiting: RequestTable | None = None
        for part in parts:
            if waiting is not None:
                yield run, run.feed(waiting, last=False)
            waiting = part
        if waiting is not None:
            yield run, run.feed(waiting, last=True)


def _address(array: NDArray[np.generic] | None) -> int | None:
    return None if array is None else array.ctypes.data


def _rows(
    table: RequestTable, *, base: int, last: bool, nodes: int
) -> tuple[_Rows, tuple[object, ...]]:
    prefixes = table.prefixes if nodes else None
    arrays = (
        np.ascontiguousarray(table.arrival, np.int64),
        np.ascontiguousarray(table.think, np.int64),
        None if table.root is None else np.ascontiguousarray(table.root, np.int64),
        np.ascontiguousarray(table.prompt, np.int32),
        np.ascontiguousarray(table.output, np.int32),
        None if table.following is None else np.ascontiguousarray(table.following, np.int32),
        None if prefixes is None else np.ascontiguousarray(prefixes.first, np.int64),
        None if prefixes is None else np.ascontiguousarray(prefixes.node, np.int32),
        None if prefixes is None else np.ascontiguousarray(prefixes.node_end, np.int32),
    )
    rows = _Rows(len(table), base, int(last), *(_address(array) for array in arrays))
    return rows, arrays


def _config(setup: EngineSetup) -> _Kept:
    pools, arrays = [], []
    for pool in setup.pools:
        made, kept = _pool(pool)
        pools.append(made)
        arrays.append(kept)
    pool_array = (_Pool * len(pools))(*pools)
    controls = (_Control * max(len(setup.controls), 1))(
        *(_Control(each.time, each.replica, int(each.action)) for each in setup.controls)
    )
    replica_pool = np.array(setup.replica_pool, np.int64)
    replica_up = np.array(setup.replica_up, np.int64)
    scaling = setup.scaling
    config = _Config(
        pools=len(pools),
        replicas=len(replica_pool),
        router=int(setup.router),
        affinity_slack=setup.affinity_slack,
        closed=int(setup.users > 0),
        users=setup.users,
        transfer_ps=setup.transfer,
        transfer_token_ps=setup.transfer_token,
        scale_interval=scaling.interval if scaling else 0,
        scale_target=scaling.target if scaling else 1,
        scale_min=scaling.least if scaling else 0,
        scale_max=scaling.most if scaling else 0,
        scale_start=scaling.start if scaling else 0,
        scale_window=scaling.window if scaling else 0,
        controls=len(setup.controls),
        series_width=setup.series_width,
        nodes=setup.nodes,
        pool=ctypes.addressof(pool_array),
        replica_pool=replica_pool.ctypes.data,
        replica_up=replica_up.ctypes.data,
        control=ctypes.addressof(controls),
    )
    kept_arrays = (pool_array, controls, replica_pool, replica_up, arrays)
    return _Kept(config, _Totals(), kept_arrays)


def _pool(pool: PoolSetup) -> tuple[_Pool, tuple[object, ...]]:
    times = pool.times
    arrays = tuple(
        np.ascontiguousarray(values, np.int64)
        for values in (times.decode, times.context, times.prefill, times.mixed)
    )
    made = _Pool(
        pool.max_sequences,
        pool.budget,
        pool.blocks,
        pool.block_tokens,
        pool.longest_tokens,
        int(pool.prefill_first),
        pool.reserve_q10,
        int(pool.prefix_cache),
        times.pair_q10,
        times.mixed_pair_q10,
        *(array.ctypes.data for array in arrays),
    )
    return made, arrays
