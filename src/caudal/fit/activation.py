"""What an engine needs beside weights and cache: activations, sampling, graphs, libraries."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from caudal.facts.model import (
    DenseFeedForward,
    GroupedQueryAttention,
    LatentAttention,
    MixtureFeedForward,
    ModelSpec,
)
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel
from caudal.vocabulary.estimate import Estimate

ELEMENT_BYTES: Final = 2  # activations are in 16 bit
# DeepSeek V4 carries four copies of the hidden state (hc_mult of its config.json), mixed in 32 bit.
_STREAMS: Final = 4
_STREAM_BYTES: Final = 4
_STREAMS_DOUBT: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """What one GPU holds beside weights and KV cache, in bytes."""

    activation: Estimate  # the peak of one step, sampling included
    graphs: Estimate  # CUDA graphs
    other: Estimate  # CUDA context as far as the engine counts it, libraries, collectives
    buffers: Estimate  # loaded with the weights: rotary tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """The widest tensors that one token passes through, in elements over the whole model."""

    hidden: int
    dense: int  # intermediate of the widest dense layer (one matrix)
    chosen_experts: int  # experts a token passes
    expert: int  # intermediate of one expert
    attention: int  # queries, keys and values together
    gated: bool
    streams: int  # copies of the hidden state that are carried along (hyper-connections)


@lru_cache(maxsize=512)
def widths(same: SameModel) -> Widths:
    """Return the widest tensors of a model."""
    model = same.model
    dense = chosen = expert = attention = 0
    gated, streams = True, 1
    for layer in {id(layer): layer for layer in model.layers}.values():
        match layer.feed_forward:
            case DenseFeedForward() as plain:
                dense = max(dense, plain.intermediate)
                gated = plain.gated
            case MixtureFeedForward() as mixture:
                dense = max(dense, mixture.shared_intermediate, mixture.parallel_dense_intermediate)
                chosen = max(chosen, mixture.experts_per_token)
                expert = max(expert, mixture.expert_intermediate)
            case None:
                pass
        for mixer in layer.mixers:
            match mixer:
                case GroupedQueryAttention():
                    attention = max(attention, (mixer.heads + 2 * mixer.kv_heads) * mixer.head_dim)
                case LatentAttention():
                    streams = max(streams, _STREAMS if mixer.compression > 1 else 1)
                    head = mixer.nope_head_dim + mixer.rope_head_dim
                    attention = max(attention, mixer.heads * (2 * head + mixer.value_head_dim))
                case _:
                    pass
    return Widths(
        hidden=model.hidden,
        dense=dense,
        chosen_experts=chosen,
        expert=expert,
        attention=attention,
        gated=gated,
        streams=streams,
    )


def layer_bytes_per_token(model: ModelSpec, serving: Serving) -> float:
    """Return the peak of one layer's activations for one token of a step, on one GPU.

    Dense: `2 bytes · (3 · intermediate / TP + 3 · hidden)`: gate and up, their product, and the
    hidden state, its residual and the norm's output. Mixture: the same for the chosen experts,
    each with an output row of its own. The wider of the two counts.

    Measured: Llama-3.1-8B, 2.06 GiB for 20,000 tokens and 2.99 GiB for 29,000
    (vllm-project/vllm issue 10517), which this gives to 1 %.
    """
    wide = widths(SameModel(model))
    tensor = serving.layout.tensor
    matrices = 3 if wide.gated else 2
    dense = matrices * wide.dense / tensor + 3 * wide.hidden
    each = matrices * wide.expert / (1 if serving.layout.expert else tensor) + wide.hidden
    mixture = wide.chosen_experts * each + 2 * wide.hidden if wide.chosen_experts else 0.0
    attention = wide.attention / tensor + 3 * wide.hidden
    carried = 3 * wide.hidden * (wide.streams - 1) * _STREAM_BYTES
    return ELEMENT_BYTES * max(dense, mixture, attention) + carried


def activation_doubt(model: ModelSpec, *, usual: float) -> float:
    """Return by which factor the activation peak may be larger than computed.

    Hyper-connections and compressed attention have work spaces that no log in hand explains:
    one shows 11 GiB beside the weights, another 3 (DeepSeek V4 on two GPUs).
    """
    return usual if widths(SameModel(model)).streams == 1 else _STREAMS_DOUBT
