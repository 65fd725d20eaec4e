"""What is simulated: a model's replicas, how requests reach them, and what befalls them."""

from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.budget import shares_memory, visible_bytes
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.simulate.clock import picoseconds
from caudal.simulate.pace import ReplicaPace, replica_pace
from caudal.simulate.setup import (
    Action,
    Control,
    EngineSetup,
    PoolSetup,
    RouterKind,
    ScalingSetup,
)
from caudal.vocabulary.errors import DoesNotFitError
from caudal.vocabulary.units import BytesPerSecond, Seconds

# Engines that give each slot its whole context instead of blocks as it grows.
_SLOT_ENGINES = frozenset({"llama.cpp", "ollama"})
# SGLang holds memory free for this share of the outputs to come: 0.7 at the start, less with each
# decode step, and never below 0.7 · 0.14. Chosen: the floor, where a server soon is.
# Source: github:sgl-project/sglang v0.4 python/sglang/srt/managers/scheduler.py, SGLANG_INIT_NEW_
# TOKEN_RATIO and SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR.
_SGLANG_RESERVE = 0.098
_INSTANT = 1  # picosecond
_NO_TIME = Seconds(0.0)
_SCALING_INTERVAL = Seconds(15.0)  # Kubernetes' HorizontalPodAutoscaler looks so often
_SCALING_WINDOW = Seconds(300.0)  # and waits so long before it takes a replica away


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaling:
    """Replicas come and go so that each has about `target` requests, waiting ones included."""

    least: int
    most: int
    target: int
    start_s: Seconds  # from the decision to the first answer: machine, image, weights
    interval_s: Seconds = _SCALING_INTERVAL
    window_s: Seconds = _SCALING_WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A replica that is lost at a known time; with notice it is drained before."""

    replica: int
    at_s: Seconds
    lasts_s: Seconds | None  # None: for good
    notice_s: Seconds = _NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """Replicas that are lost at random, each about once in `mean_between_s`."""

    mean_between_s: Seconds
    lasts_s: Seconds
    notice_s: Seconds = _NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePool:
    """Replicas that only decode; prompts are computed elsewhere and their cache is sent over."""

    serving: Serving
    gpu: GpuSpec
    replicas: int
    link_bytes_per_s: BytesPerSecond
    latency_s: Seconds = _NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model served in some way on some GPUs."""

    model: ModelSpec
    serving: Serving
    gpu: GpuSpec
    replicas: int = 1
    router: RouterKind = RouterKind.LEAST_LOADED
    affinity_slack: int = 32  # requests more than the emptiest has. Source: SGLang's router default
    decode: DecodePool | None = None
    autoscaling: Autoscaling | None = None
    outages: tuple[Outage, ...] = ()
    interruptions: Interruptions | None = None
    prefix_cache: bool | None = None  # None: as the engine does

    @property
    def gpus(self) -> int:
        """Return how many GPUs run when all replicas do."""
        most = self.autoscaling.most if self.autoscaling else self.replicas
        decode = self.decode
        extra = 0 if decode is None else decode.replicas * decode.serving.layout.gpus
        return most * self.serving.layout.gpus + extra


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """A deployment in the engines' own terms."""

    setup: EngineSetup
    paces: tuple[ReplicaPace, ...]  # of each pool

    @property
    def kv_blocks(self) -> int:
        """Return the blocks of all replicas."""
        return sum(self.setup.pools[pool].blocks for pool in self.setup.replica_pool)

    @property
    def pace_error(self) -> float:
        """Return the largest deviation of the step table from the speed room's formulas."""
        return max(pace.error for pace in self.paces)


def prepare(
    deployment: Deployment,
    *,
    mean_tokens: tuple[float, float],
    users: int = 0,
    nodes: int = 0,
    span_s: float = 0.0,
    seed: int = 7,
) -> Prepared:
    """Return the deployment in the engines' terms for requests of about these lengths.

    `span_s` is how long the run is expected to last: for random interruptions and the series.

    Raises:
        DoesNotFitError: the model leaves no room for a request.
        NoSpeedError: the GPU's maker publishes no rate that the speed formulas need.
    """
    contexts = (mean_tokens[0], sum(mean_tokens))
    cached = deployment.prefix_cache
    whole = deployment.serving.engine.prefix_caching if cached is None else cached
    first, pace = _pool(deployment.model, deployment.serving, deployment.gpu, contexts)
    pools, paces = [_with_cache(first, cached=whole and nodes > 0)], [pace]
    decode = deployment.decode
    transfer = transfer_token = 0
    scaling = deployment.autoscaling
    most = scaling.most if scaling else deployment.replicas
    replica_pool = [0] * most
    if decode is not None:
        second, second_pace = _pool(deployment.model, decode.serving, decode.gpu, contexts)
        pools.append(second)
        paces.append(second_pace)
        replica_pool += [1] * decode.replicas
        per_token = memory_needs(deployment.model, decode.serving).kv.bytes_per_token
        # Every GPU of the replica sends its own part over its own link.
        transfer_token = picoseconds(per_token / decode.link_bytes_per_s)
        transfer = picoseconds(decode.latency_s)
    setup = EngineSetup(
        pools=tuple(pools),
        replica_pool=tuple(replica_pool),
        replica_up=tuple(
            pool == 1 or at < (scaling.least if scaling else deployment.replicas)
            for at, pool in enumerate(replica_pool)
        ),
        router=deployment.router,
        affinity_slack=deployment.affinity_slack,
        users=users,
        transfer=transfer,
        transfer_token=transfer_token,
        scaling=None if scaling is None else _scaling(scaling),
        controls=_controls(deployment, most, span_s=span_s, seed=seed),
        series_width=max(picoseconds(span_s / 400), 1_000_000),
        nodes=nodes if whole else 0,
    )
    return Prepared(setup=setup, paces=tuple(paces))


