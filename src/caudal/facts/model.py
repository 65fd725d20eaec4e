"""The shape of a model: its layers, what each keeps per token, and how its weights are stored.

A model is a tuple of layers; a layer is what mixes tokens (attention or a recurrent state; some
layers have both, some none) and what transforms each token (dense or mixture of experts).
Equal layers share one value, so `collections.Counter(model.layers)` groups them.
"""

from dataclasses import dataclass
from enum import StrEnum

from caudal.facts.precision import Role
from caudal.facts.source import Source
from caudal.vocabulary.units import Bytes, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseIndexer:
    """The small attention that picks which tokens the large one reads (DeepSeek V3.2, GLM-5)."""

    heads: int
    head_dim: int
    top_tokens: Tokens
    parameters: int
    cache_bytes_per_token: int  # FP8 key plus scale: 132 bytes for 128 elements
    owns_cache: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQueryAttention:
    """Softmax attention with a key and a value per KV head; MHA and MQA are its two ends."""

    heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int | None = None  # where it differs from head_dim
    window_tokens: Tokens | None = None  # sliding window: older keys are never read again
    chunk_tokens: Tokens | None = None  # Llama 4: attends within fixed chunks of this length
    owns_kv: bool = True  # False: reads the cache of an earlier layer
    owns_weights: bool = True  # False: stored outside the layer and shared (Zamba2)
    key_is_value: bool = False  # one tensor serves as both in the weights (Gemma 4 full layers)
    query_key_value_bias: bool = False
    output_bias: bool = False
    query_key_norm_elements: int = 0  # weights of the norms on queries and keys together
    output_gate_elements_per_head: int = 0  # a gate beside the query (Qwen3-Next: head_dim)
    sink_elements: int = 0  # learned attention sinks (gpt-oss: one a head)
    indexer: SparseIndexer | None = None  # picks the tokens that are read (MiniMax-M3)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention: one compressed vector per token, shared by all heads."""

    heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    nope_head_dim: int
    rope_head_dim: int
    value_head_dim: int
    indexer: SparseIndexer | None = None
    compression: int = 1  # tokens folded into one cache entry (DeepSeek V4), 1 where none are
    window_tokens: Tokens | None = None  # kept uncompressed, beside the compressed entries
    attends_beyond_window: bool = True  # False: the window is all that is kept
    parameters: int | None = None  # where the projections differ from DeepSeek V2/V3's
    replicated_parameters: int = 0  # of these, what is whole on every GPU (DeepSeek V4)
    output_gate: bool = False  # a gate as wide as the heads' output (Kimi K3)
    extra_cache_bytes_per_token: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentMixer:
    """A fixed state per sequence instead of a cache per token: Mamba, gated DeltaNet, KDA, ..."""

    kind: str  # "mamba1", "mamba2", "gated-deltanet", "kda", "lightning"
    heads: int  # what tensor parallelism divides
    parameters: int  # all of them
    small_parameters: int = 0  # of these, convolutions, decays and norms: never quantised
    state_elements: int  # recurrent state of one sequence in one layer
    conv_elements: int  # the rolling convolution window of one sequence in one layer
    state_element_bytes: int = 4  # of the recurrent state; the convolution's is the model's own
    state_bytes_stated: bool = False  # whether the file asks for it; if not, the engine decides


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Attention to an encoder's output, whose keys are kept once a sequence (Llama 3.2 Vision)."""

    heads: int
    kv_heads: int
    head_dim: int
    source_tokens: Tokens
    query_key_norm_elements: int = 0
    gate_elements: int = 0  # learned scalars on the block's output


Mixer = GroupedQueryAttention | LatentAttention | RecurrentMixer | CrossAttention


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseFeedForward:
    """Two (plain) or three (gated) matrices that every token passes."""

    intermediate: int
    gated: bool = True
    bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureFeedForward:
    """Experts of which each token passes a few: all count for memory, the chosen for speed."""

    experts: int
    experts_per_token: int
    expert_intermediate: int
    shared_intermediate: int = 0  # all shared experts together
    shared_gate: bool = False  # a router of one output on the shared expert (Qwen2-MoE)
    gated: bool = True
    bias: bool = False
    router_bias: bool = False
    latent_size: int | None = None  # experts work on a projection of this width (Nemotron 3)
    latent_norm: bool = False  # a norm on that projection (Kimi K3)
    parallel_dense_intermediate: int = 0  # a dense path beside the experts (Gemma 4 26B)


FeedForward = DenseFeedForward | MixtureFeedForward


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One block of the stack."""

    mixers: tuple[Mixer, ...] = ()
    feed_forward: FeedForward | None = None
    norm_elements: int = 0
    extra_parameters: int = 0  # small ones with no rule of their own (hyper-connections, PLE ...)


class ArchitectureConfidence(StrEnum):
    """How surely the configuration values are those of the published file."""

    FILE = "file"  # read from the user's own file
    COPY = "copy"  # a public copy of config.json
    DEFAULTS = "defaults"  # a library's own defaults or model table
    MEMORY = "memory"  # general knowledge
    ASSUMED = "assumed"  # nothing but a parameter count was given


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFormat:
    """How the published checkpoint stores its weights."""

    weight_format: str  # a name of facts.precision, such as "bf16", "fp8-block", "mxfp4"
    kv_format: str | None = None  # a KV dtype that the checkpoint itself asks for
    kept_modules: tuple[str, ...] = ()  # patterns of modules left in 16 bit
    module_formats: tuple[tuple[str, str], ...] = ()  # (pattern, format) of others that differ


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWeights:
    """What the headers of the weight files say that the tensors occupy, to the byte."""

    by_role: tuple[tuple[Role, Bytes], ...]  # largest first; scales and zeros with their weights
    by_layer: tuple[Bytes, ...]  # of each layer of the stack
    by_type: tuple[tuple[str, Bytes], ...]  # "bf16", "q4_k" ..., largest first
    tensors: int
    files: int

    @property
    def total_bytes(self) -> Bytes:
        """Return the bytes of all tensors, without headers and padding."""
        return Bytes(sum(size for _, size in self.by_role))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Everything that fit and speed need to know about one model."""

    id: str  # hub id, or the path or name it was given by
    family: str  # model_type of its configuration, such as "llama"
    hidden: int
    layers: tuple[Layer, ...]
    vocabulary: int
    tied_embeddings: bool
    max_context_tokens: Tokens
    checkpoint: CheckpointFormat
    position_parameters: int = 0  # learned positions (GPT-2, OPT)
    final_norm_elements: int = 0
    per_layer_embedding_parameters: int = 0  # Gemma 4 E: looked up, never multiplied
    vision_parameters: int = 0  # encoders and projectors for images and sound
    mtp_parameters: int = 0  # multi-token prediction, loaded only with speculative decoding
    extra_parameters: int = 0  # heads and the like outside the layers
    total_parameters: int
    active_parameters: int
    checkpoint_bytes: Bytes | None = None  # exact size of the weight files, where known
    stored: StoredWeights | None = None  # the same by role and layer, where headers were read
    aliases: tuple[str, ...] = ()
    licence: str = "unknown"
    confidence: ArchitectureConfidence
    source: Source
    note: str = ""
