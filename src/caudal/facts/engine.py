"""A serving engine: its version, its defaults and what it reserves."""

from dataclasses import dataclass

from caudal.facts.source import Source
from caudal.vocabulary.units import Bytes, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The defaults of one engine over a range of versions.

    `memory_fraction` is what the engine's own flag means: vLLM's share of the total memory,
    SGLang's static share, TensorRT-LLM's share of what is free, none for llama.cpp.
    """

    name: str  # "vllm", "sglang", "llama.cpp", "tensorrt-llm"
    title: str
    first_version: str  # inclusive
    last_version: str  # inclusive, "" for the newest
    memory_fraction: float | None
    block_tokens: Tokens
    max_sequences: int
    max_batched_tokens: Tokens
    chunked_prefill: bool
    prefix_caching: bool
    graph_bytes_profiled: bool  # whether CUDA-graph memory is taken out of the budget beforehand
    non_torch_bytes: Bytes  # CUDA context, cuBLAS and the like, one GPU
    collective_bytes: Bytes  # NCCL buffers, added with more than one GPU
    weight_formats: frozenset[str]
    kv_formats: frozenset[str]
    supports_tensor_parallel: bool
    supports_pipeline_parallel: bool
    source: Source
