"""Rows of engines that split by layers: every card is counted, and the host."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.advice import FrontierPoint
from caudal.fit.budget import CardMemory, MemoryBudget, Verdict, budget_of, card_memory
from caudal.fit.fit_rows import FitMemory, FitMend, FitPlacement, PlacedCard, memory_of
from caudal.fit.placement import (
    Offload,
    Placement,
    fewest_host_experts,
    has_experts,
    most_gpu_layers,
    place,
)
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Estimate, weaker
from caudal.vocabulary.formats import format_bytes_gib
from caudal.vocabulary.units import Tokens

_SHORTEST: Final = 1024  # tokens, where a frontier begins
_MOST_SLOTS: Final = 4096  # chosen: where a frontier stops counting


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A model served on certain cards, with all that is asked of them."""

    model: ModelSpec
    serving: Serving
    cards: tuple[GpuSpec, ...]
    free_bytes: float | None
    offload: Offload
    context_tokens: int
    concurrency: int

    @property
    def memories(self) -> tuple[CardMemory, ...]:
        """Return what is free on each card."""
        return tuple(card_memory(card, free_bytes=self.free_bytes) for card in self.cards)

    def placed(self) -> Placement:
        """Return where the layers go."""
        return place(self.model, self.serving, self.memories, self.offload)

    def verdict(self) -> Verdict:
        """Return the worst verdict of all cards."""
        return self.placed().verdict(
            self.memories, sequences=self.concurrency, tokens=self.context_tokens
        )

    def budgets(self) -> tuple[MemoryBudget, ...]:
        """Return the budget of every card."""
        return tuple(
            budget_of(
                share.needs,
                usable_bytes=card.visible_bytes,
                unified=card.unified,
                context_tokens=self.context_tokens,
                concurrency=self.concurrency,
            )
            for share, card in zip(self.placed().devices, self.memories, strict=True)
        )

    def tightest(self) -> MemoryBudget:
        """Return the budget of the card with the smallest margin at the careful end."""
        return min(self.budgets(), key=lambda budget: budget.margin_bytes.low)

    def of_context(self, tokens: int) -> "Load":
        """Return the same with cells for another context."""
        serving = replace(self.serving, max_model_tokens=Tokens(tokens))
        return replace(self, serving=serving, context_tokens=tokens)

    def of_slots(self, slots: int) -> "Load":
        """Return the same with another number of slots."""
        return replace(self, serving=replace(self.serving, max_sequences=slots), concurrency=slots)


def placed_memory(load: Load) -> FitMemory:
    """Return the memory of the tightest card, with what all cards together carry."""
    longest = load.of_context(load.model.max_context_tokens)
    return memory_of(
        load.tightest(),
        longest=_smallest([budget.longest_context for budget in longest.budgets()]),
        concurrency=_smallest([budget.max_concurrency for budget in load.budgets()]),
    )


def placement_of(load: Load) -> FitPlacement:
    """Return where everything is, and how far the cards reach."""
    placed = load.placed()
    split = load.offload.tensor_split
    sequences, tokens = load.concurrency, load.context_tokens
    cards = tuple(
        PlacedCard(
            gpu_id=card.id,
            layers=share.layers,
            output_layer=share.output,
            weights_bytes=share.needs.weights,
            kv_bytes=budget.kv_needed_bytes,
            compute_bytes=share.needs.activation,
            other_bytes=share.needs.other,
            free_bytes=budget.usable_bytes,
            margin_bytes=budget.margin_bytes,
        )
        for card, share, budget in zip(load.cards, placed.devices, load.budgets(), strict=True)
    )
    return FitPlacement(
        cards=cards,
        gpu_layers=placed.gpu_layers,
        all_layers=placed.all_layers,
        host_layers=placed.host.layers,
        host_expert_layers=placed.host.expert_layers,
        host_bytes=placed.host.bytes_needed(sequences=sequences, tokens=tokens),
        most_gpu_layers=most_gpu_layers(
            load.model,
            load.serving,
            load.memories,
            sequences=sequences,
            tokens=tokens,
            tensor_split=split,
        ),
        fewest_host_experts=fewest_host_experts(
            load.model,
            load.serving,
            load.memories,
            sequences=sequences,
            tokens=tokens,
            tensor_split=split,
        ),
    )


