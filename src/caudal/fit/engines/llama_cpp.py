"""llama.cpp and Ollama: everything is allocated at start, for the whole context of all slots.

Sources: ggml-org/llama.cpp src/llama-kv-cache.cpp, src/llama-kv-cache-iswa.cpp,
src/llama-memory-recurrent.cpp, src/llama-context.cpp.
"""

from typing import Final

from caudal.facts.model import (
    CrossAttention,
    GroupedQueryAttention,
    LatentAttention,
    Mixer,
    ModelSpec,
    RecurrentMixer,
)
from caudal.fit.activation import Overheads
from caudal.fit.compute_buffer import compute_buffer
from caudal.fit.kv_cache import (
    KvGroup,
    KvNeeds,
    cross_bytes,
    distinct_mixers,
    grouped_query_bytes,
    latent_bytes,
)
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel
from caudal.vocabulary.estimate import Basis, Estimate

# Recurrent states and convolution windows are kept in 32 bit (type_r and type_s are GGML_TYPE_F32).
_STATE_BYTES: Final = 4
_PADDING: Final = 256  # cells come in multiples of this


def kv_needs(model: ModelSpec, serving: Serving) -> KvNeeds:
    """Return llama.cpp's cells: one a token of each slot's context, sliding ones by window.

    Sliding layers get `slots · window + n_ubatch` cells, padded to 256; a recurrent layer a state
    a slot, in 32 bit. MLA keeps one compressed vector a cell; the fork ik_llama.cpp with -mla 0,
    and llama.cpp before it knew MLA, keep full heads (`Serving.latent_as_heads`). The device with
    most layers decides.
    """
    longest = serving.longest(model)
    stages = distinct_mixers(SameModel(model), serving.layout.pipeline)
    candidates = [layers_kv_needs(serving, mixers, longest) for mixers in stages]
    return max(candidates, key=lambda needs: needs.request_bytes(longest))


def layers_kv_needs(
    serving: Serving, mixers: tuple[tuple[Mixer, int], ...], longest: int
) -> KvNeeds:
    """Return the cells of some layers, given by mixer and how often it stands there."""
    sizes: dict[tuple[str, int | None], list[float]] = {}
    for mixer, count in mixers:
        kind, cap, size = _layer(mixer, serving)
        if size:
            tally = sizes.setdefault((kind, cap), [0.0, 0])
            tally[0] += count * size
            tally[1] += count
    shared = sum(
        size * _step_cells(serving, window)
        for (kind, window), (size, _) in sizes.items()
        if kind == "sliding" and window is not None
    )
    groups = tuple(
        KvGroup(
            kind=kind,
            layers=int(layers),
            block_bytes=size,
            block_tokens=1,
            cap_tokens=cap,
            extra_blocks=1 if kind == "state" else 0,
        )
        for (kind, cap), (size, layers) in sizes.items()
    )
    return KvNeeds(groups=groups, shared_bytes=shared, longest_tokens=longest)


def _step_cells(serving: Serving, window: int) -> int:
    """Return the cells of a sliding layer beyond its windows: one step, padded."""
    windows = serving.sequences * window
    return -(-(windows + serving.micro_batch) // _PADDING) * _PADDING - windows


def _layer(mixer: Mixer, serving: Serving) -> tuple[str, int | None, float]:
    match mixer:
        case GroupedQueryAttention():
            size = grouped_query_bytes(mixer, serving)
            if mixer.window_tokens is not None:
                return "sliding", mixer.window_tokens, size
            return "full", None, size
        case LatentAttention():
            return "latent", None, latent_bytes(mixer, serving)
        case RecurrentMixer():
            elements = mixer.state_elements + mixer.conv_elements
            return "state", 0, float(elements * _STATE_BYTES)
        case CrossAttention():
            return "cross", mixer.source_tokens, cross_bytes(mixer, serving)


def overheads(model: ModelSpec, serving: Serving) -> Overheads:
    """Return the compute buffer of the device that holds the output, and the CUDA context."""
    engine = serving.engine
    low, high = engine.non_torch_range_bytes
    return Overheads(
        activation=compute_buffer(model, serving),
        graphs=Estimate.exact(0.0),
        other=Estimate(float(engine.non_torch_bytes), low, high, Basis.ASSUMED),
        buffers=Estimate.exact(0.0),
    )
