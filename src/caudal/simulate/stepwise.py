"""The plain engine: every step of every replica is an event. Slow, and easy to check.

It serves where no compiled engine is at hand, and the compiled one is held to it: for the same
requests both give the same records, to the picosecond.
"""

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from caudal.simulate.clock import LONGEST_PS, NEVER
from caudal.simulate.outcome import GAP_BINS, Outcome, Series, gap_bin
from caudal.simulate.prefix_cache import BlockPool, Piece
from caudal.simulate.refusals import NothingServesError, RunTooLongError
from caudal.simulate.setup import Action, Control, EngineSetup, PoolSetup, RouterKind
from caudal.simulate.stepwise_replica import Ledger, ReplicaState, Task
from caudal.traffic.records import RECORD
from caudal.traffic.requests import RequestTable


def run_stepwise(setup: EngineSetup, requests: RequestTable) -> Outcome:
    """Return what happens to `requests`, step by step.

    Raises:
        NothingServesError: requests wait, and no replica will ever serve them.
        RunTooLongError: the run exceeds what the clock can count.
    """
    run = _Run(setup, requests)
    run.play()
    return run.outcome()


@dataclass(slots=True, eq=False)
class _Run:
    setup: EngineSetup
    requests: RequestTable
    now: int = 0
    sequence: int = 0
    active: int = 0
    finished: int = 0
    tick: int = 0
    last_high: int = 0
    cursor: int = 0
    waiting_area: int = 0
    running_area: int = 0
    arrivals: deque[int] = field(default_factory=deque)
    controls: deque[Control] = field(default_factory=deque)
    pending: list[tuple[int, int, Task]] = field(default_factory=list)
    replicas: list[ReplicaState] = field(default_factory=list)
    held: list[deque[Task]] = field(default_factory=list)
    turn: list[int] = field(default_factory=lambda: [0, 0])
    ledger: Ledger = field(default_factory=Ledger)
    done: list[Task] = field(default_factory=list)
    series: Series | None = None

    def __post_init__(self) -> None:
        self.series = Series(self.setup.series_width)
        self.controls.extend(self.setup.controls)
        self.held = [deque() for _ in self.setup.pools]
        self.tick = self.setup.scaling.interval if self.setup.scaling else NEVER
        for pool, up in zip(self.setup.replica_pool, self.setup.replica_up, strict=True):
            limits = self.setup.pools[pool]
            blocks = BlockPool(limits.blocks, limits.block_tokens)
            self.replicas.append(ReplicaState(setup=limits, pool=pool, blocks=blocks, up=up))
        if self.setup.users:
            while self.cursor < min(self.setup.users, len(self.requests)):
                self._send_later(self.cursor, int(self.requests.arrival[self.cursor]))
                self.cursor += 1
        else:
            self.arrivals.extend(np.flatnonzero(self.requests.arrival >= 0).tolist())

    # ---- the loop

    def play(self) -> None:
        while self.arrivals or self.pending or self.active:
            control = self.controls[0].time if self.controls else NEVER
            external = int(self.requests.arrival[self.arrivals[0]]) if self.arrivals else NEVER
            pending = self.pending[0][0] if self.pending else NEVER
            ends = min(replica.event for replica in self.replicas)
            time = min(control, self.tick, external, pending, ends)
            if time == NEVER:
                raise NothingServesError(self.active)
            if time > LONGEST_PS:
                raise RunTooLongError
            self._advance(time)
            if time == control:
                self._control(self.controls.popleft())
            elif time == self.tick:
                self._scale()
            elif time == external:
                self._arrive(self._task(self.arrivals.popleft()))
            elif time == pending:
                self._pending(heappop(self.pending)[2])
            else:
                self._replica_event(next(r for r in self.replicas if r.event == time))

    def _advance(self, time: int) -> None:
        passed = time - self.now
        waiting = sum(len(replica.waiting) for replica in self.replicas)
        waiting += sum(map(len, self.held))
        running = sum(len(replica.running) for replica in self.replicas)
        self.waiting_area += passed * waiting
        self.running_area += passed * running
        assert self.series is not None, "made with the run"
        used = sum(replica.blocks.used for replica in self.replicas)
        on = sum(replica.on for replica in self.replicas)
        self.series.add(self.now, time, waiting=waiting, running=running, blocks=used, up=on)
        self.now = time

    def _replica_event(self, replica: ReplicaState) -> None:
        if replica.starting:
            replica.starting, replica.up, replica.event = False, True, NEVER
            self._release_held()
            return
        if replica.stepping:
            for task in replica.end_step(self.now, self.ledger):
                replica.remove(task)
                self._finish(task)
        replica.begin_step(self.now, self.ledger)
        if not replica.stepping and replica.draining:
            self._switch_off(replica)

    # ---- requests

    def _task(self, row: int) -> Task:
        table, prefixes = self.requests, self.requests.prefixes
        pieces: tuple[Piece, ...] = ()
        if prefixes is not None:
            where = slice(int(prefixes.first[row]), int(prefixes.first[row + 1]))
            pieces = tuple(
                Piece(int(node), int(end))
                for node, end in zip(prefixes.node[where], prefixes.node_end[where], strict=True)
            )
        task = Task(
            id=row,
            row=row,
            prompt=int(table.prompt[row]),
            output=int(table.output[row]),
            root=-1 if table.root is None else int(table.root[row]),
            pieces=pieces,
        )
        return self._fresh(task)

    def _fresh(self, task: Task) -> Task:
        task.target = task.prompt
        task.prefill_only = len(self.setup.pools) > 1 and task.output > 1
        task.on_decode = task.transferred = False
        return task

    def _send_later(self, row: int, time: int) -> None:
        heappush(self.pending, (time, self.sequence, self._task(row)))
        self.sequence += 1

    def _pending(self, task: Task) -> None:
        if task.arrival < 0:
            self._arrive(task)
        else:
            self._route(task)

    def _arrive(self, task: Task) -> None:
        task.arrival = self.now
        self.active += 1
        if any(_refuses(pool, task) for pool in self.setup.pools):
            self.active -= 1
            self.done.append(task)
            self._follow(task.row)
        else:
            self._route(task)

    def _finish(self, task: Task) -> None:
        if task.prefill_only:
            task.prefill_only, task.on_decode, task.transferred = False, True, True
            later = self.setup.transfer + self.setup.transfer_token * task.prompt
            heappush(self.pending, (self.now + later, self.sequence, task))
            self.sequence += 1
            return
        task.finish = self.now
        self.done.append(task)
        self.finished += 1
        self.active -= 1
        self._follow(task.row)

    def _follow(self, row: int) -> None:
        following = self.requests.following
        if self.setup.users:
            if self.cursor < len(self.requests):
                self.cursor += 1
                think = int(self.requests.think[self.cursor - 1])
                self._send_later(self.cursor - 1, self.now + think)
        elif following is not None and following[row] >= 0:
            row = int(following[row])
            self._send_later(row, self.now + int(self.requests.think[row]))

    # ---- routing

    def _route(self, task: Task) -> None:
        pool = int(task.on_decode)
        up = [at for at, replica in enumerate(self.replicas) if replica.up and replica.pool == pool]
        if not up:
            self.held[pool].append(task)
            return
        task.replica = self._choose(task, pool, up)
        replica = self.replicas[task.replica]
        replica.waiting.append(task)
        if replica.event == NEVER:
            replica.event = self.now

    def _choose(self, task: Task, pool: int, up: list[int]) -> int:
        if self.setup.router is RouterKind.ROUND_ROBIN:
            self.turn[pool] += 1
            return up[(self.turn[pool] - 1) % len(up)]
        least = min(up, key=lambda at: self.replicas[at].load)
        if self.setup.router is RouterKind.LEAST_LOADED or task.root < 0:
            return least
        home = up[task.root % len(up)]
        excess = self.replicas[home].load - self.replicas[least].load
        return least if excess > self.setup.affinity_slack else home

    def _release_held(self) -> None:
        for pool, held in enumerate(self.held):
            while held and any(each.up and each.pool == pool for each in self.replicas):
                self._route(held.popleft())

    # ---- replicas start, drain, fail

    def _control(self, control: Control) -> None:
        replica = self.replicas[control.replica]
        match control.action:
            case Action.START:
                self._start(replica, self.now)
            case Action.DRAIN:
                self._drain(replica)
            case Action.KILL:
                self._kill(replica)

    def _start(self, replica: ReplicaState, ready: int) -> None:
        if replica.draining:
            replica.draining, replica.up = False, True
            self._release_held()
        elif not replica.on:
            replica.starting, replica.up_since, replica.event = True, self.now, ready

    def _drain(self, replica: ReplicaState) -> None:
        if replica.starting or (replica.up and replica.event == NEVER):
            self._switch_off(replica)
        elif replica.up:
            replica.up, replica.draining = False, True

    def _switch_off(self, replica: ReplicaState) -> None:
        replica.up = replica.starting = replica.draining = replica.stepping = False
        replica.event = NEVER
        replica.up_time += self.now - replica.up_since

    def _kill(self, replica: ReplicaState) -> None:
        if not replica.on:
            return
        self._switch_off(replica)
        lost = [*replica.running, *replica.waiting]
        replica.running, replica.chunks, replica.batch = [], [], []
        replica.waiting.clear()
        replica.blocks = BlockPool(replica.setup.blocks, replica.setup.block_tokens)
        replica.pause, replica.full = 0, False
        for task in lost:
            task.computed = task.emitted = task.own_blocks = task.pinned = 0
            task.decoding = False
            task.first = -1
            task.restarts += 1
            self._route(self._fresh(task))

    def _scale(self) -> None:
        scaling = self.setup.scaling
        assert scaling is not None, "only a scaler ticks"
        first = [replica for replica in self.replicas if replica.pool == 0]
        load = len(self.held[0]) + sum(replica.load for replica in first)
        on = sum(replica.up or replica.starting for replica in first)
        wanted = min(max(-(-load // scaling.target), scaling.least), scaling.most)
        if wanted >= on:
            self.last_high = self.now
        for replica in [r for r in first if r.draining] + [r for r in first if not r.on]:
            if on < wanted:
                self._start(replica, self.now + scaling.start)
                on += 1
        if wanted < on and self.now - self.last_high >= scaling.window:
            for replica in [r for r in reversed(first) if r.up or r.starting][: on - wanted]:
                self._drain(replica)
            self.last_high = self.now
        self.tick = self.now + scaling.interval

    # ---- the result

    def outcome(self) -> Outcome:
        records = np.zeros(len(self.done), RECORD)
        for at, task in enumerate(sorted(self.done, key=lambda task: task.id)):
            records[at] = (
                *(task.id, task.arrival, task.started, task.first, task.finish),
                *(task.prompt, task.output, task.cached, task.preempted),
                *(task.replica, task.restarts),
            )
        gaps = np.zeros(GAP_BINS, np.int64)
        for gap, count in self.ledger.gaps.items():
            gaps[gap_bin(gap)] += count
        assert self.series is not None, "made with the run"
        blocks = [replica.blocks for replica in self.replicas]
        return Outcome(
            records=records,
            finished=self.finished,
            rejected=len(self.done) - self.finished,
            prefill_tokens=self.ledger.prefill_tokens,
            decode_tokens=self.ledger.decode_tokens,
            preemptions=self.ledger.preemptions,
            steps=self.ledger.steps,
            end=self.now,
            used_blocks=sum(each.used for each in blocks),
            evictable_blocks=sum(each.evictable for each in blocks),
            waiting_area_s=self.waiting_area * 1e-12,
            running_area_s=self.running_area * 1e-12,
            gaps=gaps,
            series=self.series,
            up_ps=np.array(
                [r.up_time + (self.now - r.up_since if r.on else 0) for r in self.replicas]
            ),
            busy_ps=np.array([r.busy for r in self.replicas]),
        )


def _refuses(pool: PoolSetup, task: Task) -> bool:
    most = task.prompt + task.output
    return -(-(most - 1) // pool.block_tokens) > pool.blocks or most > pool.longest_tokens
