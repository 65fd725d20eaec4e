"""The table of rotary angles that engines load beside the weights."""

from typing import Final

from caudal.facts.model import GroupedQueryAttention, LatentAttention, ModelSpec
from caudal.fit.serving import Serving

ROTARY_BYTES: Final = 2
# Families whose sliding layers turn with a base of their own (rope_local_base_freq), so that two
# tables are kept. Source: transformers, configuration_gemma3.py, configuration_gemma4.py.
_TWO_ROTARY_BASES: Final = frozenset({"gemma3", "gemma4", "gemma4_unified"})


def rotary_bytes(model: ModelSpec, serving: Serving) -> int:
    """Return the table of rotary angles that an engine keeps on every GPU.

    `positions · rotary elements · 2 bytes`, one table for each kind of head. It is why an 8B of
    14.958 GiB loads as 14.989 GiB in vLLM.

    Source: vLLM vllm/model_executor/layers/rotary_embedding.py (cos_sin_cache); measured in
    vllm-project/vllm issue 10517.
    """
    if model.position_parameters:
        return 0
    tables: set[tuple[int, bool]] = set()
    for layer in {id(layer): layer for layer in model.layers}.values():
        for mixer in layer.mixers:
            match mixer:
                case GroupedQueryAttention():
                    own = mixer.window_tokens is not None and model.family in _TWO_ROTARY_BASES
                    tables.add((mixer.head_dim, own))
                case LatentAttention():
                    tables.add((mixer.rope_head_dim, False))
                case _:
                    pass
    positions = max(model.max_context_tokens, serving.longest(model))
    return sum(ROTARY_BYTES * width * positions for width, _ in tables)
