"""What one GPU of a replica needs, whatever GPU it is: terms, and the rule that sizes the pool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import ModuleType
from typing import Final

from caudal.facts.model import ModelSpec
from caudal.fit.activation import Overheads
from caudal.fit.engines import llama_cpp, sglang, tensorrt_llm, vllm
from caudal.fit.kv_cache import KvNeeds
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel, WeightNeeds, weight_needs
from caudal.vocabulary.errors import UnknownEngineError
from caudal.vocabulary.estimate import Estimate


class PoolRule(StrEnum):
    """Of what an engine's memory fraction is a share."""

    OF_TOTAL = "of total"  # vLLM: fraction · total − weights − peak − other
    STATIC = "static"  # SGLang: fraction · free before load − weights
    OF_FREE = "of free"  # TensorRT-LLM: fraction · (total − weights − peak − other)
    WHOLE = "whole"  # llama.cpp: total − weights − peak − other


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeeds:
    """The terms of one GPU's memory, each in bytes, and how the KV pool follows from them."""

    rule: PoolRule
    fraction: float
    weights: Estimate  # on the fullest GPU, tables that load with them included
    weights_by_role: WeightNeeds
    kv: KvNeeds
    activation: Estimate
    graphs: Estimate
    other: Estimate
    graphs_profiled: bool

    def kv_pool_bytes(self, usable_bytes: float) -> Estimate:
        """Return what is left for the KV cache on a card of `usable_bytes`; negative if nothing is.

        Never more than what truly remains: where graphs or activations do not fit beside the
        share that the engine claims, the low end says so.
        """
        return Estimate(
            self._pool(usable_bytes, _value),
            self._pool(usable_bytes, _high),
            self._pool(usable_bytes, _low),
            self.activation.basis,
        )

    def _pool(self, usable_bytes: float, end: Callable[[Estimate], float]) -> float:
        weights, peak = end(self.weights), end(self.activation)
        graphs, other = end(self.graphs), end(self.other)
        share = self.fraction * usable_bytes
        match self.rule:
            case PoolRule.OF_TOTAL:
                pool = share - weights - peak - other
                if self.graphs_profiled:
                    pool -= graphs
                return min(pool, usable_bytes - weights - peak - other - graphs)
            case PoolRule.STATIC:
                before = usable_bytes - other
                pool = self.fraction * before - weights
                return min(pool, before - weights - peak - graphs)
            case PoolRule.OF_FREE:
                return self.fraction * (usable_bytes - weights - peak - other - graphs)
            case PoolRule.WHOLE:
                return usable_bytes - weights - peak - other - graphs


def _value(estimate: Estimate) -> float:
    return estimate.value


def _low(estimate: Estimate) -> float:
    return estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.high


_ENGINES: Final[Mapping[str, tuple[ModuleType, PoolRule]]] = {
    "vllm": (vllm, PoolRule.OF_TOTAL),
    "sglang": (sglang, PoolRule.STATIC),
    "tensorrt-llm": (tensorrt_llm, PoolRule.OF_FREE),
    "llama.cpp": (llama_cpp, PoolRule.WHOLE),
    "ollama": (llama_cpp, PoolRule.WHOLE),
}


def memory_needs(model: ModelSpec, serving: Serving) -> MemoryNeeds:
    """Return the terms of one GPU's memory for `model` served so, independent of the GPU.

    Limits that an engine chooses by the card's size are taken from `serving`: `Serving.on(gpu)`
    fills them in.

    Raises:
        UnknownEngineError: there is no memory rule for the engine.
    """
    return _memory_needs(SameModel(model), serving)


@lru_cache(maxsize=4096)
def _memory_needs(same: SameModel, serving: Serving) -> MemoryNeeds:
    model = same.model
    found = _ENGINES.get(serving.engine.name)
    if found is None:
        raise UnknownEngineError(serving.engine.name, known=_ENGINES)
    module, rule = found
    weights = weight_needs(model, serving)
    overheads: Overheads = module.overheads(model, serving)
    kv: KvNeeds = module.kv_needs(model, serving)
    fraction = serving.fraction
    return MemoryNeeds(
        rule=rule,
        fraction=1.0 if fraction is None else fraction,
        weights=weights.total + overheads.buffers,
        weights_by_role=weights,
        kv=kv,
        activation=overheads.activation,
        graphs=overheads.graphs,
        other=overheads.other,
        graphs_profiled=serving.engine.graph_bytes_profiled,
    )
