"""One replica of the plain engine: what its scheduler puts into each step.

The rules are those of vLLM's scheduler since 0.8 (V1): running requests first, each decoding one
takes a token of the step's budget, then a prompt under way, then the queue in order of arrival;
prompts are cut where the budget ends. A request gets blocks as it grows; where none is free, the
request that came last is preempted and computed anew. With `prefill_first` prompts have steps of
their own while decoding pauses (SGLang without mixed chunks).

Source: github:vllm-project/vllm v0.8 vllm/v1/core/sched/scheduler.py, `Scheduler.schedule`;
github:sgl-project/sglang v0.4 python/sglang/srt/managers/schedule_policy.py, `PrefillAdder`.
"""

from collections import deque
from dataclasses import dataclass, field

from caudal.simulate.clock import NEVER
from caudal.simulate.prefix_cache import BlockPool, Hit, Piece
from caudal.simulate.setup import PAIR_SHIFT, PoolSetup


@dataclass(slots=True, eq=False)
class Task:
    """A request on its way."""

    id: int
    row: int
    prompt: int
    output: int
    root: int
    pieces: tuple[Piece, ...]
    arrival: int = -1
    started: int = -1
    first: int = -1
    finish: int = -1
    target: int = 0  # tokens to compute before the next one comes
    computed: int = 0
    emitted: int = 0
    chunk: int = 0
    cached: int = 0
    preempted: int = 0
    restarts: int = 0
    replica: int = -1
    own_blocks: int = 0
    pinned: int = 0
    prefill_only: bool = False  # in the prefill pool: only the first token
    on_decode: bool = False  # on its way to, or in, the decode pool
    transferred: bool = False  # its cache has come over from the prefill pool
    decoding: bool = False

    @property
    def until(self) -> int:
        """Return how many tokens are to be emitted here."""
        return 1 if self.prefill_only else self.output


@dataclass(slots=True)
class Ledger:
    """Counts over all replicas."""

    prefill_tokens: int = 0
    decode_tokens: int = 0
    preemptions: int = 0
    steps: int = 0
    gaps: dict[int, int] = field(default_factory=dict)  # between two tokens: how often


