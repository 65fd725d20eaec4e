"""SGLang: a static share of the memory for weights and cache, the rest for everything else.

Sources: python/sglang/srt/model_executor/model_runner.py (profile_max_num_token),
python/sglang/srt/server_args.py (mem_fraction_static), 0.2 to 0.5.
"""

from dataclasses import replace
from typing import Final

from caudal.facts.model import ModelSpec
from caudal.fit.activation import ELEMENT_BYTES, Overheads, layer_bytes_per_token
from caudal.fit.engines.paged import PagedRule, paged_kv_needs
from caudal.fit.kv_cache import KvNeeds
from caudal.fit.rotary import rotary_bytes
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB

# Sliding layers of most models are stored in full; cross-attention layers have a slot a token
# (Llama 3.2 Vision: 163,840 bytes a token over all 40 layers, as its log prints).
_RULE: Final = PagedRule(windowed=False, state_bytes=4, cross_counts_as_full=True)


# Families with a pool of their own for sliding layers, since 0.5, and its default share of slots.
# Source: python/sglang/srt/configs/model_config.py (is_hybrid_swa_model), server_args.py
# (swa_full_tokens_ratio 0.8).
_SMALLER_WINDOW_POOL: Final = frozenset({"gpt_oss", "llama4", "mimo_v2", "mimo_v2_flash"})
_WINDOW_SHARE: Final = 0.8
# SGLang reports what the free memory fell by while weights loaded: kernels, half-filled segments
# of the allocator and workspaces are in it. Median of eight logs of its documentation.
_LOADING_BYTES: Final = round(0.06 * GIB)


def kv_needs(model: ModelSpec, serving: Serving) -> KvNeeds:
    """Return SGLang's pools: one slot a token in every attention layer, a state a sequence.

    A few families have a smaller pool for their sliding layers, of a fixed share of the slots.
    """
    if model.family in _SMALLER_WINDOW_POOL and serving.engine.reserve is not None:
        return paged_kv_needs(model, serving, replace(_RULE, window_share=_WINDOW_SHARE))
    return paged_kv_needs(model, serving, _RULE)


def overheads(model: ModelSpec, serving: Serving) -> Overheads:
    """Return what has to find room in the share that SGLang leaves free."""
    step = serving.step_tokens(model)
    peak = step * layer_bytes_per_token(model, serving)
    peak += min(step, 512) * model.vocabulary * ELEMENT_BYTES
    engine = serving.engine
    low, high = engine.non_torch_range_bytes
    other = Estimate(float(engine.non_torch_bytes), low, high, Basis.CALIBRATED)
    graphs = Estimate.exact(0.0)
    if not serving.eager:
        graphs = Estimate(0.4 * GIB, 0.05 * GIB, 1.5 * GIB, Basis.CALIBRATED)
    return Overheads(
        activation=Estimate.within(peak, 1.5, Basis.CALIBRATED),
        graphs=graphs,
        other=other,
        buffers=Estimate.exact(rotary_bytes(model, serving) + _LOADING_BYTES),
    )
