"""A written scenario (TOML) as values; docs/how-to/simulate.md lists its fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.layouts import layout_problem
from caudal.fit.serving import Serving
from caudal.simulate.deployment import (
    Autoscaling,
    DecodePool,
    Deployment,
    Interruptions,
    Outage,
)
from caudal.simulate.run import REQUESTS, SEED
from caudal.simulate.scenario_fields import Fields
from caudal.simulate.scenario_load import load_of
from caudal.simulate.setup import RouterKind
from caudal.traffic.load import Load
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.trace import Trace
from caudal.vocabulary import quantities
from caudal.vocabulary.units import BytesPerSecond, Seconds, Tokens

MOST_REQUESTS: Final = 10_000_000
MOST_REPLICAS: Final = 1024
MOST_TOKENS: Final = 10_000_000
_NO_TIME: Final = Seconds(0.0)
_ROUTERS: Final = {
    "round-robin": RouterKind.ROUND_ROBIN,
    "least-loaded": RouterKind.LEAST_LOADED,
    "prefix-affinity": RouterKind.AFFINITY,
}
_PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

Resolve = Callable[[str], ModelSpec]
ReadTrace = Callable[[str], Trace]


def router_name(router: RouterKind) -> str:
    """Return a router as scenarios write it."""
    return next(name for name, kind in _ROUTERS.items() if kind is router)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a scenario file asks for."""

    name: str
    deployment: Deployment
    load: Load
    slo: Slo
    requests: int
    seed: int
    warm_up: float
    narrow: float | None  # stop once intervals are within this share of their value


def read_scenario(
    document: Mapping[str, object], *, name: str, resolve: Resolve, read_trace: ReadTrace
) -> Scenario:
    """Return the scenario in a parsed file; `resolve` and `read_trace` open what it names.

    Raises:
        InvalidScenarioError: a field is missing, unknown or out of range.
        CaudalError: a model, GPU, engine or precision that is not known.
    """
    root = Fields(name, "", document)
    root.finish(("name", "model", "replica", "deployment", "load", "slo", "run"))
    run = root.table("run")
    run.finish(("requests", "seed", "warm_up", "narrow"))
    return Scenario(
        name=root.text("name", name),
        deployment=_deployment(root, resolve),
        load=load_of(root.table("load"), read_trace),
        slo=_slo(root.table("slo")),
        requests=run.whole("requests", REQUESTS, least=100, most=MOST_REQUESTS),
        seed=run.whole("seed", SEED, least=0, most=2**31),
        warm_up=run.number("warm_up", 0.1, least=0.0, most=0.9),
        narrow=run.number("narrow", least=1e-4, most=1.0) if run.has("narrow") else None,
    )


def _deployment(root: Fields, resolve: Resolve) -> Deployment:
    named = root.table("model")
    named.finish(("name", "precision", "kv_precision"))
    model = resolve(named.text("name"))
    fields = root.table("deployment")
    fields.finish((
        *("replicas", "router", "affinity_slack", "autoscaling", "decode", "outage"),
        "interruptions",
    ))  # fmt: skip
    replica = root.table("replica")
    serving, gpu = _replica(replica, named, model)
    router = fields.text("router", "least-loaded")
    if router not in _ROUTERS:
        raise fields.refuse("router", f"is {router!r}", f"Write one of {', '.join(_ROUTERS)}.")
    replicas = fields.whole("replicas", 1, most=MOST_REPLICAS)
    scaling = _autoscaling(fields.table("autoscaling")) if fields.has("autoscaling") else None
    last = (scaling.most if scaling else replicas) - 1
    return Deployment(
        model=model,
        serving=serving,
        gpu=gpu,
        replicas=replicas,
        router=_ROUTERS[router],
        affinity_slack=fields.whole("affinity_slack", 32, least=0, most=1_000_000),
        decode=_decode(fields.table("decode"), named, model) if fields.has("decode") else None,
        autoscaling=scaling,
        outages=tuple(_outage(each, last) for each in fields.tables("outage")),
        interruptions=_interruptions(fields),
        prefix_cache=replica.flag("prefix_cache"),
    )


_SERVING_FIELDS: Final = (
    *("gpu", "tp", "pp", "engine", "context", "max_sequences", "max_batched_tokens"),
    *("memory_fraction", "eager"),
)


