"""TensorRT-LLM: a fraction of what is free once the engine and its buffers stand.

Source: docs/source/reference/memory.md of NVIDIA/TensorRT-LLM.
"""

from typing import Final

from caudal.facts.model import ModelSpec
from caudal.fit.activation import Overheads, layer_bytes_per_token
from caudal.fit.engines.paged import PagedRule, paged_kv_needs
from caudal.fit.kv_cache import KvNeeds
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Basis, Estimate

# The decoder's buffers for each logit of each sequence: 785 MiB for 2,048 sequences of Llama 2
# (MLPerf Inference v5.1), 5.5 GiB of buffers in all for 2,048 of Llama 3.1 on an RTX 5090.
_DECODER_BYTES: Final = 12.0
_RULE: Final = PagedRule(windowed=True, state_bytes=4, cross_counts_as_full=False)


def kv_needs(model: ModelSpec, serving: Serving) -> KvNeeds:
    """Return TensorRT-LLM's pools, one for each window size."""
    return paged_kv_needs(model, serving, _RULE)


def overheads(model: ModelSpec, serving: Serving) -> Overheads:
    """Return execution context, runtime buffers and decoder."""
    engine = serving.engine
    peak = serving.step_tokens(model) * layer_bytes_per_token(model, serving)
    peak += serving.sequences * model.vocabulary * _DECODER_BYTES
    low, high = engine.non_torch_range_bytes
    other = Estimate(float(engine.non_torch_bytes), low, high, Basis.CALIBRATED)
    return Overheads(
        activation=Estimate.within(peak, 1.5, Basis.CALIBRATED),
        graphs=Estimate.exact(0.0),
        other=other,
        buffers=Estimate.exact(0.0),
    )
