"""llama.cpp's compute buffer: the peak of one micro-batch's graph on one device.

Sources: ggml-org/llama.cpp src/llama-graph.cpp (build_attn_mha, build_attn_inp_kv),
src/llama-context.cpp (graph_reserve); ikawrakow/ik_llama.cpp docs (-mla, -amb).
"""

from dataclasses import dataclass
from typing import Final

from caudal.facts.model import GroupedQueryAttention, LatentAttention, Mixer, ModelSpec
from caudal.fit.activation import widths
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import MIB

_FLOAT: Final = 4  # what is computed is in 32 bit
_HALF: Final = 2  # masks for fused attention, and expanded keys and values
# Printed buffers of models without MLA are 1.00 to 1.04 of the larger of logits and layer, half
# of it where the head stands on another device, and up to 1.25 of it.
_DOUBT: Final = 1.4
# The fork works a long attention off in pieces of -amb MiB; people give 512, its default is all.
_PIECE: Final = 512 * MIB
_LATENT_DOUBT: Final = 4.0  # MLA at 2k: 0.49 to 1.02 GiB printed on devices with 0.25 of logits


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """Matrices that stay on the host: prompts are multiplied on the GPU all the same, in a copy.

    2.04 GiB of buffer with a head of 1.73 on the host (ik_llama.cpp pull request 333), 0.24 with
    one of 0.16 (328).
    """

    layer_bytes: float = 0.0  # the largest one of any layer
    head_bytes: float = 0.0


NOTHING_STREAMED: Final = Streamed()


def compute_buffer(
    model: ModelSpec,
    serving: Serving,
    *,
    output: bool = True,
    streamed: Streamed = NOTHING_STREAMED,
) -> Estimate:
    """Return the buffer of one device, which computes the output layer or not.

    `max(logits, layer)`. Logits: `n_ubatch · (vocabulary + 2 · hidden) · 4`. Layer:
    `n_ubatch · (3 · intermediate + 4 · hidden) · 4` and what attention holds: the mask
    (`n_ubatch · cells · 2`), and without fused attention the scores of all heads
    (`heads · n_ubatch · cells · 4`). The fork's -mla 2 and 3 expand the latents of all cells to
    keys and values: `heads · cells · (2 · (key + value) + 4 · (nope + value))`.
    Leaves out copies of the inputs for pipelined devices, within the range.
    """
    wide = widths(SameModel(model))
    tokens = serving.micro_batch
    logits = _FLOAT * tokens * (model.vocabulary + 2 * model.hidden) if output else 0
    layer = _FLOAT * tokens * (3 * max(wide.dense, wide.chosen_experts * wide.expert))
    layer += _FLOAT * tokens * 4 * model.hidden
    attention = max(
        (
            _attention(mixer, serving, cells=serving.cells(model))
            for mixer in {id(each): each for each in _mixers(model)}.values()
        ),
        key=lambda each: each.high,
        default=Estimate.exact(0.0),
    )
    low = max(logits, layer) / _DOUBT
    if serving.expands_latents:  # logits may take the room that attention has left, or not
        low = max(low, attention.low)
    latent = any(isinstance(mixer, LatentAttention) for mixer in _mixers(model))
    high = max(
        max(logits, layer) * (_LATENT_DOUBT if latent else _DOUBT),
        (logits if serving.expands_latents else 0) + layer + attention.high,
    )
    return Estimate(
        max(logits + streamed.head_bytes, layer + attention.value + streamed.layer_bytes),
        low,
        high + max(streamed.head_bytes, streamed.layer_bytes),
        Basis.CALIBRATED,
    )


def _mixers(model: ModelSpec) -> list[Mixer]:
    layers = {id(layer): layer for layer in model.layers}.values()
    return [mixer for layer in layers for mixer in layer.mixers]


def _attention(mixer: Mixer, serving: Serving, *, cells: int) -> Estimate:
    """Return what one attention layer holds for all cells while a micro-batch is computed."""
    tokens = serving.micro_batch
    match mixer:
        case GroupedQueryAttention():
            kept = cells if mixer.window_tokens is None else mixer.window_tokens + tokens
            return _scores(min(kept, cells), mixer.heads, serving)
        case LatentAttention():
            if not serving.expands_latents:
                rank = mixer.kv_lora_rank + mixer.rope_head_dim
                queries = 2 * _FLOAT * tokens * mixer.heads * rank  # queries and results
                return _scores(cells, mixer.heads, serving) + Estimate.exact(float(queries))
            key, value = mixer.nope_head_dim + mixer.rope_head_dim, mixer.value_head_dim
            kept = _HALF * cells * mixer.heads * (key + value)
            made = _FLOAT * cells * mixer.heads * (mixer.nope_head_dim + value)
            # fused attention wants them all, else some heads at a time are enough
            usual = kept + made / 2 if serving.fuses_attention else min(kept, _PIECE)
            whole = float(kept + made)
            expanded = Estimate(usual, min(usual, _PIECE), whole, Basis.ASSUMED)
            return expanded + _scores(cells, mixer.heads, serving, in_pieces=True)
        case _:
            return Estimate.exact(0.0)


def _scores(cells: int, heads: int, serving: Serving, *, in_pieces: bool = False) -> Estimate:
    pairs = serving.micro_batch * cells
    if serving.fuses_attention:
        return Estimate(
            float(_HALF * pairs), 0.0, (_FLOAT + _HALF) * float(pairs), Basis.CALIBRATED
        )
    scores, mask = float(_FLOAT * heads * pairs), float(_FLOAT * pairs)
    usual = min(scores, _PIECE) if in_pieces else scores
    return Estimate(mask + usual, usual / 2, mask + scores, Basis.CALIBRATED)