def _replica(
    fields: Fields, named: Fields, model: ModelSpec, *, more: tuple[str, ...] = ("prefix_cache",)
) -> tuple[Serving, GpuSpec]:
    fields.finish((*_SERVING_FIELDS, *more))
    gpu_name = fields.text("gpu")
    choice = gpu_catalogue().resolve(gpu_name)
    if len(choice.specs) > 1:
        names = ", ".join(spec.id for spec in choice.specs[:6])
        raise fields.refuse("gpu", f"is {gpu_name!r}, which may be several", f"Write one: {names}.")
    precision = named.text("precision", "native")
    stored = model.checkpoint.weight_format if precision == "native" else precision
    kept = named.text("kv_precision", model.checkpoint.kv_format or "bf16")
    layout = Layout(
        tensor=fields.whole("tp", 1, most=MOST_REPLICAS),
        pipeline=fields.whole("pp", 1, most=MOST_REPLICAS),
    )
    served_by = engine(fields.text("engine", "vllm"))
    weights = weight_format(stored)
    problem = layout_problem(model, layout, weights, engine=served_by)
    if problem is not None:
        raise fields.refuse("tp", f"cannot be: {problem}", "Choose another tp or pp.")
    context = fields.quantity("context", quantities.parse_tokens, model.max_context_tokens)
    sequences = fields.whole("max_sequences", 0, most=100_000) or None
    budget = fields.whole("max_batched_tokens", 0, most=1_000_000) or None
    fraction = fields.number("memory_fraction", 0.0, least=0.01, most=1.0) or None
    serving = Serving(
        engine=served_by,
        weight_format=weights,
        kv_format=kv_format(kept),
        layout=layout,
        max_model_tokens=context,
        max_sequences=sequences,
        max_batched_tokens=None if budget is None else Tokens(budget),
        memory_fraction=fraction,
        eager=bool(fields.flag("eager")),
    )
    return serving, choice.specs[0]


def _decode(fields: Fields, named: Fields, model: ModelSpec) -> DecodePool:
    serving, gpu = _replica(fields, named, model, more=("replicas", "link", "latency"))
    return DecodePool(
        serving=serving,
        gpu=gpu,
        replicas=fields.whole("replicas", 1, most=MOST_REPLICAS),
        link_bytes_per_s=BytesPerSecond(fields.quantity("link", quantities.parse_bandwidth)),
        latency_s=fields.quantity("latency", _time, _NO_TIME),
    )


def _autoscaling(fields: Fields) -> Autoscaling:
    fields.finish(("least", "most", "target", "start", "interval", "window"))
    least = fields.whole("least", 1, most=MOST_REPLICAS)
    usual = Autoscaling(least=1, most=1, target=1, start_s=_NO_TIME)
    return Autoscaling(
        least=least,
        most=fields.whole("most", least=least, most=MOST_REPLICAS),
        target=fields.whole("target", most=1_000_000),
        start_s=fields.quantity("start", _time),
        interval_s=fields.quantity("interval", quantities.parse_duration, usual.interval_s),
        window_s=fields.quantity("window", _time, usual.window_s),
    )


def _outage(fields: Fields, last: int) -> Outage:
    fields.finish(("replica", "at", "lasts", "notice"))
    lasts = fields.quantity("lasts", quantities.parse_duration) if fields.has("lasts") else None
    return Outage(
        replica=fields.whole("replica", 0, least=0, most=last),
        at_s=fields.quantity("at", _time),
        lasts_s=lasts,
        notice_s=fields.quantity("notice", _time, _NO_TIME),
    )


def _interruptions(deployment: Fields) -> Interruptions | None:
    if not deployment.has("interruptions"):
        return None
    fields = deployment.table("interruptions")
    fields.finish(("every", "lasts", "notice"))
    return Interruptions(
        mean_between_s=fields.quantity("every", quantities.parse_duration),
        lasts_s=fields.quantity("lasts", quantities.parse_duration),
        notice_s=fields.quantity("notice", _time, _NO_TIME),
    )


def _slo(fields: Fields) -> Slo:
    known = {f"{metric.value}_{name}": metric for metric in Metric for name in _PERCENTILES}
    fields.finish(tuple(known))
    return Slo(
        tuple(
            Objective(
                metric,
                _PERCENTILES[key.rpartition("_")[2]],
                fields.quantity(key, quantities.parse_duration),
            )
            for key, metric in known.items()
            if fields.has(key)
        )
    )


def _time(text: str) -> Seconds:
    return quantities.parse_duration(text, zero_ok=True)
