"""Which device holds which layer: llama.cpp's split over cards, equal or not, and the host.

Layers are counted with the output layer: a model of 28 blocks has 29, and of N offloaded ones
the output is the first (ggml-org/llama.cpp src/llama-model.cpp, load_tensors; gpustack/
gguf-parser-go#42: "offloaded 1/29" is the head alone). Tables for the input never leave the host.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Final

from caudal.facts.model import Mixer, MixtureFeedForward, ModelSpec
from caudal.facts.precision import Role
from caudal.fit.budget import CardMemory, Verdict
from caudal.fit.compute_buffer import Streamed, compute_buffer
from caudal.fit.engines.llama_cpp import layers_kv_needs
from caudal.fit.kv_cache import KvNeeds
from caudal.fit.needs import HOST_OF_ONE, MemoryNeeds, PoolRule
from caudal.fit.serving import Serving
from caudal.fit.weights import LayerWeights, SameModel, WeightNeeds, layer_weights
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.estimate import Basis, Estimate

_MATRICES: Final = 3  # gate, up and down of a feed-forward: tensors of their own in a GGUF


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """What a user wants on the cards; by default everything."""

    gpu_layers: int | None = None  # with the output layer; None: all
    host_expert_layers: int = 0  # of so many first layers the experts stay on the host
    tensor_split: tuple[float, ...] | None = None  # shares of the cards; None: by free memory


EVERYTHING: Final = Offload()
ALL_LAYERS: Final = 10_000  # more than any model has: --cpu-moe


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceShare:
    """One card: what it holds, as needs like those of any GPU."""

    layers: int  # of the stack
    output: bool  # whether the output layer is here
    needs: MemoryNeeds

    def pool(self, card: CardMemory) -> Estimate:
        """Return what the share leaves of a card for its cells."""
        return self.needs.kv_pool_bytes(card.visible_bytes, unified=card.unified)

    def verdict(self, card: CardMemory, *, sequences: int, tokens: int) -> Verdict:
        """Return whether the share surely, perhaps or surely not fits into what is free."""
        kv = self.needs.kv
        pool = self.pool(card)
        needed = kv.bytes_for(sequences=sequences, tokens=tokens)
        if pool.low >= needed:
            return Verdict.FITS
        return Verdict.DOES_NOT_FIT if pool.high < needed else Verdict.UNCERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class HostShare:
    """What stays in main memory."""

    layers: int  # of the stack, whole
    expert_layers: int  # more layers whose experts alone are here
    weights: Estimate
    kv: KvNeeds | None

    def bytes_needed(self, *, sequences: int, tokens: int) -> Estimate:
        """Return the main memory that weights and cells take, without the process itself."""
        if self.kv is None:
            return self.weights
        cells = self.kv.bytes_for(sequences=sequences, tokens=tokens)
        return self.weights + Estimate.exact(cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where every layer is."""

    devices: tuple[DeviceShare, ...]
    host: HostShare
    gpu_layers: int
    all_layers: int  # the output layer included

    @property
    def whole(self) -> bool:
        """Return whether every layer is on a card, experts included."""
        return self.gpu_layers == self.all_layers and self.host.expert_layers == 0

    def verdict(self, cards: Sequence[CardMemory], *, sequences: int, tokens: int) -> Verdict:
        """Return the worst verdict of all cards."""
        verdicts = {
            device.verdict(card, sequences=sequences, tokens=tokens)
            for device, card in zip(self.devices, cards, strict=True)
        }
        for worst in (Verdict.DOES_NOT_FIT, Verdict.UNCERTAIN):
            if worst in verdicts:
                return worst
        return Verdict.FITS


