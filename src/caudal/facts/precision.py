"""How weights and the KV cache are stored, and in which arithmetic they are multiplied."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from caudal.facts.source import Source

KEPT_BITS: Final = 16  # what a quantisation recipe leaves alone stays in BF16 or FP16


class Arithmetic(StrEnum):
    """The unit of a GPU that a matrix product runs on."""

    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"


class Role(StrEnum):
    """What a group of weights does: decides how it is stored and how it is split over GPUs."""

    EMBEDDING = "embedding"
    HEAD = "head"
    POSITION = "position"
    PER_LAYER_EMBEDDING = "per-layer-embedding"
    QUERY = "query"
    KEY_VALUE = "key-value"
    ATTENTION_OUTPUT = "attention-output"
    LATENT_DOWN = "latent-down"  # MLA's down projections: whole on every GPU
    LATENT_UP = "latent-up"  # MLA's up projections: split by heads
    INDEXER = "indexer"
    RECURRENT = "recurrent"
    CROSS = "cross-attention"
    DENSE = "dense"
    SHARED_EXPERT = "shared-expert"
    ROUTED_EXPERT = "routed-expert"
    ROUTER = "router"
    NORM = "norm"  # norms, biases and other small vectors: whole on every GPU
    VISION = "vision"
    MTP = "multi-token-prediction"  # loaded only for speculative decoding
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """One way of storing weight matrices.

    `bits` is what one weight of a quantised matrix occupies, `scale_bits` what scales, zeros and
    super-block headers add per weight. Roles in `kept_roles` stay in 16 bit by the usual recipe;
    `role_bits` names the roles that a mixed recipe (GGUF) stores at another width, all included.
    """

    name: str  # "bf16", "fp8", "fp8-block", "int8", "int4", "nf4", "mxfp4", "nvfp4", "q4_k_m" ...
    title: str
    bits: float
    scale_bits: float
    group: int | None  # input elements sharing one scale; a slice must hold whole groups
    arithmetic: Arithmetic  # the product's unit where the GPU has it natively
    activations_quantised: bool  # W8A8, W4A4; False: weights only, dequantised to 16 bit
    kept_roles: frozenset[Role]
    engines: frozenset[str]
    aliases: tuple[str, ...]
    source: Source
    role_bits: Mapping[Role, float] = field(default_factory=dict, hash=False)
    is_gguf: bool = False  # a whole-file mix of llama.cpp's block types

    def __hash__(self) -> int:
        """Hash by name alone, which says all."""
        return hash(self.name)

    @property
    def bytes_per_weight(self) -> float:
        """Return what one weight of a quantised matrix occupies, its scales included."""
        return (self.bits + self.scale_bits) / 8

    @property
    def is_quantised(self) -> bool:
        """Whether matrices are stored in fewer than 16 bits."""
        return self.bits < KEPT_BITS

    def bits_for(self, role: Role, *, tied_embeddings: bool = False) -> float:
        """Return the bits that one weight of `role` occupies, its scales included.

        A tied embedding serves as the output head and is stored as one.
        Leaves out a checkpoint's own skip list, which knows better (`CheckpointFormat`).
        """
        if role is Role.EMBEDDING and tied_embeddings:
            role = Role.HEAD
        if role in self.role_bits:
            return self.role_bits[role]
        return float(KEPT_BITS) if role in self.kept_roles else self.bits + self.scale_bits


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """One way of storing keys and values; scales of blocks are included in the bytes."""

    name: str  # "bf16", "fp8", "q8_0" ...
    bytes_per_element: float
    aliases: tuple[str, ...] = ()
    engines: frozenset[str] = frozenset()
    source: Source | None = None

    def __hash__(self) -> int:
        """Hash by name alone, which says all."""
        return hash(self.name)


class Support(StrEnum):
    """What a GPU and an engine make of a weight or KV format."""

    NATIVE = "native"  # multiplied in the format's own arithmetic
    WEIGHT_ONLY = "weight-only"  # stored so, multiplied in 16 bit
    STORAGE_ONLY = "storage only"  # a KV cache kept so and converted on use
    UNSUPPORTED = "not supported"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SupportAnswer:
    """Whether a combination runs, how, and why."""

    support: Support
    reason: str
    source: str = ""

    @property
    def runs(self) -> bool:
        """Return whether a server would start with it, as far as is known."""
        return self.support not in {Support.UNSUPPORTED, Support.UNKNOWN}
