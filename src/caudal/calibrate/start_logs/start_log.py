"""What a start-up log says: the engine's settings, and each term of memory it measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLog:
    """One start of one engine; None and "" where the log does not say.

    Bytes are of the GPU that holds most weights, and of the one with the smallest pool; for
    llama.cpp, which splits by layers, weights and cache are totals over all devices.
    """

    engine: str
    version: str = ""
    model: str = ""
    gpu: str = ""  # as the log names the card
    gpus: int | None = None
    gpu_total_bytes: float | None = None
    memory_fraction: float | None = None  # in the engine's own meaning
    tensor: int | None = None
    pipeline: int | None = None
    quantization: str = ""
    dtype: str = ""
    kv_dtype: str = ""  # "keys/values" where they differ
    max_model_tokens: int | None = None
    max_sequences: int | None = None
    max_batched_tokens: int | None = None
    micro_batch_tokens: int | None = None
    block_tokens: int | None = None
    eager: bool | None = None
    flash_attention: bool | None = None
    weights_bytes: float | None = None
    host_weights_bytes: float = 0.0  # of these, in main memory
    activation_bytes: float | None = None
    non_torch_bytes: float | None = None
    graphs_bytes: float | None = None
    state_bytes: float | None = None  # recurrent states
    kv_pool_bytes: float | None = None
    kv_needed_bytes: float | None = None  # for the longest sequence, where it did not fit
    free_before_kv_bytes: float | None = None
    free_after_load_bytes: float | None = None
    kv_tokens: int | None = None
    kv_blocks: int | None = None
    max_total_tokens: int | None = None  # a cap on the pool that was asked for
    max_concurrency: float | None = None
    outcome: str = "ok"  # "ok", "oom", "kv_too_small"

    @property
    def measured(self) -> dict[str, float]:
        """Return the terms of memory that the log states, in bytes, by our names."""
        terms = {
            "weights": self.weights_bytes,
            "activation": self.activation_bytes,
            "cuda graphs": self.graphs_bytes,
            "other": self.non_torch_bytes,
            "recurrent state": self.state_bytes,
            "KV pool": self.kv_pool_bytes,
            "KV of the longest request": self.kv_needed_bytes,
        }
        return {name: size for name, size in terms.items() if size is not None}