def place(
    model: ModelSpec,
    serving: Serving,
    cards: Sequence[CardMemory],
    offload: Offload = EVERYTHING,
) -> Placement:
    """Return llama.cpp's placement on cards, of which what is visible is free.

    Shares follow the free memory, or `tensor_split`: of `n` offloaded layers the `i`-th goes to
    the first card whose cumulated share exceeds `i / n`. Leaves out other cards of the host.

    Raises:
        InvalidQuantityError: shares that are not as many as the cards, or all zero.
    """
    shares = _shares(cards, offload)
    last = len(model.layers)  # the place of the output layer
    count = last + 1 if offload.gpu_layers is None else min(offload.gpu_layers, last + 1)
    start = last + 1 - count
    homes = [
        None
        if place < start
        else min(bisect_right(shares, (place - start) / count), len(shares) - 1)
        for place in range(last + 1)
    ]
    # what layers weigh does not depend on cells: one answer for every context and slot
    plain = replace(serving, max_sequences=None, max_model_tokens=None, max_batched_tokens=None)
    sizes = _layer_weights(SameModel(model), plain)
    experts_on_host = frozenset(range(min(offload.host_expert_layers, last)))
    held = [
        [place for place in range(last) if homes[place] == device] for device in range(len(cards))
    ]
    streamed = _streamed(sizes, homes, experts_on_host)
    devices = tuple(
        _device(
            model,
            serving,
            layers=held[device],
            sizes=sizes,
            output=homes[last] == device,
            first=device == 0,
            streamed=streamed if device == 0 else Streamed(),
            experts_on_host=experts_on_host,
        )
        for device in range(len(cards))
    )
    return Placement(
        devices=devices,
        host=_host(model, serving, sizes, homes, experts_on_host),
        gpu_layers=count,
        all_layers=last + 1,
    )


