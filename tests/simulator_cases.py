"""Small deployments and requests for the tests of the simulator, with every feature in reach."""

import numpy as np

from caudal.simulate.setup import (
    Action,
    Control,
    EngineSetup,
    PoolSetup,
    RouterKind,
    ScalingSetup,
    StepTimes,
)
from caudal.traffic.requests import PrefixTree, RequestTable

MILLISECOND = 1_000_000_000


def step_times(
    *,
    sequences: int,
    budget: int,
    decode_ms: float = 10.0,
    sequence_ms: float = 0.02,
    token_ms: float = 0.05,
    context_ps: int = 30_000,
    pair_ps: float = 500.0,
) -> StepTimes:
    batch, tokens = np.arange(sequences + 1), np.arange(budget + 1)
    return StepTimes(
        decode=np.rint((decode_ms + sequence_ms * batch) * MILLISECOND).astype(np.int64),
        context=np.full(sequences + 1, context_ps, np.int64),
        prefill=np.rint((0.8 * decode_ms + token_ms * tokens) * MILLISECOND).astype(np.int64),
        mixed=np.rint(0.8 * token_ms * tokens * MILLISECOND).astype(np.int64),
        pair_q10=round(pair_ps * 1024),
        mixed_pair_q10=round(0.8 * pair_ps * 1024),
    )


def pool(
    *,
    sequences: int = 8,
    budget: int = 64,
    blocks: int = 40,
    block_tokens: int = 4,
    longest: int = 10_000,
    prefill_first: bool = False,
    reserve_q10: int = 0,
    prefix_cache: bool = False,
    times: StepTimes | None = None,
) -> PoolSetup:
    return PoolSetup(
        times=times or step_times(sequences=sequences, budget=budget),
        max_sequences=sequences,
        budget=budget,
        blocks=blocks,
        block_tokens=block_tokens,
        longest_tokens=longest,
        prefill_first=prefill_first,
        reserve_q10=reserve_q10,
        prefix_cache=prefix_cache,
    )


def setup(
    *pools: PoolSetup,
    replicas: tuple[int, ...] = (0,),
    up: tuple[bool, ...] | None = None,
    router: RouterKind = RouterKind.LEAST_LOADED,
    users: int = 0,
    transfer: int = 0,
    scaling: ScalingSetup | None = None,
    controls: tuple[Control, ...] = (),
    nodes: int = 0,
) -> EngineSetup:
    return EngineSetup(
        pools=pools or (pool(),),
        replica_pool=replicas,
        replica_up=(True,) * len(replicas) if up is None else up,
        router=router,
        affinity_slack=2,
        users=users,
        transfer=transfer,
        transfer_token=transfer // 100,
        scaling=scaling,
        controls=controls,
        series_width=MILLISECOND,
        nodes=nodes,
    )


def requests(
    count: int,
    *,
    seed: int = 7,
    gap_ms: float = 20.0,
    prompt: int = 40,
    output: int = 20,
    think_ms: float = 0.0,
) -> RequestTable:
    rng = np.random.default_rng(seed)
    gaps = rng.standard_exponential(count) * gap_ms * MILLISECOND
    return RequestTable(
        arrival=np.cumsum(np.rint(gaps)).astype(np.int64),
        prompt=rng.integers(1, prompt + 1, count, dtype=np.int32),
        output=rng.integers(1, output + 1, count, dtype=np.int32),
        think=np.full(count, round(think_ms * MILLISECOND), np.int64),
    )


def conversations(
    count: int, *, turns: int, seed: int = 7, gap_ms: float = 40.0, shared: int = 2
) -> RequestTable:
    """Return conversations of `turns` turns each that begin with one of `shared` prefixes."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum(np.rint(rng.standard_exponential(count) * gap_ms * MILLISECOND))
    rows: list[tuple[int, int, int, int, int]] = []
    node: list[int] = []
    ends: list[int] = []
    first = [0]
    for talk in range(count):
        group = int(rng.integers(shared))
        pieces = [(group, 8 + 5 * group)]
        for turn in range(turns):
            said, answer = int(rng.integers(1, 12)), int(rng.integers(1, 9))
            prompt = pieces[-1][1] + said
            pieces.append((shared + talk * turns + turn, prompt + answer))
            arrival = int(starts[talk]) if turn == 0 else -1
            following = len(rows) + 1 if turn + 1 < turns else -1
            rows.append((arrival, prompt, answer, following, group))
            node += [piece for piece, _ in pieces]
            ends += [end for _, end in pieces]
            first.append(len(node))
    columns = np.array(rows, np.int64)
    return RequestTable(
        arrival=columns[:, 0].copy(),
        prompt=columns[:, 1].astype(np.int32),
        output=columns[:, 2].astype(np.int32),
        think=np.full(len(rows), 30 * MILLISECOND, np.int64),
        following=columns[:, 3].astype(np.int32),
        root=columns[:, 4].copy(),
        prefixes=PrefixTree(
            first=np.array(first, np.int64),
            node=np.array(node, np.int32),
            node_end=np.array(ends, np.int32),
            nodes=shared + count * turns,
        ),
    )


def outages(times_ms: list[int], replica: int = 0, *, notice: bool = False) -> tuple[Control, ...]:
    """Return losses of one replica that last 50 ms each, with a drain before where noticed."""
    events = []
    for time in times_ms:
        at = time * MILLISECOND
        if notice:
            events.append(Control(at - 20 * MILLISECOND, replica, Action.DRAIN))
        events.append(Control(at, replica, Action.KILL))
        events.append(Control(at + 50 * MILLISECOND, replica, Action.START))
    return tuple(sorted(events, key=lambda event: event.time))


SCALING = ScalingSetup(
    interval=30 * MILLISECOND,
    target=3,
    least=1,
    most=3,
    start=40 * MILLISECOND,
    window=100 * MILLISECOND,
)
