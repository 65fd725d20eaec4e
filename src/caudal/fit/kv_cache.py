"""What the KV cache and recurrent states of one GPU occupy: a rule that every engine fills in.

An engine's allocator hands out blocks of one size. Layers that are kept alike form a group; a
request takes from each group the blocks for its context, for a window of it, or for its state.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from caudal.facts.model import (
    CrossAttention,
    GroupedQueryAttention,
    LatentAttention,
    Mixer,
    RecurrentMixer,
)
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel, stage_layers

# The rolling window of a convolution is kept in the model's own 16 bit by all engines but
# llama.cpp. Source: vLLM vllm/model_executor/layers/mamba/mamba_utils.py (conv state dtype).
CONVOLUTION_BYTES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KvGroup:
    """Layers whose blocks are taken together, on one GPU.

    A request of `n` tokens holds `ceil(min(n, cap_tokens) / block_tokens) + extra_blocks` blocks
    of each of `count` equal groups.
    """

    kind: str  # "full", "sliding", "chunked", "latent", "state", "cross"
    layers: int  # real layers in one of the groups
    block_bytes: float  # over all the layers of one group, padding included
    block_tokens: int
    count: int = 1
    cap_tokens: int | None = None  # None: the whole context is kept; 0: nothing grows
    extra_blocks: int = 0  # per request, whatever its length

    def blocks(self, tokens: int) -> int:
        """Return the blocks that a request of `tokens` holds, over all `count` groups."""
        kept = tokens if self.cap_tokens is None else min(tokens, self.cap_tokens)
        return self.count * (-(-kept // self.block_tokens) + self.extra_blocks)

    @property
    def bytes_per_token(self) -> float:
        """Return what each further token adds while none is dropped."""
        return self.count * self.block_bytes / self.block_tokens

    @property
    def grows(self) -> bool:
        """Return whether the group grows with the context without end."""
        return self.cap_tokens is None


@dataclass(frozen=True, slots=True, kw_only=True)
class KvNeeds:
    """What requests take from the cache of one GPU, and in which steps."""

    groups: tuple[KvGroup, ...]
    shared_bytes: float = 0.0  # taken once, whatever runs (llama.cpp's cells for one step)
    longest_tokens: int  # no request is longer
    doubt_bytes: float = 0.0  # what some versions of the engine take beyond this, per request

    @property
    def bytes_per_token(self) -> float:
        """Return what one more token of a long context takes, over all layers."""
        return sum(group.bytes_per_token for group in self.groups if group.grows)

    @property
    def state_bytes(self) -> float:
        """Return what a sequence takes whatever its length: states and full windows."""
        return sum(
            group.block_bytes * group.blocks(self.longest_tokens)
            for group in self.groups
            if not group.grows
        )

    @property
    def block_bytes(self) -> float:
        """Return the size of the largest block: what the pool is divided into."""
        return max((group.block_bytes for group in self.groups), default=0.0)

    @property
    def is_mixed(self) -> bool:
        """Return whether layers are kept in more than one way."""
        return len({group.kind for group in self.groups}) > 1 or any(
            not group.grows for group in self.groups
        )

    def request_bytes(self, tokens: int) -> float:
        """Return what a request of `tokens` (prompt and answer) takes."""
        return sum(group.block_bytes * group.blocks(tokens) for group in self.groups)

    def bytes_for(self, *, sequences: float, tokens: int) -> float:
        """Return what `sequences` requests of `tokens` each take together."""
        return self.shared_bytes + sequences * self.request_bytes(tokens)

    def bytes_at_most(self, *, sequences: float, tokens: int) -> float:
        """Return `bytes_for` on its high side: what a promise has to hold against."""
        sure = self.bytes_for(sequences=sequences, tokens=tokens)
        return sure + sequences * self.doubt_bytes

    def sequences(self, pool_bytes: float, *, tokens: int) -> float:
        """Return how many requests of `tokens` a pool holds, as a fraction; ∞ if they take none."""
        each = self.request_bytes(tokens)
        if each == 0:
            return float("inf")
        block = self.block_bytes
        whole = max(pool_bytes - self.shared_bytes, 0.0) // block * block
        return whole / each

    def tokens(self, pool_bytes: float, *, tokens: int) -> float:
        """Return the tokens a pool holds in requests of `tokens` each."""
        return self.sequences(pool_bytes, tokens=tokens) * tokens

    def longest_context(self, pool_bytes: float, *, sequences: float = 1.0) -> int:
        """Return the longest context that `sequences` requests can have at once, 0 if none can."""
        low, high = 0, self.longest_tokens
        if self.bytes_for(sequences=sequences, tokens=high) <= pool_bytes:
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self.bytes_for(sequences=sequences, tokens=middle) <= pool_bytes:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCache:
    """What one layer keeps on one GPU: so much a token, within a window, or so much a sequence."""

    kind: str
    token_bytes: float = 0.0
    window: int | None = None
    state_bytes: float = 0.0
    source_tokens: int = 0  # of an encoder, whose keys are kept whole


@lru_cache(maxsize=512)
def distinct_mixers(same: SameModel, stages: int) -> tuple[tuple[tuple[Mixer, int], ...], ...]:
    """Return the mixers of every pipeline stage with how often each stands there."""
    model = same.model
    tables = []
    for stage in range(stages):
        counts: dict[int, list[int]] = {}
        mixers: dict[int, Mixer] = {}
        for index in stage_layers(len(model.layers), stage=stage, stages=stages):
            for mixer in model.layers[index].mixers:
                counts.setdefault(id(mixer), [0])[0] += 1
                mixers[id(mixer)] = mixer
        merged: dict[Mixer, int] = {}
        for key, mixer in mixers.items():
            merged[mixer] = merged.get(mixer, 0) + counts[key][0]
        tables.append(tuple(merged.items()))
    return tuple(tables)


def grouped_query_bytes(
    mixer: GroupedQueryAttention, serving: Serving, *, pads_values: bool = False
) -> float:
    """Return a token's keys and values in one layer on one GPU.

    `ceil(kv_heads / TP) · (key dim · key bytes + value dim · value bytes)`: with more GPUs than
    KV heads, heads are replicated. Zero where the layer reads an earlier layer's cache.
    """
    if not mixer.owns_kv:
        return 0.0
    heads = -(-mixer.kv_heads // serving.layout.tensor)
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    if pads_values:
        value_dim = max(value_dim, mixer.head_dim)
    values = serving.value_format or serving.kv_format
    return heads * (
        mixer.head_dim * serving.kv_format.bytes_per_element + value_dim * values.bytes_per_element
    )


def latent_bytes(mixer: LatentAttention, serving: Serving) -> float:
    """Return a token's compressed vector and index key in one layer, whole on every GPU.

    `(kv_lora_rank + rope_head_dim) · bytes + indexer`, divided by the tokens that share an entry.
    """
    if serving.stores_latent_as_heads:
        heads = -(-mixer.heads // serving.layout.tensor)
        key = mixer.nope_head_dim + mixer.rope_head_dim
        values = serving.value_format or serving.kv_format
        return heads * (
            key * serving.kv_format.bytes_per_element
            + mixer.value_head_dim * values.bytes_per_element
        )
    entry = (mixer.kv_lora_rank + mixer.rope_head_dim) * serving.kv_format.bytes_per_element
    entry += mixer.extra_cache_bytes_per_token
    return entry / mixer.compression + indexer_bytes(mixer)


def indexer_bytes(mixer: LatentAttention | GroupedQueryAttention) -> float:
    """Return a token's key of the sparse-attention indexer, whole on every GPU."""
    indexer = mixer.indexer
    if indexer is None or not indexer.owns_cache:
        return 0.0
    compression = mixer.compression if isinstance(mixer, LatentAttention) else 1
    return indexer.cache_bytes_per_token / compression


def recurrent_bytes(mixer: RecurrentMixer, serving: Serving, *, unstated: int) -> float:
    """Return a sequence's state in one layer on one GPU.

    `ceil(heads / TP) / heads · (state elements · bytes + convolution elements · 2)`. `unstated` is
    the engine's choice of bytes where the model's file asks for none.
    """
    share = -(-mixer.heads // serving.layout.tensor) / mixer.heads
    wide = mixer.state_element_bytes if mixer.state_bytes_stated else unstated
    return share * (mixer.state_elements * wide + mixer.conv_elements * CONVOLUTION_BYTES)


def cross_bytes(mixer: CrossAttention, serving: Serving) -> float:
    """Return what one encoder token keeps in one cross-attention layer on one GPU."""
    heads = -(-mixer.kv_heads // serving.layout.tensor)
    return 2 * heads * mixer.head_dim * serving.kv_format.bytes_per_element
