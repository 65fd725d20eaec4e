import tomllib

import pytest

from caudal.facts.models import resolve_model
from caudal.simulate.refusals import InvalidScenarioError
from caudal.simulate.scenario import Scenario, read_scenario, router_name
from caudal.simulate.setup import RouterKind
from caudal.traffic.arrivals import BurstyArrivals, DailyArrivals, PoissonArrivals, UserArrivals
from caudal.traffic.conversations import Conversation
from caudal.traffic.lengths import (
    EmpiricalLength,
    ExponentialLength,
    FixedLength,
    LognormalLength,
    UniformLength,
)
from caudal.traffic.slo import Metric, Objective
from caudal.traffic.trace import Trace, read_trace
from caudal.vocabulary.errors import UnknownGpuError
from caudal.vocabulary.units import Seconds

BASE = """
[model]
name = "llama-3.1-8b"
[replica]
gpu = "h100-sxm"
"""
LOAD = """
[load]
rate = "5/s"
input = 1000
output = 200
"""
TRACE = read_trace(["arrival,input,output", "0,10,5", "1,20,7"], name="trace")


def trace(name: str) -> Trace:
    assert name == "mine.csv"
    return TRACE


def read(text: str) -> Scenario:
    return read_scenario(
        tomllib.loads(text), name="chat.toml", resolve=resolve_model, read_trace=trace
    )


def test_the_least_that_a_scenario_says_is_enough() -> None:
    scenario = read(BASE + LOAD)

    assert scenario.name == "chat.toml"
    assert scenario.requests == 20_000
    assert scenario.seed == 7
    assert scenario.load.arrivals == PoissonArrivals(5.0)
    assert scenario.load.prompt == FixedLength(1000)
    assert scenario.deployment.replicas == 1
    assert scenario.deployment.gpus == 1
    assert scenario.slo.objectives == ()


def test_everything_can_be_said() -> None:
    scenario = read(
        """
        name = "all"
        [model]
        name = "llama-3.1-8b"
        precision = "fp8"
        kv_precision = "fp8"
        [replica]
        gpu = "h100-sxm"
        tp = 2
        engine = "vllm"
        context = "16k"
        max_sequences = 64
        max_batched_tokens = 4096
        memory_fraction = 0.8
        eager = true
        prefix_cache = false
        [deployment]
        router = "prefix-affinity"
        affinity_slack = 8
        [deployment.autoscaling]
        least = 1
        most = 3
        target = 20
        start = "90s"
        interval = "10s"
        window = "2min"
        [deployment.decode]
        gpu = "h100-sxm"
        replicas = 2
        link = "50GB/s"
        latency = "1ms"
        [[deployment.outage]]
        replica = 1
        at = "10min"
        notice = "2min"
        [deployment.interruptions]
        every = "12h"
        lasts = "5min"
        [load]
        rate = "5/s"
        pattern = "bursty"
        variation = 3
        input = { mean = 1000, variation = 0.5, most = "8k" }
        output = { mean = 200, kind = "exponential" }
        turns = 3
        pause = "10s"
        prefix = 500
        prefixes = 4
        [slo]
        ttft_p95 = "1s"
        tpot_p50 = "50ms"
        [run]
        requests = 1000
        seed = 3
        warm_up = 0.2
        narrow = 0.05
        """
    )

    deployment = scenario.deployment
    assert deployment.serving.layout.tensor == 2
    assert deployment.serving.max_sequences == 64
    assert deployment.autoscaling is not None
    assert deployment.autoscaling.window_s == Seconds(120.0)
    assert deployment.decode is not None
    assert deployment.gpus == 3 * 2 + 2
    assert deployment.outages[0].at_s == Seconds(600.0)
    assert deployment.outages[0].lasts_s is None
    assert deployment.interruptions is not None
    assert deployment.interruptions.mean_between_s == Seconds(12 * 3600.0)
    assert deployment.prefix_cache is False
    assert scenario.load.arrivals == BurstyArrivals(5.0, 3.0)
    assert scenario.load.prompt == LognormalLength(1000.0, 0.5, 8192)
    assert scenario.load.output == ExponentialLength(200.0, 4000)
    assert scenario.load.conversation == Conversation(
        turns=3, think_s=10.0, prefix_tokens=500, prefixes=4
    )
    assert scenario.slo.objectives == (
        Objective(Metric.TTFT, 0.95, Seconds(1.0)),
        Objective(Metric.TPOT, 0.5, Seconds(0.05)),
    )
    assert (scenario.requests, scenario.seed, scenario.warm_up, scenario.narrow) == (
        *(1000, 3),
        *(0.2, 0.05),
    )


