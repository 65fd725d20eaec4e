"""The memory of training and fine-tuning one model on one GPU of a data-parallel group.

Weights, gradients and optimiser states follow the ZeRO paper's count for mixed-precision Adam;
activations follow Korthikanti et al.; adapters and 4-bit bases follow LoRA and QLoRA. Everything
is arithmetic on the model's shape. Leaves out tensor and pipeline parallelism, offloading to the
host, and optimisers with fewer states.

Sources: arXiv:1910.02054 §3.1 and §5 (ZeRO); arXiv:2205.05198 eq. 1, 2 and §4.3 (activations);
arXiv:2106.09685 §4 (LoRA); arXiv:2305.14314 §3 (QLoRA).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from caudal.facts.model import (
    DenseFeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    ModelSpec,
)
from caudal.facts.precision import Role
from caudal.facts.precisions import weight_format
from caudal.facts.weights import weight_groups
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB, Tokens

# Mixed precision with Adam: 16-bit weights and gradients, and in 32 bit a copy of the weights,
# momentum and variance. Source: arXiv:1910.02054 §3.1 (2Ψ + 2Ψ + KΨ with K = 12).
WEIGHT_BYTES: Final = 2.0
GRADIENT_BYTES: Final = 2.0
OPTIMISER_BYTES: Final = 12.0
# Bytes of a layer's activations a token and hidden element: everything kept, attention scores
# recomputed. Source: arXiv:2205.05198 eq. 2 without the term 5as/h (selective recomputation).
LAYER_BYTES: Final = 34.0
# Only the input of each layer is kept. Source: arXiv:2205.05198 §4.3 ("2sbhL").
CHECKPOINT_BYTES: Final = 2.0
# Of the last norm, the output projection and the loss: 4sbh(1 + v/h). Source: §4.3.
OUTPUT_BYTES: Final = 4.0
# Context of the driver, buffers that gather gradients, fragmentation. Chosen: ZeRO §3.2 names them
# without a rule; from half a GiB (one GPU) to four (large buckets) is what frameworks show.
OTHER_BYTES: Final = Estimate(2 * GIB, 0.5 * GIB, 4 * GIB, Basis.ASSUMED)
COUNTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
USUAL_SEQUENCE: Final = Tokens(4096)  # chosen: what most recipes for fine-tuning pack to


class Method(StrEnum):
    """What is trained."""

    FULL = "full"  # every weight
    LORA = "lora"  # low-rank adapters on a 16-bit base
    QLORA = "qlora"  # low-rank adapters on a 4-bit base


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """One way to train."""

    model: ModelSpec
    method: Method
    gpus: int = 1  # of the data-parallel group
    zero_stage: int = 0  # 0 to 3: what is shared over the group
    sequence_tokens: Tokens = USUAL_SEQUENCE
    micro_batch: int = 1  # sequences of one step on one GPU
    checkpointing: bool = True  # activations are computed again in the backward pass
    rank: int = 16  # of the adapters

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("GPUs", self.gpus, 1, 100_000),
            ("A ZeRO stage", self.zero_stage, 0, 3),
            ("Tokens of a sequence", self.sequence_tokens, 1, 10_000_000),
            ("A micro-batch", self.micro_batch, 1, 10_000),
            ("A rank", self.rank, 1, 65_536),
        ):
            if not least <= value <= most:
                raise InvalidQuantityError(
                    f"{name}: {value:,} cannot be meant.", remedy=f"Give {least:,} to {most:,}."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """Where the memory of one GPU goes, in bytes."""

    weights: Estimate
    gradients: Estimate
    optimiser: Estimate
    activations: Estimate
    other: Estimate
    trained_parameters: int

    @property
    def terms(self) -> tuple[tuple[str, Estimate], ...]:
        """Return the named terms in the order of a table."""
        return (
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimiser", self.optimiser),
            ("activations", self.activations),
            ("other", self.other),
        )

    @property
    def total(self) -> Estimate:
        """Return what one GPU needs."""
        weights, gradients, optimiser = self.weights, self.gradients, self.optimiser
        return weights + gradients + optimiser + self.activations + self.other


def training_memory(question: TrainingQuestion) -> TrainingMemory:
    """Return the memory of one GPU.

    ZeRO shares the optimiser states over the group from stage 1 on, gradients from 2, weights
    from 3; each share is `bytes / gpus`. A frozen base is shared at stage 3 too.
    """
    trained = trained_parameters(question)
    stage, gpus = question.zero_stage, question.gpus
    states = trained * OPTIMISER_BYTES / (gpus if stage >= 1 else 1)
    gradients = trained * GRADIENT_BYTES / (gpus if stage >= 2 else 1)
    weights = _weight_bytes(question, trained) / (gpus if stage >= 3 else 1)
    return TrainingMemory(
        weights=Estimate.exact(weights),
        gradients=Estimate.exact(gradients),
        optimiser=Estimate.exact(states),
        activations=_activations(question),
        other=OTHER_BYTES,
        trained_parameters=trained,
    )


def trained_parameters(question: TrainingQuestion) -> int:
    """Return how many parameters get gradients: all, or those of the adapters."""
    model = question.model
    if question.method is Method.FULL:
        return sum(group.parameters for group in weight_groups(model) if group.role is not Role.MTP)
    return sum(
        question.rank * (rows + columns)
        for layer in model.layers
        for rows, columns in _adapted(layer, model.hidden)
    )


def needs_by_gpus(question: TrainingQuestion) -> tuple[tuple[int, float], ...]:
    """Return, for groups of 1, 2, 4 … 128 GPUs, the bytes that each of them surely needs.

    Without sharing, more GPUs change nothing, so the group of one stands alone.
    """
    counts = COUNTS if question.zero_stage else COUNTS[:1]
    return tuple(
        (gpus, training_memory(replace(question, gpus=gpus)).total.high) for gpus in counts
    )


def fewest_gpus(needs: Sequence[tuple[int, float]], usable_bytes: float) -> int | None:
    """Return the smallest group of `needs_by_gpus` whose GPUs hold their part, None if none do."""
    return next((gpus for gpus, need in needs if need <= usable_bytes), None)


def _weight_bytes(question: TrainingQuestion, trained: int) -> float:
    """Return the bytes of all weights that are loaded, adapters included."""
    groups = [group for group in weight_groups(question.model) if group.role is not Role.MTP]
    if question.method is Method.FULL:
        return trained * WEIGHT_BYTES
    if question.method is Method.LORA:
        return (sum(group.parameters for group in groups) + trained) * WEIGHT_BYTES
    stored, tied = weight_format("nf4"), question.model.tied_embeddings
    base = sum(
        group.parameters * stored.bits_for(group.role, tied_embeddings=tied) / 8 for group in groups
    )
    return base + trained * WEIGHT_BYTES


def _activations(question: TrainingQuestion) -> Estimate:
    """Return `sbh · 34 · L`, or `sbh · (2L + 34)` with checkpoints, plus `4sbh(1 + v/h)`.

    34 counts a block of attention and an MLP of four times the hidden size with dropout; without
    dropout it is less, with gated or wider MLPs more, so a quarter either way is the range.
    """
    model = question.model
    tokens = question.sequence_tokens * question.micro_batch
    width = tokens * model.hidden
    layers = len(model.layers)
    kept = (
        CHECKPOINT_BYTES * layers + LAYER_BYTES
        if question.checkpointing
        else (LAYER_BYTES * layers)
    )
    output = OUTPUT_BYTES * width * (1 + model.vocabulary / model.hidden)
    value = width * kept + output
    return Estimate(value, value * 0.75, value * 1.25, Basis.ASSUMED)


def _adapted(layer: Layer, hidden: int) -> Iterator[tuple[int, int]]:
    """Yield rows and columns of the matrices that get an adapter.

    Attention's and dense feed-forward ones; experts, recurrent mixers and embeddings get none.
    """
    for mixer in layer.mixers:
        yield from _attention_matrices(mixer, hidden)
    feed = layer.feed_forward
    if isinstance(feed, DenseFeedForward):
        for _ in range(3 if feed.gated else 2):
            yield hidden, feed.intermediate


def _attention_matrices(mixer: Mixer, hidden: int) -> Iterator[tuple[int, int]]:
    match mixer:
        case GroupedQueryAttention():
            values = mixer.value_head_dim or mixer.head_dim
            yield hidden, mixer.heads * mixer.head_dim
            if mixer.owns_kv:
                yield hidden, mixer.kv_heads * mixer.head_dim
                yield hidden, mixer.kv_heads * values
            yield mixer.heads * values, hidden
        case LatentAttention():
            query = mixer.heads * (mixer.nope_head_dim + mixer.rope_head_dim)
            if mixer.q_lora_rank is None:
                yield hidden, query
            else:
                yield hidden, mixer.q_lora_rank
                yield mixer.q_lora_rank, query
            yield hidden, mixer.kv_lora_rank + mixer.rope_head_dim
            yield mixer.kv_lora_rank, mixer.heads * (mixer.nope_head_dim + mixer.value_head_dim)
            yield mixer.heads * mixer.value_head_dim, hidden
        case _:
            return
