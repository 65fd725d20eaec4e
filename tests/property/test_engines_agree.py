"""The compiled engine and the plain one: the same records for the same requests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.simulate.compiled import CompiledRun, is_compiled, run_compiled
from caudal.simulate.outcome import Outcome
from caudal.simulate.refusals import NothingServesError
from caudal.simulate.setup import EngineSetup, RouterKind
from caudal.simulate.stepwise import run_stepwise
from caudal.traffic.requests import RequestTable
from simulator_cases import (
    MILLISECOND,
    SCALING,
    conversations,
    outages,
    pool,
    requests,
    setup,
    step_times,
)
from simulator_mixtures import mixture

pytestmark = pytest.mark.skipif(not is_compiled(), reason="no C compiler built the engine")

SEEDS = st.integers(0, 2**31)
ROUTERS = st.sampled_from(RouterKind)
COUNTS = (
    *("finished", "rejected", "prefill_tokens", "decode_tokens", "preemptions", "steps", "end"),
    *("used_blocks", "evictable_blocks", "waiting_area_s", "running_area_s"),
)


def assert_alike(case: EngineSetup, table: RequestTable) -> Outcome:
    plain = run_stepwise(case, table)
    compiled = run_compiled(case, table)
    for name in COUNTS:
        assert getattr(plain, name) == pytest.approx(getattr(compiled, name), rel=1e-12), name
    np.testing.assert_array_equal(plain.records, compiled.records)
    np.testing.assert_array_equal(plain.gaps, compiled.gaps)
    np.testing.assert_array_equal(plain.up_ps, compiled.up_ps)
    np.testing.assert_array_equal(plain.busy_ps, compiled.busy_ps)
    return compiled


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    sequences=st.integers(1, 9),
    budget=st.integers(9, 70),
    blocks=st.integers(16, 60),
    replicas=st.integers(1, 3),
    gap=st.sampled_from([2.0, 20.0, 100.0]),
    router=ROUTERS,
    token_ms=st.sampled_from([0.05, 0.5, 20.0]),
)
def test_on_a_stream_of_requests(
    seed: int,
    sequences: int,
    budget: int,
    blocks: int,
    replicas: int,
    gap: float,
    router: RouterKind,
    token_ms: float,
) -> None:
    times = step_times(sequences=sequences, budget=budget, token_ms=token_ms)
    limits = pool(sequences=sequences, budget=budget, blocks=blocks, times=times)
    case = setup(limits, replicas=(0,) * replicas, router=router)

    assert_alike(case, requests(60, seed=seed, gap_ms=gap))


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    blocks=st.integers(16, 60),
    reserve=st.sampled_from([0, 100, 700]),
    gap=st.sampled_from([2.0, 20.0]),
)
def test_where_prompts_go_first(seed: int, blocks: int, reserve: int, gap: float) -> None:
    limits = pool(blocks=blocks, prefill_first=True, reserve_q10=reserve)

    assert_alike(setup(limits), requests(60, seed=seed, gap_ms=gap))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, users=st.integers(1, 20), think=st.sampled_from([0.0, 15.0]))
def test_on_a_closed_loop(seed: int, users: int, think: float) -> None:
    case = setup(users=users, replicas=(0, 0))

    assert_alike(case, requests(60, seed=seed, think_ms=think, gap_ms=1.0))


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    blocks=st.integers(18, 80),
    turns=st.integers(1, 4),
    router=ROUTERS,
    gap=st.sampled_from([5.0, 40.0]),
    prefill_first=st.booleans(),
)
def test_on_conversations_with_a_prefix_cache(
    seed: int, blocks: int, turns: int, router: RouterKind, gap: float, *, prefill_first: bool
) -> None:
    table = conversations(20, turns=turns, seed=seed, gap_ms=gap)
    assert table.prefixes is not None
    limits = pool(blocks=blocks, prefix_cache=True, prefill_first=prefill_first)
    case = setup(limits, replicas=(0, 0), router=router, nodes=table.prefixes.nodes)

    assert_alike(case, table)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, transfer_ms=st.integers(0, 30), blocks=st.integers(16, 40), cached=st.booleans())
def test_on_pools_for_prefill_and_decode(
    seed: int, transfer_ms: int, blocks: int, *, cached: bool
) -> None:
    table = conversations(20, turns=2, seed=seed) if cached else requests(50, seed=seed)
    nodes = 0 if table.prefixes is None else table.prefixes.nodes
    first = pool(sequences=4, prefix_cache=cached)
    second = pool(blocks=blocks, times=step_times(sequences=8, budget=64, decode_ms=5.0))
    case = setup(first, second, replicas=(0, 1, 1), transfer=transfer_ms * MILLISECOND, nodes=nodes)

    assert_alike(case, table)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    times=st.lists(st.integers(30, 1500), max_size=4),
    notice=st.booleans(),
    replicas=st.integers(1, 3),
    cached=st.booleans(),
)
def test_when_replicas_are_lost(
    seed: int, times: list[int], *, notice: bool, replicas: int, cached: bool
) -> None:
    table = conversations(20, turns=2, seed=seed) if cached else requests(60, seed=seed)
    nodes = 0 if table.prefixes is None else table.prefixes.nodes
    case = setup(
        pool(prefix_cache=cached),
        replicas=(0,) * replicas,
        controls=outages(times, notice=notice),
        nodes=nodes,
    )

    assert_alike(case, table)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS, gap=st.sampled_from([3.0, 30.0]), times=st.lists(st.integers(30, 900), max_size=2)
)
def test_when_replicas_are_scaled(seed: int, gap: float, times: list[int]) -> None:
    case = setup(
        replicas=(0, 0, 0), up=(True, False, False), scaling=SCALING, controls=outages(times)
    )

    assert_alike(case, requests(60, seed=seed, gap_ms=gap))


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_with_every_feature_at_once(seed: int) -> None:
    made, table = mixture(seed)
    try:
        run_stepwise(made, table)
    except NothingServesError:
        with pytest.raises(NothingServesError):
            run_compiled(made, table)
        return

    assert_alike(made, table)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, part=st.integers(21, 50), users=st.sampled_from([0, 7]))
def test_in_parts_as_in_one_piece(seed: int, part: int, users: int) -> None:
    table = requests(100, seed=seed)
    case = setup(users=users, replicas=(0, 0))
    whole = run_compiled(case, table)

    with CompiledRun(case) as run:
        pieces = [
            run.feed(table.part(at, min(at + part, 100)), last=at + part >= 100)
            for at in range(0, 100, part)
        ]
        records = np.concatenate(pieces)
        ended = run.outcome(records)

    np.testing.assert_array_equal(whole.records, records[np.argsort(records["id"])])
    np.testing.assert_array_equal(whole.gaps, ended.gaps)