def most_gpu_layers(
    model: ModelSpec,
    serving: Serving,
    cards: Sequence[CardMemory],
    *,
    sequences: int,
    tokens: int,
    tensor_split: tuple[float, ...] | None = None,
) -> int:
    """Return the largest number of offloaded layers that surely fits, 0 where none does."""

    def fits(count: int) -> bool:
        offload = Offload(gpu_layers=count, tensor_split=tensor_split)
        placed = place(model, serving, cards, offload)
        return placed.verdict(cards, sequences=sequences, tokens=tokens) is Verdict.FITS

    low, high = 0, len(model.layers) + 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def fewest_host_experts(
    model: ModelSpec,
    serving: Serving,
    cards: Sequence[CardMemory],
    *,
    sequences: int,
    tokens: int,
    tensor_split: tuple[float, ...] | None = None,
) -> int | None:
    """Return of how many layers the experts must leave for the rest to surely fit.

    None where the model has no experts, or the rest does not fit either.
    """
    if not has_experts(model):
        return None

    def fits(count: int) -> bool:
        offload = Offload(host_expert_layers=count, tensor_split=tensor_split)
        placed = place(model, serving, cards, offload)
        return placed.verdict(cards, sequences=sequences, tokens=tokens) is Verdict.FITS

    low, high = 0, len(model.layers)
    if not fits(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


def has_experts(model: ModelSpec) -> bool:
    """Return whether any layer is a mixture of experts."""
    return any(isinstance(layer.feed_forward, MixtureFeedForward) for layer in model.layers)


def _shares(cards: Sequence[CardMemory], offload: Offload) -> list[float]:
    """Return the cumulated shares of the cards."""
    wanted = offload.tensor_split or tuple(card.visible_bytes for card in cards)
    if len(wanted) != len(cards) or min(wanted) < 0 or sum(wanted) <= 0:
        raise InvalidQuantityError(
            f"A tensor split of {', '.join(f'{each:g}' for each in wanted)} does not divide "
            f"{len(cards)} cards.",
            remedy="Give one share a card, none below zero and not all of them zero: 3,1.",
        )
    whole = sum(wanted)
    return [each / whole for each in accumulate(wanted)]


@lru_cache(maxsize=64)
def _layer_weights(same: SameModel, serving: Serving) -> LayerWeights:
    return layer_weights(same.model, serving)


def _device(
    model: ModelSpec,
    serving: Serving,
    *,
    layers: Sequence[int],
    sizes: LayerWeights,
    output: bool,
    first: bool,
    streamed: Streamed,
    experts_on_host: frozenset[int],
) -> DeviceShare:
    parts = [
        _without_experts(sizes.layers[layer]) if layer in experts_on_host else sizes.layers[layer]
        for layer in layers
    ]
    parts += [sizes.output] * output + [sizes.vision] * first
    by_role = _summed(parts)
    total = sum(by_role.values())
    computes_output = output or bool(streamed.head_bytes)
    engine = serving.engine
    low, high = engine.non_torch_range_bytes
    needs = MemoryNeeds(
        rule=PoolRule.WHOLE,
        fraction=1.0,
        weights=_spread(total, sizes),
        weights_by_role=WeightNeeds(
            total=_spread(total, sizes),
            by_role=tuple(sorted(by_role.items(), key=lambda each: -each[1])),
            stage=0,
            allocation_slack=0.0,
        ),
        kv=_kv(model, serving, layers),
        activation=compute_buffer(model, serving, output=computes_output, streamed=streamed),
        graphs=Estimate.exact(0.0),
        other=Estimate(float(engine.non_torch_bytes), low, high, Basis.ASSUMED),
        graphs_profiled=False,
        host=HOST_OF_ONE,
    )
    return DeviceShare(layers=len(layers), output=output, needs=needs)


def _host(
    model: ModelSpec,
    serving: Serving,
    sizes: LayerWeights,
    homes: Sequence[int | None],
    experts_on_host: frozenset[int],
) -> HostShare:
    whole = [place for place, home in enumerate(homes[:-1]) if home is None]
    apart = sorted(experts_on_host.difference(whole))
    parts: list[Mapping[Role, float]] = [sizes.input, *(sizes.layers[place] for place in whole)]
    if homes[-1] is None:
        parts.append(sizes.output)
    experts = sum(sizes.layers[place].get(Role.ROUTED_EXPERT, 0.0) for place in apart)
    held = sum(_summed(parts).values()) + experts
    return HostShare(
        layers=len(whole),
        expert_layers=sum(Role.ROUTED_EXPERT in sizes.layers[place] for place in apart),
        weights=_spread(held, sizes),
        kv=_kv(model, serving, whole) if whole else None,
    )


def _streamed(
    sizes: LayerWeights,
    homes: Sequence[int | None],
    experts_on_host: frozenset[int],
) -> Streamed:
    """Return the largest matrices on the host, which the first card multiplies prompts with."""
    largest = 0.0
    for place, home in enumerate(homes[:-1]):
        layer = sizes.layers[place]
        if home is None or place in experts_on_host:
            wide = (Role.ROUTED_EXPERT, Role.DENSE) if home is None else (Role.ROUTED_EXPERT,)
            largest = max(largest, *(layer.get(role, 0.0) / _MATRICES for role in wide))
    head = max(sizes.output.values(), default=0.0) if homes[-1] is None else 0.0
    return Streamed(layer_bytes=largest, head_bytes=head)


def _kv(model: ModelSpec, serving: Serving, layers: Sequence[int]) -> KvNeeds:
    counts: dict[Mixer, int] = {}
    for place in layers:
        for mixer in model.layers[place].mixers:
            counts[mixer] = counts.get(mixer, 0) + 1
    return layers_kv_needs(serving, tuple(counts.items()), serving.longest(model))


def _without_experts(layer: Mapping[Role, float]) -> Mapping[Role, float]:
    return {role: size for role, size in layer.items() if role is not Role.ROUTED_EXPERT}


def _summed(parts: Sequence[Mapping[Role, float]]) -> dict[Role, float]:
    total: dict[Role, float] = {}
    for part in parts:
        for role, size in part.items():
            total[role] = total.get(role, 0.0) + size
    return total


def _spread(size: float, sizes: LayerWeights) -> Estimate:
    spread = sizes.spread
    return Estimate(size * spread.value, size * spread.low, size * spread.high, spread.basis)
