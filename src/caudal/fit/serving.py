"""How a model is going to be served: engine, formats, layout and the engine's own knobs."""

from dataclasses import dataclass, replace
from typing import Final

from caudal.facts.engine import BatchTier, EngineSpec
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import KvFormat, WeightFormat
from caudal.fit.speculation import Speculation
from caudal.vocabulary.units import Bytes, Tokens

# The step of chunked prefill before vLLM 0.8, which models with encoders did not have. Source: vLLM
# v0.6.4 vllm/config.py (SchedulerConfig), vllm/engine/arg_utils.py (is_multimodal_model).
CHUNK_BEFORE_V1: Final = Tokens(512)
ONE_GPU: Final = Layout()


GRAPHS_FROM = 4  # tensor-parallel GPUs from which an engine captures other graphs (SGLang)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What a user sets on an engine beside formats and layout; None: the engine's default."""

    memory_fraction: float | None = None
    max_sequences: int | None = None
    max_batched_tokens: Tokens | None = None
    micro_batch_tokens: Tokens | None = None


NO_KNOBS: Final = Knobs()


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One way of running one replica; a knob left at None is at the engine's default."""

    engine: EngineSpec
    weight_format: WeightFormat
    kv_format: KvFormat
    layout: Layout = ONE_GPU
    value_format: KvFormat | None = None  # llama.cpp stores values in another type than keys
    memory_fraction: float | None = None  # in the engine's own meaning, see EngineSpec
    max_sequences: int | None = None  # running at once; slots in llama.cpp
    max_batched_tokens: Tokens | None = None  # tokens of one step
    micro_batch_tokens: Tokens | None = None  # llama.cpp's n_ubatch
    max_model_tokens: Tokens | None = None  # None: the longest that the model was made for
    block_tokens: Tokens | None = None
    graph_sequences: int | None = None  # the largest batch captured as a CUDA graph
    eager: bool = False  # no CUDA graphs, no compilation
    speculative: bool = False  # loads the model's own multi-token-prediction layers
    speculation: Speculation | None = None  # what is drafted; memory of a draft model is not known
    latent_as_heads: bool | None = None  # MLA stored as full heads; None: as the engine does
    expands_latents: bool = False  # ik_llama.cpp's -mla 2 and 3: keys and values of all cells
    flash_attention: bool | None = None  # llama.cpp's -fa; None: the engine's default
    context_of_all: bool = False  # max_model_tokens is llama.cpp's -c, for all slots together
    text_only: bool = False  # encoders for images and sound are not loaded
    pooling: bool = False  # an embedding or reward model: the output head is not loaded
    counts_cached: bool = False  # loading is measured by free memory (vLLM on AMD)

    def on(self, gpu: GpuSpec) -> "Serving":
        """Return the serving with the limits that the engine chooses by the size of this card."""
        served = self.on_card(gpu.usable_bytes, name=f"{gpu.id} {gpu.name}")
        return replace(served, counts_cached=True) if gpu.vendor == "AMD" else served

    def on_card(self, memory_bytes: Bytes, *, name: str = "") -> "Serving":
        """Return the serving with the limits that the engine chooses on a card of this memory.

        Cards of one tier give equal servings, so the needs of a plan are few.
        """
        engine, layout = self.engine, self.layout
        if not engine.tiers:
            return self
        tier = engine.tier_for(memory_bytes, name=name)
        fraction = self.memory_fraction
        if fraction is None:
            fraction = engine.memory_fraction_on(
                memory_bytes, tensor=layout.tensor, pipeline=layout.pipeline, name=name
            )
        wide = layout.tensor >= GRAPHS_FROM
        graphs = tier.graph_sequences_from_tp4 if wide else tier.graph_sequences
        return replace(
            self,
            memory_fraction=fraction,
            max_sequences=self.max_sequences or tier.max_sequences,
            max_batched_tokens=self.max_batched_tokens or self._default_step(tier),
            max_model_tokens=self.max_model_tokens or tier.context_tokens,
            graph_sequences=graphs if self.graph_sequences is None else self.graph_sequences,
        )

    def _default_step(self, tier: BatchTier) -> Tokens | None:
        return tier.max_batched_tokens if self.engine.chunked_prefill else None

    @property
    def fraction(self) -> float | None:
        """Return the memory fraction in force, None where the engine has no such rule."""
        if self.memory_fraction is not None:
            return self.memory_fraction
        return self.engine.memory_fraction

    @property
    def sequences(self) -> int:
        """Return how many sequences the engine runs at once at most."""
        return self.engine.max_sequences if self.max_sequences is None else self.max_sequences

    @property
    def block(self) -> Tokens:
        """Return the tokens of one KV block."""
        return self.engine.block_tokens if self.block_tokens is None else self.block_tokens

    @property
    def stores_latent_as_heads(self) -> bool:
        """Return whether MLA's keys and values are stored as full heads, not compressed."""
        if self.latent_as_heads is not None:
            return self.latent_as_heads
        return not self.engine.latent_cached

    @property
    def fuses_attention(self) -> bool:
        """Return whether attention is one kernel, so that no scores are held."""
        if self.flash_attention is not None:
            return self.flash_attention
        return self.engine.flash_attention

    @property
    def micro_batch(self) -> Tokens:
        """Return the tokens that llama.cpp computes at once (n_ubatch)."""
        given = self.micro_batch_tokens or self.engine.micro_batch_tokens
        return self.engine.max_batched_tokens if given is None else given

    def longest(self, model: ModelSpec) -> Tokens:
        """Return the longest sequence that the server accepts."""
        return model.max_context_tokens if self.max_model_tokens is None else self.max_model_tokens

    def cells(self, model: ModelSpec) -> int:
        """Return the tokens that all slots of llama.cpp have room for together."""
        longest = self.longest(model)
        return longest if self.context_of_all else longest * self.sequences

    def step_tokens(self, model: ModelSpec) -> Tokens:
        """Return the most tokens of one step: what an engine sizes its activations for.

        Without chunked prefill a whole prompt is one step, so the longest sequence counts.
        """
        if self.max_batched_tokens is not None:
            return self.max_batched_tokens
        engine, longest = self.engine, self.longest(model)
        if engine.chunked_prefill:
            return engine.max_batched_tokens
        chunked_above = engine.chunked_above_context_tokens
        sees = model.vision_parameters > 0 and not self.text_only
        if chunked_above is not None and longest > chunked_above and not sees:
            return CHUNK_BEFORE_V1
        return Tokens(max(engine.max_batched_tokens, longest))