@dataclass(slots=True, eq=False)
class ReplicaState:
    """A replica between two steps, and the step under way."""

    setup: PoolSetup
    pool: int
    blocks: BlockPool
    up: bool = False
    starting: bool = False
    draining: bool = False
    event: int = NEVER  # the end of the step, or of the start
    stepping: bool = False
    start: int = 0
    pause: int = 0
    mixed: bool = False
    full: bool = False
    up_since: int = 0
    up_time: int = 0
    busy: int = 0
    running: list[Task] = field(default_factory=list)  # in order of admission
    waiting: deque[Task] = field(default_factory=deque)
    chunks: list[Task] = field(default_factory=list)
    batch: list[Task] = field(default_factory=list)  # those that decode in the step under way

    @property
    def on(self) -> bool:
        """Return whether it is paid for."""
        return self.up or self.starting or self.draining

    @property
    def load(self) -> int:
        """Return the requests waiting or running here."""
        return len(self.running) + len(self.waiting)

    # ---- the end of a step

    def end_step(self, now: int, ledger: Ledger) -> list[Task]:
        """Book the step that ends now and return the requests that end with it, in order."""
        lasted = now - self.start
        ended = []
        if self.batch:
            self._emit(lasted, ledger)
            ended = sorted((task for task in self.batch if task.emitted == task.until), key=_by_id)
        elif any(task.decoding for task in self.running):
            self.pause += lasted
        ledger.steps += 1
        self.busy += lasted
        self.full = self.full and not self.chunks
        for task in self.chunks:
            task.computed += task.chunk
            ledger.prefill_tokens += task.chunk
            if task.computed < task.target:
                continue
            task.emitted += 1
            ledger.decode_tokens += 1
            if task.first < 0:
                task.first = now
            if task.emitted == task.until:
                ended.append(task)
            else:
                task.decoding = True
        self.chunks = []
        self.batch = []
        return ended

    def _emit(self, lasted: int, ledger: Ledger) -> None:
        gap = lasted + self.pause
        self.pause = 0
        ledger.gaps[gap] = ledger.gaps.get(gap, 0) + len(self.batch)
        for task in self.batch:
            needs = self._next_block(task)
            self.blocks.take(needs)
            task.own_blocks += needs
            task.computed += 1
            task.emitted += 1
            ledger.decode_tokens += 1

    def _next_block(self, task: Task) -> int:
        return int(task.computed % self.setup.block_tokens == 0)

    def remove(self, task: Task) -> None:
        """Take a request that has ended out of the replica; what it computed stays cached."""
        self._release(task)
        self.running.remove(task)
        task.decoding = False
        self.full = False

    def _release(self, task: Task) -> None:
        self._publish(task, task.computed)
        self.blocks.used -= task.own_blocks
        task.own_blocks = 0
        for piece in reversed(self._pieces(task)[: task.pinned]):
            self.blocks.unpin(piece.node)
        task.pinned = 0

    def _publish(self, task: Task, computed: int) -> None:
        task.pinned, given = self.blocks.publish(
            self._pieces(task), computed=computed, pinned=task.pinned
        )
        task.own_blocks -= given

    def _pieces(self, task: Task) -> tuple[Piece, ...]:
        return task.pieces if self.setup.prefix_cache else ()

    # ---- the next step

    def begin_step(self, now: int, ledger: Ledger) -> None:
        """Choose what the next step computes, and when it ends; idle where there is nothing."""
        setup = self.setup
        preempted = False
        while (reserved := sum(map(self._next_block, self._decoding()))) > self.blocks.free:
            self._preempt(self.running[-1], ledger)
            preempted = True
        budget = setup.budget - (0 if setup.prefill_first else len(self._decoding()))
        partial = next((task for task in self.running if not task.decoding), None)
        if partial is not None and budget > 0:
            chunk = min(partial.target - partial.computed, budget)
            blocks = self._blocks_for(partial, chunk)
            if blocks > self.blocks.free - reserved:
                self._preempt(partial, ledger)
                preempted = True
            else:
                self._take_chunk(partial, chunk, blocks)
                budget -= chunk
        while (
            not preempted
            and not self.full
            and self.waiting
            and budget > 0
            and len(self.running) < setup.max_sequences
        ):
            admitted = self._admit(now, budget=budget, reserved=reserved)
            if admitted is None:
                break
            budget -= admitted.chunk if not admitted.decoding else not setup.prefill_first
            reserved += self._next_block(admitted) if admitted.decoding else 0
        self._start(now)

    def _start(self, now: int) -> None:
        decoding = self._decoding()
        self.start = now
        self.stepping = bool(decoding or self.chunks)
        if not self.stepping:
            self.event = NEVER
            return
        self.batch = [] if self.chunks and self.setup.prefill_first else decoding
        self.event = now + max(self._duration(), 1)

    def _duration(self) -> int:
        times = self.setup.times
        tokens = sum(task.chunk for task in self.chunks)
        half_pairs = sum(task.chunk * (2 * task.computed + task.chunk) for task in self.chunks)
        alone = int(times.prefill[tokens]) + (half_pairs * times.pair_q10 >> PAIR_SHIFT)
        if not self.batch:
            return alone
        size = len(self.batch)
        context = sum(task.computed + 1 for task in self.batch)
        decode = int(times.decode[size]) + int(times.context[size]) * context
        if not self.chunks:
            return decode
        beside = int(times.mixed[tokens]) + (half_pairs * times.mixed_pair_q10 >> PAIR_SHIFT)
        return max(decode + beside, alone)

    def _decoding(self) -> list[Task]:
        return [task for task in self.running if task.decoding]

    def _blocks_for(self, task: Task, chunk: int) -> int:
        after = self.blocks.blocks_of(task.computed + chunk)
        return after - self.blocks.blocks_of(task.computed)

    def _take_chunk(self, task: Task, chunk: int, blocks: int) -> None:
        self.blocks.take(blocks)
        task.own_blocks += blocks
        task.chunk = chunk
        self.chunks.append(task)
        self._publish(task, task.computed + chunk)

    def _admit(self, now: int, *, budget: int, reserved: int) -> Task | None:
        """Start the head of the queue, or return None where it has to wait.

        A head that was refused is looked at again when a request has ended or was preempted, or
        a prompt has got further. Alone, a request whose cached beginning stands in its own way
        does without it.
        """
        task = self.waiting[0]
        here = task.transferred
        free = self.blocks.free - reserved
        hit = Hit() if here else self.blocks.look_up(self._pieces(task), target=task.target)
        if not self._has_room(task, hit, budget=budget, free=free) and not self.running:
            hit = Hit()
        if not self._has_room(task, hit, budget=budget, free=free):
            self.full = True
            return None
        chunk, blocks = self._offer(task, hit, budget)
        self.waiting.popleft()
        self.running.append(task)
        if task.started < 0:
            task.started = now
        for piece in self._pieces(task)[: hit.nodes]:
            self.blocks.pin(piece.node)
        task.pinned = hit.nodes
        task.cached += hit.tokens
        task.computed = task.prompt if here else hit.tokens
        if here:
            self.blocks.take(blocks)
            task.own_blocks = blocks
            task.transferred = False
            task.decoding = True
        else:
            self._take_chunk(task, chunk, blocks)
        return task

    def _offer(self, task: Task, hit: Hit, budget: int) -> tuple[int, int]:
        """Return the tokens that would be computed of a request, and the blocks they need."""
        chunk = 0 if task.transferred else min(task.target - hit.tokens, budget)
        tokens = task.prompt if task.transferred else hit.tokens + chunk
        return chunk, self.blocks.blocks_of(tokens) - hit.tokens // self.setup.block_tokens

    def _has_room(self, task: Task, hit: Hit, *, budget: int, free: int) -> bool:
        """Return whether a request gets its blocks, and enough is left for outputs to come."""
        _, blocks = self._offer(task, hit, budget)
        extra = int(task.transferred and task.prompt % self.setup.block_tokens == 0)
        if blocks + extra + hit.pinned > free:
            return False
        share = self.setup.reserve_q10
        if not share or not self.running:
            return True
        left = sum(other.until - other.emitted for other in self._decoding())
        later = share * (left + task.output - task.emitted) // 1024
        whole = self.blocks.blocks_of(task.target + later)
        return whole - hit.tokens // self.setup.block_tokens + hit.pinned <= free

    def _preempt(self, task: Task, ledger: Ledger) -> None:
        self._release(task)
        self.running.remove(task)
        self.waiting.appendleft(task)
        task.decoding = False
        task.computed = 0
        task.transferred = False
        task.target = task.prompt + task.emitted
        task.preempted += 1
        ledger.preemptions += 1
        self.full = False


def _by_id(task: Task) -> int:
    return task.id
