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
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB


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
    host: Estimate  # what the engine's processes hold in main memory, where the GPU shares it

    def kv_pool_bytes(
        self, usable_bytes: float, *, free_bytes: float | None = None, unified: bool = False
    ) -> Estimate:
        """Return what is left for the KV cache on a card of `usable_bytes`; negative if nothing is.

        Never more than what truly remains: where graphs or activations do not fit beside the
        share that the engine claims, the low end says so. `free_bytes` is for a card that is in
        use already, `unified` for memory that the GPU shares with the host.
        """
        free = usable_bytes if free_bytes is None else min(free_bytes, usable_bytes)
        return Estimate(
            self._pool(usable_bytes, free, _value, unified=unified),
            self._pool(usable_bytes, free, _high, unified=unified),
            self._pool(usable_bytes, free, _low, unified=unified),
            self.activation.basis,
        )

    def _pool(
        self,
        usable_bytes: float,
        free_bytes: float,
        end: Callable[[Estimate], float],
        *,
        unified: bool,
    ) -> float:
        weights, peak = end(self.weights), end(self.activation)
        graphs, other = end(self.graphs), end(self.other)
        if unified:
            other += end(self.host)
        physical = free_bytes - weights - peak - other - graphs
        match self.rule:
            case PoolRule.OF_TOTAL:
                pool = min(self.fraction * usable_bytes, free_bytes) - weights - peak - other
                return min(pool - graphs if self.graphs_profiled else pool, physical)
            case PoolRule.STATIC:
                return min(self.fraction * (free_bytes - other) - weights, physical)
            case PoolRule.OF_FREE:
                return self.fraction * physical
            case PoolRule.WHOLE:
                return physical


def _value(estimate: Estimate) -> float:
    return estimate.value


def _low(estimate: Estimate) -> float:
    return estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.high


# On a GPU that shares the host's memory vLLM counts what its processes grew by on the host as its
# own. Three logs of vLLM on DGX Spark (GB10): 1.1 GiB on one; 5.8, 9 and 13 GiB on each of two,
# joined by network, whose buffers and graphs are in it.
HOST_OF_ONE: Final = Estimate(1.1 * GIB, 0.0, 4.0 * GIB, Basis.CALIBRATED)
_HOST_OF_MANY: Final = Estimate(9.0 * GIB, 4.0 * GIB, 14.0 * GIB, Basis.CALIBRATED)
_ALLOCATES_BY_TORCH: Final = frozenset({"vllm", "sglang"})

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
    slack = weights.allocation_slack if serving.engine.name in _ALLOCATES_BY_TORCH else 0.0
    kv: KvNeeds = module.kv_needs(model, serving)
    fraction = serving.fraction
    return MemoryNeeds(
        rule=rule,
        fraction=1.0 if fraction is None else fraction,
        weights=weights.total + overheads.buffers + Estimate.exact(slack),
        weights_by_role=weights,
        kv=kv,
        activation=overheads.activation,
        graphs=overheads.graphs,
        other=overheads.other,
        graphs_profiled=serving.engine.graph_bytes_profiled,
        host=_HOST_OF_MANY if serving.layout.gpus > 1 else HOST_OF_ONE,
    )
