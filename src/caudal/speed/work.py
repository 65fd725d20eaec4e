"""What one engine step must move and multiply on each GPU, whatever the GPU is.

A step runs `n` tokens through the model. Matrices are read once a step, however many tokens pass;
keys and values are read once for each sequence. Everything here is arithmetic on the model's
shape, the storage formats and the layout; how fast a GPU does it is said in `steps`.
"""

from dataclasses import dataclass
from typing import Final

from caudal.facts.model import ModelSpec
from caudal.facts.precision import Arithmetic
from caudal.fit.serving import Serving
from caudal.fit.speculation import Speculation
from caudal.speed.shape import (
    AttentionShape,
    MatrixKind,
    MatrixShape,
    ModelShape,
    model_shape,
)
from caudal.vocabulary.errors import InvalidLayoutError

ACTIVATION_BYTES: Final = 2  # activations travel between GPUs in 16 bit in every engine at hand
UNQUANTISED_BITS: Final = 16.0  # bf16 and fp16
NEVER_FLUSHED: Final = 2**30  # chunks of an engine whose pipeline takes up the next prompt at once


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixWork:
    """One kind of weight matrices, all layers together, on one GPU.

    For experts (`experts > 0`) `weight_bytes` are those of all experts on this GPU; a step of `n`
    tokens reads the expected share of distinct ones, `1 − (1 − chosen/experts)^n`.
    """

    kind: MatrixKind
    quantised: bool  # multiplied in the format's own arithmetic where the GPU has it
    weight_bytes: float
    flop_per_token: float
    experts: int = 0
    chosen: int = 0
    ranks: int = 1  # GPUs that hold whole experts: the fullest of them is waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionWork:
    """The attention layers that look equally far back, all together, on one GPU."""

    window_tokens: float  # infinite where every earlier token is read
    kv_bytes_per_token: float  # read by one decoding sequence for each token of its context
    decode_flop_per_token: float  # likewise
    prefill_flop_per_pair: float  # for each pair of a query and an earlier token


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepWork:
    """One model under one serving configuration, per GPU of one replica.

    Token and sequence counts that `steps` asks for are those of the whole replica; with
    attention data parallelism each GPU holds its share of the sequences.
    """

    engine: str
    era: str  # the year of the engine, "" for the newest
    version: str  # of the engine, "" for the newest
    weight_format: str
    arithmetic: Arithmetic
    activations_quantised: bool
    family: str
    layers: int
    tensor: int
    pipeline: int
    data: int
    microbatches: int  # into which a pipeline cuts the sequences, so that all stages are busy
    flush_chunks: int  # prefill chunks after which a pipeline runs empty
    matrices: tuple[MatrixWork, ...]
    attention: tuple[AttentionWork, ...]
    state_bytes: float  # recurrent states and cross-attention keys, read per sequence and step
    collectives: int  # all-reduces (or dispatch and combine) of a step
    collective_bytes_per_token: float  # that each of them moves
    chunk_tokens: int  # most tokens of one step, over all data parallel ranks
    chunked_prefill: bool
    eager: bool
    speculation: Speculation | None = None  # None: one token a sequence and step

    @property
    def gpus(self) -> int:
        """Return how many GPUs one replica occupies."""
        return self.tensor * self.pipeline * self.data

    @property
    def latent(self) -> bool:
        """Return whether attention works on a compressed latent (MLA)."""
        return any(matrix.kind is MatrixKind.LATENT for matrix in self.matrices)

    @property
    def mixture(self) -> bool:
        """Return whether the model has routed experts."""
        return any(matrix.experts for matrix in self.matrices)


