"""vLLM: paged blocks of one size for all layers, and a profiled peak taken out of the budget.

Sources: vllm/v1/core/kv_cache_utils.py, vllm/v1/kv_cache_interface.py,
vllm/v1/worker/gpu_worker.py (0.8 to 0.29); vllm/worker/worker.py (before 0.8).
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from caudal.facts.model import (
    CrossAttention,
    GroupedQueryAttention,
    LatentAttention,
    Mixer,
    ModelSpec,
    RecurrentMixer,
)
from caudal.fit.activation import (
    ELEMENT_BYTES,
    Overheads,
    activation_doubt,
    layer_bytes_per_token,
)
from caudal.fit.engines.compressed import compressed_needs
from caudal.fit.kv_cache import (
    KvGroup,
    KvNeeds,
    LayerCache,
    cross_bytes,
    distinct_mixers,
    grouped_query_bytes,
    indexer_bytes,
    latent_bytes,
    recurrent_bytes,
)
from caudal.fit.rotary import rotary_bytes
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB

# A state is kept in the model's own 16 bit where its file asks for nothing else.
# Source: vllm/model_executor/layers/mamba/mamba_utils.py, mamba_ssm_cache_dtype "auto".
_STATE_BYTES: Final = 2
_DELTA_STATE_BYTES: Final = 4  # Kimi's delta attention is always in 32 bit (kda_state_dtype)
# An 8-bit latent that is read sparsely: 512 in FP8, 64 rotary elements in 16 bit, 4 scales of 4.
# Source: vllm/v1/kv_cache_interface.py, MLAAttentionSpec ("fp8_ds_mla").
_SPARSE_LATENT_BYTES: Final = 656
# Attention blocks beside recurrent layers are a multiple of this many tokens.
# Source: vllm/model_executor/models/config.py, HybridAttentionMambaModelConfig.
_KERNEL_BLOCK: Final = 16
_LATENT_KERNEL_BLOCK: Final = 64  # FlashMLA's
# Groups are padded to the largest type's layer count while it is below this times the smallest.
# Source: _get_kv_cache_groups_uniform_page_size (1.25 before 0.15, 1.5 since).
_PADDING_FACTOR: Final = 1.5
# What sampling holds for each logit of each sequence: logits in 32 bit, sorted copies with 64-bit
# indices, probabilities. Fitted to eight start-up logs of 0.6 to 0.8 on T4 and H100 (38.6 to 39.2);
# since 0.8 sorting is left to a kernel, and 10 fits (9.2 and 10.7 in two logs of 2026). Where the
# old engine chunked prefill its profile sampled nothing and held two copies of the logits (two
# logs: 0.06 and 0.19 GiB in all).
_SAMPLER_BYTES_BEFORE_V1: Final = 39.0
_SAMPLER_BYTES: Final = 10.0
# Without that kernel (0.8 to 0.10) eight logs of H100 fit 57 bytes a logit, for at most 256
# sequences, the default then: for the high side only, since versions are seldom known.
_SORTING_BYTES: Final = 57.0
_SORTED_SEQUENCES: Final = 256
_LOGIT_BYTES: Final = 4.0
# How far activation is off over the dev rows that print it; chosen.
_ACTIVATION_SPREAD: Final = 1.5
# Families whose head is made before it is tied to the embedding.
_TIES_AFTERWARDS: Final = frozenset({"gemma4", "llama"})
_MOST_PATCHES: Final = 65_536
_USUAL_PATCHES: Final = 8192  # chosen: two images of Gemma 3, one of Pixtral at full size
_PATCH_BYTES: Final = 2 * (3 * 3420 + 4 * 1280)
# With other attention kernels logs show up to tens of GiB; chosen.
_ENCODER_DOUBT: Final = 4.0 * GIB


def kv_needs(model: ModelSpec, serving: Serving) -> KvNeeds:
    """Return the block groups of vLLM's hybrid cache manager.

    One group holds all layers if they are kept alike. Else every type is cut into groups of as
    many layers as the rarest type has, padded with empty ones, and all groups draw blocks of one
    size (`page · layers in a group`) from one pool: a group of sliding layers holds
    `ceil((window − 1 + step tokens) / block) + 1` of them, a recurrent group one.
    """
    stages = distinct_mixers(SameModel(model), serving.layout.pipeline)
    candidates = [_stage_needs(model, serving, mixers) for mixers in stages]
    longest = serving.longest(model)
    return max(candidates, key=lambda needs: needs.request_bytes(longest))


def _stage_needs(
    model: ModelSpec, serving: Serving, mixers: tuple[tuple[Mixer, int], ...]
) -> KvNeeds:
    longest = serving.longest(model)
    if any(isinstance(mixer, LatentAttention) and mixer.compression > 1 for mixer, _ in mixers):
        return compressed_needs(mixers, step=serving.step_tokens(model), longest=longest)
    caches: dict[LayerCache, int] = {}
    for mixer, count in mixers:
        cache = _layer_cache(mixer, serving)
        if cache.window is not None and not serving.engine.chunked_prefill:
            # the first engine has one kind of block: every layer keeps the whole context
            cache = replace(cache, kind="full", window=None)
        if cache.token_bytes or cache.state_bytes:
            caches[cache] = caches.get(cache, 0) + count
    kinds = {(cache.kind, cache.window) for cache in caches}
    if len(kinds) <= 1:
        groups = _uniform(model, serving, caches)
    else:
        groups = _hybrid(model, serving, caches)
    return KvNeeds(groups=groups, longest_tokens=longest)


def _layer_cache(mixer: Mixer, serving: Serving) -> LayerCache:
    match mixer:
        case GroupedQueryAttention():
            token_bytes = grouped_query_bytes(mixer, serving, pads_values=_pads_values(serving))
            token_bytes += indexer_bytes(mixer)
            if mixer.window_tokens is not None:
                return LayerCache(
                    kind="sliding", token_bytes=token_bytes, window=mixer.window_tokens
                )
            if mixer.chunk_tokens is not None:
                return LayerCache(
                    kind="chunked", token_bytes=token_bytes, window=mixer.chunk_tokens
                )
            return LayerCache(kind="full", token_bytes=token_bytes)
        case LatentAttention():
            token_bytes = latent_bytes(mixer, serving)
            if mixer.indexer is not None and serving.kv_format.bytes_per_element == 1:
                token_bytes = _SPARSE_LATENT_BYTES + indexer_bytes(mixer)
            return LayerCache(kind="latent", token_bytes=token_bytes)
        case RecurrentMixer():
            unstated = _DELTA_STATE_BYTES if mixer.kind == "kda" else _STATE_BYTES
            state = recurrent_bytes(mixer, serving, unstated=unstated)
            return LayerCache(kind="state", state_bytes=state)
        case CrossAttention():
            return LayerCache(
                kind="cross",
                token_bytes=cross_bytes(mixer, serving),
                source_tokens=mixer.source_tokens,
            )


def _pads_values(serving: Serving) -> bool:
    """Return whether values narrower than keys are padded to their width.

    Only the 16-bit kernels keep two widths (FlashAttentionDiffKV).
    """
    return serving.kv_format.bytes_per_element < ELEMENT_BYTES


def _uniform(
    model: ModelSpec, serving: Serving, caches: dict[LayerCache, int]
) -> tuple[KvGroup, ...]:
    if not caches:
        return ()
    block = serving.block
    layers = sum(caches.values())
    first = next(iter(caches))
    if first.kind == "state":
        size = sum(cache.state_bytes * count for cache, count in caches.items())
        return (_state_group(layers, size),)
    page = block * sum(cache.token_bytes * count for cache, count in caches.items())
    return (_token_group(first, serving, model, layers=layers, block_bytes=page, block=block),)


def _token_group(
    cache: LayerCache,
    serving: Serving,
    model: ModelSpec,
    *,
    layers: int,
    block_bytes: float,
    block: int,
    count: int = 1,
) -> KvGroup:
    cap, extra = _cap(cache, serving, model)
    return KvGroup(
        kind=cache.kind,
        layers=layers,
        block_bytes=block_bytes,
        block_tokens=block,
        count=count,
        cap_tokens=cap,
        extra_blocks=extra,
    )


def _cap(cache: LayerCache, serving: Serving, model: ModelSpec) -> tuple[int | None, int]:
    """Return (tokens kept at most, blocks beyond them) of one request."""
    step = serving.step_tokens(model)
    match cache.kind:
        case "sliding":
            assert cache.window is not None
            return cache.window - 1 + step, 1
        case "chunked":
            assert cache.window is not None
            return cache.window + step, 0
        case "cross":
            return cache.source_tokens, 0
        case _:
            return None, 0


def _state_group(layers: int, block_bytes: float, count: int = 1) -> KvGroup:
    return KvGroup(
        kind="state",
        layers=layers,
        block_bytes=block_bytes,
        block_tokens=1,
        count=count,
        cap_tokens=0,
        extra_blocks=1,
    )


@dataclass(frozen=True, slots=True)
class _Pages:
    """One size of page for all layers, and the tokens that each kind of layer puts in it."""

    page: float
    block: dict[LayerCache, int]


def _hybrid(
    model: ModelSpec, serving: Serving, caches: dict[LayerCache, int]
) -> tuple[KvGroup, ...]:
    pages = _pages(serving, caches)
    fewest, most = min(caches.values()), max(caches.values())
    size = most if most < fewest * _PADDING_FACTOR else fewest
    block_bytes = pages.page * size
    groups = []
    for cache, layers in caches.items():
        count = ceil(layers / size)
        if cache.kind == "state":
            groups.append(_state_group(min(size, layers), block_bytes, count))
        else:
            groups.append(
                _token_group(
                    cache,
                    serving,
                    model,
                    layers=min(size, layers),
                    block_bytes=block_bytes,
                    block=pages.block[cache],
                    count=count,
                )
            )
    return tuple(groups)


def _pages(serving: Serving, caches: dict[LayerCache, int]) -> _Pages:
    """Return the common page: the largest layer's, smaller layers taking more tokens in one.

    Beside recurrent layers the attention block grows until it holds a state.
    """
    block: int = serving.block
    token_bytes = [cache.token_bytes for cache in caches if cache.token_bytes]
    state = max(cache.state_bytes for cache in caches)
    if state and token_bytes:
        latent = any(cache.kind == "latent" for cache in caches)
        step = _LATENT_KERNEL_BLOCK if latent else _KERNEL_BLOCK
        block = max(block, step * ceil(state / (max(token_bytes) * step)))
    page = max([state, *(block * each for each in token_bytes)])
    return _Pages(
        page,
        {
            cache: block * max(int(page // (block * cache.token_bytes)), 1)
            for cache in caches
            if cache.token_bytes
        },
    )


def overheads(model: ModelSpec, serving: Serving) -> Overheads:
    """Return vLLM's profiled peak and what it holds outside.

    The peak is the larger of one step's layers and of sampling for every sequence at once
    (`sequences · vocabulary · bytes`); the hidden states of the step stay while sampling runs.
    """
    step = serving.step_tokens(model)
    layers = step * layer_bytes_per_token(model, serving)
    sampled = min(serving.sequences, step)
    held = 2 * step * model.hidden * ELEMENT_BYTES
    sampler = sampled * model.vocabulary * _sampler_bytes(model, serving) + held
    engine = serving.engine
    low, high = engine.non_torch_range_bytes
    other = Estimate(float(engine.non_torch_bytes), low, high, Basis.CALIBRATED)
    if serving.layout.gpus > 1:
        low, high = engine.collective_range_bytes
        other = other + Estimate(float(engine.collective_bytes), low, high, Basis.CALIBRATED)
    encoder = _encoder_peak(model, serving)
    peak = max(layers, sampler, encoder.value)
    doubt = activation_doubt(model, usual=_ACTIVATION_SPREAD)
    sorting = 0.0
    if not engine.graph_bytes_profiled:
        few = min(sampled, _SORTED_SEQUENCES)
        sorting = few * model.vocabulary * _SORTING_BYTES + held
    return Overheads(
        activation=Estimate(
            peak,
            peak / _ACTIVATION_SPREAD,
            max(peak * doubt, sorting, encoder.high),
            Basis.CALIBRATED,
        ),
        graphs=_graphs(serving),
        other=other,
        buffers=Estimate.exact(rotary_bytes(model, serving) + _loaded_beside(model, serving)),
    )


def _encoder_peak(model: ModelSpec, serving: Serving) -> Estimate:
    """Return what encoding the largest image takes while the engine profiles itself.

    Qwen's models accept 16,384 image tokens, four patches each, at about 30 kB a patch; others
    take images of a few thousand patches.

    Source: vllm/multimodal/profiling.py; preprocessor_config.json of Qwen2-VL to Qwen3.5
    (max_pixels), vision_config of Qwen2.5-VL (hidden 1,280, intermediate 3,420, gated).
    """
    if not model.vision_parameters or serving.text_only:
        return Estimate.exact(0.0)
    patches = _MOST_PATCHES if model.family.startswith("qwen") else _USUAL_PATCHES
    return Estimate(patches * _PATCH_BYTES, 0.0, _ENCODER_DOUBT, Basis.ASSUMED)


def _loaded_beside(model: ModelSpec, serving: Serving) -> float:
    """Return what stays allocated after loading beside weights and rotary tables.

    A buffer of per-layer embeddings for one step (Gemma 4 E). On AMD cards loading is measured by
    free memory, so that a head which was made and then tied to the embedding still counts.

    Source: vllm/model_executor/models/gemma4_mm.py (per_layer_embeddings), gemma4.py and llama.py
    (tie_weights after ParallelLMHead), vllm/platforms/rocm.py (get_current_memory_usage). The two
    turn 15.0 into the 16.4 GiB that Gemma 4 E4B printed on an MI325X.
    """
    size = 0.0
    if model.per_layer_embedding_parameters:
        width = model.per_layer_embedding_parameters / model.vocabulary
        size += serving.step_tokens(model) * width * ELEMENT_BYTES
    if serving.counts_cached and model.tied_embeddings and model.family in _TIES_AFTERWARDS:
        size += model.vocabulary * model.hidden * ELEMENT_BYTES / serving.layout.tensor
    return size


def _sampler_bytes(model: ModelSpec, serving: Serving) -> float:
    engine = serving.engine
    if engine.chunked_prefill:
        return _SAMPLER_BYTES
    above = engine.chunked_above_context_tokens
    if above is not None and serving.longest(model) > above:
        return _LOGIT_BYTES
    return _SAMPLER_BYTES_BEFORE_V1


def _graphs(serving: Serving) -> Estimate:
    if serving.eager:
        return Estimate.exact(0.0)
    return Estimate(0.3 * GIB, 0.05 * GIB, 1.2 * GIB, Basis.ASSUMED)