def placed_mends(load: Load, placement: FitPlacement) -> tuple[FitMend, ...]:
    """Return single changes that make room on the tightest card, those that suffice first.

    Leaves out what frees nothing. Order within each half: cells, the load, layers to the host,
    other weights, more cards.
    """
    before = load.tightest().margin_bytes.value
    found = []
    for change, changed in _changes(load, placement):
        frees = changed.tightest().margin_bytes.value - before
        if frees > 0:
            found.append(FitMend(change=change, frees_bytes=frees, verdict=changed.verdict()))
    return tuple(sorted(found, key=lambda mend: mend.verdict is not Verdict.FITS))


def _changes(load: Load, placement: FitPlacement) -> Iterator[tuple[str, Load]]:
    serving = load.serving
    eight = kv_format("q8_0")
    if eight.bytes_per_element < serving.kv_format.bytes_per_element:
        changed = replace(serving, kv_format=eight, value_format=None)
        yield "keep the KV cache in q8_0", replace(load, serving=changed)
    slots = _most(lambda count: load.of_slots(count).verdict(), load.concurrency - 1)
    if slots:
        yield f"run {slots:,} sequences at once", load.of_slots(slots)
    context = _most(lambda tokens: load.of_context(tokens).verdict(), load.context_tokens - 1)
    if context >= _SHORTEST:
        yield f"limit the context to {context:,} tokens", load.of_context(context)
    yield from _to_host(load, placement)
    four = weight_format("q4_k_m")
    if four.bytes_per_weight < serving.weight_format.bytes_per_weight:
        yield "use weights in q4_k_m", replace(load, serving=replace(serving, weight_format=four))
    more = (*load.cards, load.cards[-1])
    yield (
        f"add a card ({load.cards[-1].id})",
        replace(
            load,
            cards=more,
            serving=replace(serving, layout=replace(serving.layout, pipeline=len(more))),
            offload=replace(load.offload, tensor_split=None),
        ),
    )


def _to_host(load: Load, placement: FitPlacement) -> Iterator[tuple[str, Load]]:
    experts, layers = placement.fewest_host_experts, placement.most_gpu_layers
    if experts and has_experts(load.model):
        changed = replace(load, offload=replace(load.offload, host_expert_layers=experts))
        held = f"{_ram(changed)} of main memory for the experts of {experts} layers"
        yield f"--n-cpu-moe {experts} ({held})", changed
    if 0 < layers < placement.all_layers:
        changed = replace(
            load, offload=replace(load.offload, gpu_layers=layers, host_expert_layers=0)
        )
        rest = f"{layers} of {placement.all_layers}, the rest slowly from {_ram(changed)}"
        yield f"--gpu-layers {layers} ({rest} of main memory)", changed


def _ram(load: Load) -> str:
    host = load.placed().host
    needed = host.bytes_needed(sequences=load.concurrency, tokens=load.context_tokens)
    return format_bytes_gib(needed.high)


def placed_frontier(load: Load) -> tuple[FrontierPoint, ...]:
    """Return how many slots the cards hold, for contexts of 1,024 tokens and its doublings.

    Every slot is allocated at start, so each point is a placement of its own. The last is the
    longest context of one slot.
    """
    most = load.model.max_context_tokens
    one = load.of_slots(1)
    longest = _most(lambda tokens: one.of_context(tokens).verdict(), most)
    points = []
    context = _SHORTEST
    while context < longest:
        sized = load.of_context(context)
        points.append(FrontierPoint(context_tokens=context, sequences=_most_slots(sized)))
        context *= 2
    if longest:
        points.append(FrontierPoint(context_tokens=longest, sequences=1))
    return tuple(points)


def _most_slots(load: Load) -> int:
    return _most(lambda count: load.of_slots(count).verdict(), _MOST_SLOTS)


def _most(verdict: Callable[[int], Verdict], most: int) -> int:
    """Return the largest number up to `most` that surely fits, 0 where none does."""
    low, high = 0, max(most, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if verdict(middle) is Verdict.FITS else (low, middle - 1)
    return low


def _smallest(estimates: Sequence[Estimate]) -> Estimate:
    return Estimate(
        min(each.value for each in estimates),
        min(each.low for each in estimates),
        min(each.high for each in estimates),
        weaker(*(each.basis for each in estimates)),
    )