def step_work(
    model: ModelSpec, serving: Serving, *, data: int = 1, era: str = "", version: str = ""
) -> StepWork:
    """Return what one step of `model` asks of each GPU of one replica.

    `data` is attention data parallelism: attention and dense layers stand whole on each of the
    GPUs of the expert group, which shares the sequences out and spreads the experts.
    Leaves out embeddings (a lookup), vision encoders and multi-token prediction.

    Raises:
        InvalidLayoutError: data parallel attention together with a tensor-split attention.
    """
    layout = serving.layout
    if data > 1 and layout.tensor > 1:
        raise InvalidLayoutError(
            f"Attention is both split over {layout.tensor} GPUs and repeated {data} times.",
            remedy="Give either tensor parallelism or attention data parallelism.",
        )
    shape = model_shape(model)
    split = _Split(layout.tensor, data, layout.expert or data > 1)
    spread = layout.tensor * data
    by_layer = serving.engine.splits_by_layer
    chunk = serving.micro_batch if by_layer else serving.step_tokens(model)
    return StepWork(
        engine=serving.engine.name,
        era=era,
        version=version,
        weight_format=serving.weight_format.name,
        arithmetic=serving.weight_format.arithmetic,
        activations_quantised=serving.weight_format.activations_quantised,
        family=model.family,
        layers=len(model.layers),
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        data=data,
        microbatches=1 if by_layer else layout.pipeline,
        flush_chunks=max(serving.step_tokens(model) // chunk, 1) if by_layer else NEVER_FLUSHED,
        matrices=_matrices(shape, serving, split),
        attention=tuple(
            _attention(part, split, serving.kv_format.bytes_per_element) for part in shape.attention
        ),
        state_bytes=shape.state_bytes / spread,
        collectives=_collectives(shape, split),
        collective_bytes_per_token=float(ACTIVATION_BYTES * model.hidden),
        chunk_tokens=chunk * data,
        chunked_prefill=serving.engine.chunked_prefill,
        eager=serving.eager,
        speculation=serving.speculation,
    )


@dataclass(frozen=True, slots=True)
class _Split:
    tensor: int
    data: int
    expert: bool


def _matrices(shape: ModelShape, serving: Serving, split: _Split) -> tuple[MatrixWork, ...]:
    """Sum the matrices of each kind and storage as one GPU holds them.

    Stages of a pipeline work one after another on a token: their times add up to those of the
    whole stack, so pipeline parallelism divides nothing here.
    """
    stored = serving.weight_format
    sums: dict[tuple[MatrixKind, bool, int, int], list[float]] = {}
    for matrix in shape.matrices:
        bits = stored.bits_for(matrix.role) if matrix.matrix else UNQUANTISED_BITS
        held, worked = _shares(matrix, split)
        key = (matrix.kind, bits < UNQUANTISED_BITS, matrix.experts, matrix.chosen)
        total = sums.setdefault(key, [0.0, 0.0])
        total[0] += matrix.parameters * bits / 8 * held
        total[1] += 2.0 * matrix.active_parameters * worked
    return tuple(
        MatrixWork(
            kind=kind,
            quantised=quantised,
            weight_bytes=total[0],
            flop_per_token=total[1],
            experts=experts,
            chosen=chosen,
            ranks=split.tensor * split.data if experts and split.expert else 1,
        )
        for (kind, quantised, experts, chosen), total in sums.items()
    )


def _shares(matrix: MatrixShape, split: _Split) -> tuple[float, float]:
    """Return which share of a matrix one GPU holds, and of its FLOP it does for each token."""
    if matrix.experts:
        share = 1.0 / (split.tensor * split.data)
        return share, share
    held = 1.0 / matrix.ways(split.tensor)
    return held, held / split.data


def _attention(part: AttentionShape, split: _Split, element_bytes: float) -> AttentionWork:
    heads_share = 1.0 / min(split.tensor, part.heads)
    kv_share = 1.0 / min(split.tensor, part.kv_heads)
    kept = part.kv_elements * element_bytes * kv_share + part.kv_bytes
    return AttentionWork(
        window_tokens=part.window_tokens,
        kv_bytes_per_token=kept / split.data,
        decode_flop_per_token=part.decode_flop * heads_share / split.data,
        prefill_flop_per_pair=part.prefill_flop * heads_share / split.data,
    )


def _collectives(shape: ModelShape, split: _Split) -> int:
    """Count the exchanges between GPUs in one step: one after each mixer and feed-forward part."""
    if split.tensor > 1:
        return shape.mixers + shape.feed_forwards
    if split.data > 1:
        return 2 * shape.mixture_layers  # dispatch to the experts and combine
    return 0