def _with_cache(pool: PoolSetup, *, cached: bool) -> PoolSetup:
    if not cached:
        return pool
    return PoolSetup(
        times=pool.times,
        max_sequences=pool.max_sequences,
        budget=pool.budget,
        blocks=pool.blocks,
        block_tokens=pool.block_tokens,
        longest_tokens=pool.longest_tokens,
        prefill_first=pool.prefill_first,
        reserve_q10=pool.reserve_q10,
        prefix_cache=True,
    )


def _pool(
    model: ModelSpec, serving: Serving, gpu: GpuSpec, contexts: tuple[float, float]
) -> tuple[PoolSetup, ReplicaPace]:
    return _known_pool(_Same(model), serving.on(gpu), gpu, contexts)


@dataclass(frozen=True, slots=True)
class _Same:
    """A model as a key: the same object is the same model."""

    model: ModelSpec

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.model is self.model


@lru_cache(maxsize=64)
def _known_pool(
    same: _Same, serving: Serving, gpu: GpuSpec, contexts: tuple[float, float]
) -> tuple[PoolSetup, ReplicaPace]:
    model, engine = same.model, serving.engine
    tokens = max(round(contexts[1]), 1)
    needs = memory_needs(model, serving)
    pool = needs.kv_pool_bytes(visible_bytes(gpu), unified=shares_memory(gpu)).value
    longest = serving.longest(model)
    held = needs.kv.tokens(pool, tokens=tokens) if pool > 0 else 0.0
    block, sequences = int(serving.block), serving.sequences
    slots = engine.name in _SLOT_ENGINES
    if slots:
        held = needs.kv.tokens(pool, tokens=longest) if pool > 0 else 0.0
        sequences = min(sequences, int(min(held, 1e12) // longest))
        held = float(sequences * longest)
        block = 1
    blocks = int(min(held, 1e12) // block) if held != inf else 10**12
    if blocks < 1 or sequences < 1:
        raise DoesNotFitError(
            f"{model.id} in {serving.weight_format.name} leaves {max(held, 0):,.0f} tokens of KV "
            f"cache on {gpu.name} ({serving.layout}): no request of {tokens:,} tokens can run.",
            remedy="Take more or larger GPUs, a smaller weight format or a shorter context.",
        )
    budget = max(int(serving.step_tokens(model)), sequences)
    pace = replica_pace(model, serving, gpu, contexts=contexts, sequences=sequences, budget=budget)
    made = PoolSetup(
        times=pace.times,
        max_sequences=sequences,
        budget=budget,
        blocks=blocks,
        block_tokens=block,
        longest_tokens=longest,
        prefill_first=engine.name == "sglang",
        reserve_q10=round(_SGLANG_RESERVE * 1024) if engine.name == "sglang" else 0,
    )
    return made, pace


def _scaling(scaling: Autoscaling) -> ScalingSetup:
    return ScalingSetup(
        interval=picoseconds(scaling.interval_s),
        target=scaling.target,
        least=scaling.least,
        most=scaling.most,
        start=max(picoseconds(scaling.start_s), _INSTANT),
        window=picoseconds(scaling.window_s),
    )


def _controls(
    deployment: Deployment, replicas: int, *, span_s: float, seed: int
) -> tuple[Control, ...]:
    """Return all losses and returns in the order of their time."""
    outages = list(deployment.outages)
    chance = deployment.interruptions
    if chance is not None:
        rng = np.random.default_rng([seed, 1])
        for replica in range(replicas):
            at = float(rng.exponential(chance.mean_between_s))
            while at < span_s:
                outages.append(
                    Outage(
                        replica=replica,
                        at_s=Seconds(at),
                        lasts_s=chance.lasts_s,
                        notice_s=chance.notice_s,
                    )
                )
                at += chance.lasts_s + float(rng.exponential(chance.mean_between_s))
    controls = []
    for outage in outages:
        at = picoseconds(outage.at_s)
        if outage.notice_s > 0:
            noticed = max(at - picoseconds(outage.notice_s), 0)
            controls.append(Control(noticed, outage.replica, Action.DRAIN))
        controls.append(Control(at, outage.replica, Action.KILL))
        if outage.lasts_s is not None:
            back = at + picoseconds(outage.lasts_s)
            controls.append(Control(back, outage.replica, Action.START))
    return tuple(sorted(controls, key=lambda each: each.time))
