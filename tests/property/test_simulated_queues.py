"""The simulator against queueing theory, and against what holds of every queue."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from caudal.simulate.outcome import Outcome
from caudal.simulate.run import run_any
from caudal.simulate.setup import EngineSetup, RouterKind, StepTimes
from caudal.traffic.judge import BATCHES
from caudal.traffic.records import Records
from caudal.traffic.requests import RequestTable
from simulator_cases import MILLISECOND, conversations, outages, pool, requests, setup

Floats = NDArray[np.float64]
COUNT = 60_000
SERVICE_TOKENS = 200
T_99 = 2.861  # Student's t, 19 degrees of freedom, 99.5 %


def single_server() -> EngineSetup:
    """Return one server whose service takes a millisecond for each token of the prompt."""
    tokens = np.arange(8193)
    times = StepTimes(
        decode=np.full(2, MILLISECOND, np.int64),
        context=np.zeros(2, np.int64),
        prefill=np.maximum(tokens * MILLISECOND, 1),
        mixed=np.zeros(8193, np.int64),
        pair_q10=0,
        mixed_pair_q10=0,
    )
    return setup(pool(sequences=1, budget=8192, blocks=10_000, block_tokens=16, times=times))


def poisson(prompts: NDArray[np.int32], *, load: float, seed: int = 5) -> RequestTable:
    gaps = np.random.default_rng(seed).standard_exponential(len(prompts))
    mean_gap_ms = float(prompts.mean()) / load
    return RequestTable(
        arrival=np.cumsum(gaps * mean_gap_ms * MILLISECOND).astype(np.int64),
        prompt=prompts,
        output=np.ones(len(prompts), np.int32),
        think=np.zeros(len(prompts), np.int64),
    )


def wait_and_interval(outcome: Outcome) -> tuple[float, float]:
    waits = Records(outcome.records).queue_s[len(outcome.records) // 10 :]
    means = np.array([part.mean() for part in np.array_split(waits, BATCHES)])
    return float(means.mean()), T_99 * float(means.std(ddof=1)) / BATCHES**0.5


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("kind", ["M/M/1", "M/D/1", "M/G/1"])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(kind: str, load: float) -> None:
    rng = np.random.default_rng(3)
    prompts: NDArray[np.int32] = {
        "M/M/1": rng.geometric(1 / SERVICE_TOKENS, COUNT),
        "M/D/1": np.full(COUNT, SERVICE_TOKENS),
        "M/G/1": np.where(rng.random(COUNT) < 0.1, 1200, 90),
    }[kind].astype(np.int32)
    variation = {
        "M/M/1": 1 - 1 / SERVICE_TOKENS,
        "M/D/1": 0.0,
        "M/G/1": (0.1 * 1200**2 + 0.9 * 90**2) / 201**2 - 1,
    }[kind]
    service_s = {"M/G/1": 0.201}.get(kind, 0.2)
    expected = load * service_s * (1 + variation) / (2 * (1 - load))

    outcome = run_any(single_server(), poisson(prompts, load=load))
    wait, interval = wait_and_interval(outcome)

    assert expected == pytest.approx(wait, abs=interval)


def test_waits_in_a_queue_with_one_service_time_are_lindleys() -> None:
    prompts = np.random.default_rng(1).integers(1, 400, 5_000).astype(np.int32)
    table = poisson(prompts, load=0.8)
    waits = [0]
    for at in range(1, len(prompts)):
        left = waits[-1] + int(prompts[at - 1]) * MILLISECOND
        waits.append(max(left - int(table.arrival[at] - table.arrival[at - 1]), 0))

    outcome = run_any(single_server(), table)

    started = outcome.records["started"] - outcome.records["arrival"]
    np.testing.assert_array_equal(waits, started)


SEEDS = st.integers(0, 2**31)
CASES = st.sampled_from(["plain", "tight", "conversations", "outages", "users", "prompts first"])


def case(name: str, seed: int) -> tuple[EngineSetup, RequestTable]:
    if name == "conversations":
        table = conversations(40, turns=3, seed=seed)
        assert table.prefixes is not None
        limits = pool(blocks=60, prefix_cache=True)
        return setup(limits, replicas=(0, 0), nodes=table.prefixes.nodes), table
    table = requests(200, seed=seed)
    made = {
        "plain": setup(pool(blocks=200)),
        "tight": setup(pool(blocks=18)),
        "outages": setup(replicas=(0, 0), controls=outages([100, 900, 2000], notice=True)),
        "users": setup(users=5),
        "prompts first": setup(pool(prefill_first=True)),
    }
    return made[name], table


@settings(max_examples=60, deadline=None)
@given(name=CASES, seed=SEEDS)
def test_requests_tokens_and_blocks_are_conserved(name: str, seed: int) -> None:
    made, table = case(name, seed)

    outcome = run_any(made, table)

    records = outcome.records
    assert len(table) == outcome.finished + outcome.rejected
    np.testing.assert_array_equal(np.arange(len(table)), records["id"])
    np.testing.assert_array_equal(table.output, records["output"])
    restarted = bool(records["restarts"].sum())
    wanted = int(records["output"][records["finish"] >= 0].sum())
    assert wanted <= outcome.decode_tokens
    assert restarted or wanted == outcome.decode_tokens
    computed = outcome.prefill_tokens + int(records["cached"].sum())
    prompts = int(records["prompt"][records["finish"] >= 0].sum())
    assert restarted or outcome.preemptions or prompts == computed
    assert outcome.used_blocks == 0


@settings(max_examples=60, deadline=None)
@given(name=CASES, seed=SEEDS)
def test_what_is_in_the_system_follows_littles_law(name: str, seed: int) -> None:
    made, table = case(name, seed)

    outcome = run_any(made, table)

    records = outcome.records[outcome.records["finish"] >= 0]
    stays = float((records["finish"] - records["arrival"]).sum()) * 1e-12
    assert stays == pytest.approx(outcome.waiting_area_s + outcome.running_area_s, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(name=CASES, seed=SEEDS)
def test_times_of_a_request_are_in_order(name: str, seed: int) -> None:
    made, table = case(name, seed)

    records = run_any(made, table).records

    records = records[records["finish"] >= 0]
    assert (records["arrival"] <= records["started"]).all()
    assert (records["started"] < records["first"]).all()
    assert (records["first"] <= records["finish"]).all()


@settings(max_examples=30, deadline=None)
@given(name=CASES, seed=SEEDS)
def test_the_same_seed_gives_the_same_bytes(name: str, seed: int) -> None:
    first = run_any(*case(name, seed))
    second = run_any(*case(name, seed))

    assert first.records.tobytes() == second.records.tobytes()
    assert first.series.running.tobytes() == second.series.running.tobytes()


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, blocks=st.sampled_from([18, 200]), prefill_first=st.booleans())
def test_a_replica_never_idles_while_a_request_is_there(
    seed: int, blocks: int, *, prefill_first: bool
) -> None:
    limits = pool(blocks=blocks, prefill_first=prefill_first)

    outcome = run_any(setup(limits), requests(200, seed=seed, gap_ms=60.0))

    occupied, until = 0, -1
    for row in outcome.records[np.argsort(outcome.records["arrival"])]:
        if row["finish"] >= 0:
            occupied += max(int(row["finish"]) - max(int(row["arrival"]), until), 0)
            until = max(until, int(row["finish"]))
    assert occupied == int(outcome.busy_ps[0])


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_latency_rises_with_the_rate(seed: int) -> None:
    calm = requests(400, seed=seed, gap_ms=60.0)
    made = setup(pool(sequences=8, blocks=400))
    means = []
    for speed in (1, 2, 4, 8):
        table = replace(calm, arrival=calm.arrival // speed)
        means.append(float(Records(run_any(made, table).records).ttft_s.mean()))

    assert sorted(means) == means


def test_more_replicas_make_no_request_wait_longer_on_average() -> None:
    table = requests(400, gap_ms=10.0)
    means = [
        float(Records(run_any(setup(replicas=(0,) * count), table).records).ttft_s.mean())
        for count in (1, 2, 3, 4)
    ]

    assert sorted(means, reverse=True) == means


def test_affinity_finds_more_in_the_cache_than_turns_do() -> None:
    table = conversations(60, turns=4, gap_ms=30.0)
    assert table.prefixes is not None
    nodes = table.prefixes.nodes
    limits = pool(blocks=400, prefix_cache=True)
    cached = {
        router: int(
            run_any(
                setup(limits, replicas=(0, 0, 0), router=router, nodes=nodes), table
            ).records["cached"].sum()
        )
        for router in RouterKind
    }  # fmt: skip

    assert cached[RouterKind.AFFINITY] > cached[RouterKind.ROUND_ROBIN]