def test_other_loads_are_read() -> None:
    users = read(
        BASE + '[load]\nusers = 9\nthink = "2s"\ninput = [10, 20]\noutput = { low = 1, high = 5 }'
    )
    day = read(
        BASE + f'[load]\nrate = "5/s"\npattern = "daily"\nhours = {[1] * 24}\ninput = 1\noutput = 1'
    )
    played = read(BASE + '[load]\ntrace = "mine.csv"\nspeed = 2')

    assert users.load.arrivals == UserArrivals(9, 2.0)
    assert users.load.prompt == EmpiricalLength((10, 20))
    assert users.load.output == UniformLength(1, 5)
    assert day.load.arrivals == DailyArrivals(5.0, (1.0,) * 24)
    assert played.load.trace is TRACE
    assert played.load.trace_speed == 2.0


def test_routers_are_named_as_they_are_written() -> None:
    assert [router_name(kind) for kind in RouterKind] == [
        "round-robin",
        "least-loaded",
        "prefix-affinity",
    ]


WRONG = [
    ("[model]\n", "model.name is missing"),
    (BASE + "[load]\n", "load.rate is missing"),
    (BASE + LOAD + "users = 3\n", "load.rate stands beside users"),
    (BASE + LOAD + "turns = 0\n", "load.turns is '0'"),
    (
        BASE + "[load]\nusers = 2\ninput = 1\noutput = 1\nturns = 2",
        "load.turns stands beside users",
    ),
    (BASE + LOAD + "turn = 2\n", "load.turn is no field"),
    (BASE + LOAD + 'pattern = "odd"\n', "load.pattern is 'odd'"),
    (BASE + LOAD + 'pattern = "daily"\nhours = [1]\n', "load.hours is no list of 24 rates"),
    (BASE + LOAD + f'pattern = "daily"\nhours = {[0] * 24}\n', "load.hours has no request"),
    (BASE + '[load]\nrate = "5 apples"\ninput = 1\noutput = 1', "load.rate cannot be read"),
    (
        BASE + '[load]\nrate = "5/s"\ninput = []\noutput = 1',
        "load.input is no list of token counts",
    ),
    (BASE + '[load]\nrate = "5/s"\ninput = true\noutput = 1', "load.input is 'True'"),
    (
        BASE + '[load]\nrate = "5/s"\ninput = {mean = 5, kind = "flat"}\noutput = 1',
        "load.input.kind",
    ),
    (BASE + '[load]\ntrace = "mine.csv"\ninput = 5', "load.input stands beside a trace"),
    (BASE + LOAD + '[deployment]\nrouter = "best"', "deployment.router is 'best'"),
    (BASE + LOAD + "[deployment]\nreplicas = 1.5", "deployment.replicas is '1.5'"),
    (BASE + LOAD + "[deployment]\noutage = 3", "deployment.outage is no list of tables"),
    (BASE + LOAD + '[[deployment.outage]]\nat = "1s"\nreplica = 1', "outage[0].replica is '1'"),
    (BASE + LOAD + "[run]\nwarm_up = 2", "run.warm_up is '2'"),
    (BASE + LOAD + "[run]\nwarm_up = true", "run.warm_up is 'True'"),
    (BASE + LOAD + '[slo]\nttft_p42 = "1s"', "slo.ttft_p42 is no field"),
    (BASE + LOAD + "[replica.more]", "replica.more is no field"),
    (BASE.replace('gpu = "h100-sxm"', 'gpu = "h100"') + LOAD, "replica.gpu"),
    (BASE + "eager = 1\n" + LOAD, "replica.eager is '1', not true or false"),
    (BASE + "tp = 7\n" + LOAD, "replica.tp cannot be"),
    ("model = 3\n", "model is no table"),
    ("name = 3\n" + BASE + LOAD, "name is '3', not a text"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_cannot_be_meant_names_file_and_field(text: str, said: str) -> None:
    with pytest.raises(InvalidScenarioError) as refused:
        read(text)

    assert refused.value.problem.startswith("chat.toml: ")
    assert said in refused.value.problem
    assert refused.value.remedy


def test_a_misspelt_field_names_the_nearest() -> None:
    with pytest.raises(InvalidScenarioError) as refused:
        read(BASE + LOAD + "[deployment]\nreplica = 2")

    assert "Did you mean replicas" in refused.value.remedy


def test_an_unknown_gpu_keeps_its_own_error() -> None:
    with pytest.raises(UnknownGpuError):
        read(BASE.replace("h100-sxm", "h1000") + LOAD)
