"""A serving engine: its version, its defaults and what it reserves."""

from dataclasses import dataclass

from caudal.facts.gpu import GpuSpec
from caudal.facts.source import Source
from caudal.vocabulary.units import Bytes, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTier:
    """The batch limits that an engine chooses by the size of the card."""

    from_memory_bytes: Bytes  # this tier is for cards of this much memory and more
    excludes: tuple[str, ...] = ()  # parts of GPU names that fall to the tier below
    max_sequences: int
    max_batched_tokens: Tokens
    graph_sequences: int  # the largest batch captured as a CUDA graph, 0 where there are none
    graph_sequences_from_tp4: int  # the same with four or more GPUs in the tensor group
    context_tokens: Tokens | None = None  # a default context, None: the model's own


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticReserve:
    """What SGLang leaves out of its static share, from which that share follows."""

    constant_bytes: Bytes
    bytes_per_batched_token: Bytes
    bytes_per_graph_sequence: Bytes
    bytes_per_gpu: Bytes
    floor_bytes: Bytes
    floor_above_bytes: Bytes  # the floor holds on cards larger than this

    def reserved_bytes(
        self, total_bytes: Bytes, *, batched_tokens: Tokens, graph_sequences: int, gpus: int
    ) -> Bytes:
        """Return what is kept free of weights and KV cache on one GPU."""
        reserved = (
            self.constant_bytes
            + self.bytes_per_batched_token * max(batched_tokens, 2048)
            + self.bytes_per_graph_sequence * graph_sequences
            + self.bytes_per_gpu * gpus
        )
        if total_bytes > self.floor_above_bytes:
            reserved = max(reserved, self.floor_bytes)
        return Bytes(reserved)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The defaults of one engine over a range of versions.

    `memory_fraction` is what the engine's own flag means: vLLM's share of the total memory,
    SGLang's static share, TensorRT-LLM's share of what is free, none for llama.cpp. Where
    `reserve` is given (newer SGLang) the share follows from it: ask `memory_fraction_on`.
    `max_sequences` and `max_batched_tokens` are those of the smallest tier; ask `tier`.
    """

    name: str  # "vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm"
    title: str
    first_version: str  # inclusive
    last_version: str  # inclusive, "" for the newest
    memory_fraction: float | None
    block_tokens: Tokens
    max_sequences: int
    max_batched_tokens: Tokens
    chunked_prefill: bool  # whether max_batched_tokens bounds a step, whatever the prompt
    prefix_caching: bool
    graph_bytes_profiled: bool  # whether CUDA-graph memory is taken out of the budget beforehand
    non_torch_bytes: Bytes  # CUDA context, cuBLAS and the like, one GPU
    collective_bytes: Bytes  # NCCL buffers, added with more than one GPU
    weight_formats: frozenset[str]
    kv_formats: frozenset[str]
    supports_tensor_parallel: bool
    supports_pipeline_parallel: bool
    source: Source
    non_torch_range_bytes: tuple[Bytes, Bytes] = (Bytes(0), Bytes(0))  # lowest and highest seen
    collective_range_bytes: tuple[Bytes, Bytes] = (Bytes(0), Bytes(0))
    tiers: tuple[BatchTier, ...] = ()  # from the smallest card up
    reserve: StaticReserve | None = None
    chunked_above_context_tokens: Tokens | None = None  # prefill is chunked only above this
    latent_cached: bool = True  # False: MLA's keys and values are stored as full heads
    collective_profiled: bool = True  # False: NCCL's memory comes on top of the fraction
    micro_batch_tokens: Tokens | None = None  # llama.cpp's n_ubatch: sizes compute buffers
    context_shared: bool = False  # the context setting is a total over all slots
    slots_share_context: bool = False  # one unified cache: a slot may use all of it
    supports_expert_parallel: bool = False
    wants_share_free: bool = False  # no start where less is free than the fraction claims
    input_on_host: bool = False  # token embeddings are looked up in main memory
    flash_attention: bool = True  # False: scores of all pairs of tokens are held in memory
    splits_by_layer: bool = False  # several GPUs hold consecutive layers, of any number
    notes: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Hash by name and range alone: specs are keys of caches that a plan asks for hundreds."""
        return hash((self.name, self.first_version))

    @property
    def versions(self) -> str:
        """Return the range of versions as people read it."""
        if self.first_version == self.last_version:
            return self.first_version
        return f"{self.first_version} to {self.last_version or 'the newest'}"

    def tier(self, gpu: GpuSpec) -> BatchTier:
        """Return the batch limits that the engine chooses on `gpu`."""
        return self.tier_for(gpu.usable_bytes, name=f"{gpu.id} {gpu.name}")

    def tier_for(self, memory_bytes: Bytes, *, name: str = "") -> BatchTier:
        """Return the batch limits on a card of this memory whose name is `name`."""
        chosen = self.tiers[0]
        for tier in self.tiers[1:]:
            excluded = any(part in name.lower() for part in tier.excludes)
            if memory_bytes >= tier.from_memory_bytes and not excluded:
                chosen = tier
        return chosen

    def memory_fraction_on(
        self, total_bytes: Bytes, *, tensor: int = 1, pipeline: int = 1, name: str = ""
    ) -> float | None:
        """Return the engine's default share of memory on a card, None where it has none.

        SGLang: `round((total − reserved) / total, 3)`. Leaves out what it sets aside for images,
        speculative decoding and data-parallel attention.

        Source: github:sgl-project/sglang, `server_args.py`, `_handle_gpu_memory_settings`.
        """
        if self.reserve is None:
            return self.memory_fraction
        tier = self.tier_for(total_bytes, name=name)
        reserved = self.reserve.reserved_bytes(
            total_bytes,
            batched_tokens=tier.max_batched_tokens,
            graph_sequences=tier.graph_sequences_from_tp4 if tensor >= 4 else tier.graph_sequences,
            gpus=tensor * pipeline,
        )
        return round(max(total_bytes - reserved, 0) / total_bytes, 3)
