"""What to change when a load doesn't fit, how far a pool reaches, and how many GPUs it takes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.support import kv_support, weight_support
from caudal.fit.budget import MemoryBudget, Verdict, memory_budget
from caudal.fit.layouts import legal_layouts
from caudal.fit.needs import MemoryNeeds
from caudal.fit.serving import Serving
from caudal.vocabulary.units import Bytes, Tokens

_SMALL_STEP: Final = Tokens(2048)  # chosen: what vLLM and SGLang use on small cards
_HIGH_FRACTION: Final = 0.95  # chosen: leaves 4 GiB of an 80 GiB card to graphs and fragments
_WORTH_IT: Final = 0.9  # chosen: other weights must be smaller by more than a tenth
_MOST_GPUS: Final = 64  # chosen: eight machines of eight


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change that makes room, and what it does on its own."""

    change: str  # as an imperative, such as "keep the KV cache in FP8"
    frees_bytes: float  # by how much the margin of one GPU grows
    verdict: Verdict  # of the load after the change
    serving: Serving
    context_tokens: int
    concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """How many requests of one length a pool holds at once."""

    context_tokens: int
    sequences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    model: ModelSpec
    serving: Serving
    gpu: GpuSpec
    context_tokens: int
    concurrency: int
    usable_bytes: Bytes | None
    free_bytes: Bytes | None

    def budget(self) -> MemoryBudget:
        return memory_budget(
            self.model,
            self.serving,
            self.gpu,
            context_tokens=self.context_tokens,
            concurrency=self.concurrency,
            usable_bytes=self.usable_bytes,
            free_bytes=self.free_bytes,
        )


def remedies(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    context_tokens: int,
    concurrency: int,
    usable_bytes: Bytes | None = None,
    free_bytes: Bytes | None = None,
) -> tuple[Remedy, ...]:
    """Return single changes that make room, those that make the load fit first.

    Within each half the order is from what costs least: engine knobs, the cache's format, the
    load itself, more GPUs, other weights. Changes that free nothing, or that the GPU or engine
    doesn't support, are left out.
    """
    load = _Load(
        model=model,
        serving=serving.on(gpu),
        gpu=gpu,
        context_tokens=context_tokens,
        concurrency=concurrency,
        usable_bytes=usable_bytes,
        free_bytes=free_bytes,
    )
    before = load.budget()
    found = []
    for change, changed in _changes(load, before):
        after = changed.budget()
        frees = after.margin_bytes.value - before.margin_bytes.value
        if frees > 0:
            found.append(
                Remedy(
                    change=change,
                    frees_bytes=frees,
                    verdict=after.verdict,
                    serving=changed.serving,
                    context_tokens=changed.context_tokens,
                    concurrency=changed.concurrency,
                )
            )
    return tuple(sorted(found, key=lambda remedy: remedy.verdict is not Verdict.FITS))


def _changes(load: _Load, before: MemoryBudget) -> Iterator[tuple[str, _Load]]:
    yield from _knobs(load)
    yield from _formats(load)
    sequences = int(before.max_concurrency.low)
    if 1 <= sequences < load.concurrency:
        yield f"run {sequences:,} sequences at once", replace(load, concurrency=sequences)
    longest = int(before.longest_context.low)
    if 0 < longest < load.context_tokens:
        yield f"limit the context to {longest:,} tokens", replace(load, context_tokens=longest)
    yield from _wider(load)


def _knobs(load: _Load) -> Iterator[tuple[str, _Load]]:
    serving = load.serving

    if serving.sequences > load.concurrency:
        yield (
            f"let the engine plan for {load.concurrency:,} sequences, not {serving.sequences:,}",
            replace(load, serving=replace(serving, max_sequences=load.concurrency)),
        )
    if serving.step_tokens(load.model) > _SMALL_STEP and serving.engine.chunked_prefill:
        yield (
            f"prefill in steps of {_SMALL_STEP:,} tokens",
            replace(load, serving=replace(serving, max_batched_tokens=_SMALL_STEP)),
        )
    if not serving.eager:
        eager = replace(serving, eager=True)
        yield "run eagerly, without CUDA graphs (slower decode)", replace(load, serving=eager)
    fraction = serving.fraction
    if fraction is not None and fraction < _HIGH_FRACTION:
        yield (
            f"give the engine {_HIGH_FRACTION:.0%} of the memory",
            replace(load, serving=replace(serving, memory_fraction=_HIGH_FRACTION)),
        )


def _formats(load: _Load) -> Iterator[tuple[str, _Load]]:
    serving = load.serving
    eight_bit = kv_format("q8_0" if serving.engine.name in {"llama.cpp", "ollama"} else "fp8")
    if (
        eight_bit.bytes_per_element < serving.kv_format.bytes_per_element
        and eight_bit.name in serving.engine.kv_formats
        and kv_support(load.gpu, eight_bit, serving.engine).runs
    ):
        changed = replace(serving, kv_format=eight_bit, value_format=None)
        yield f"keep the KV cache in {eight_bit.name}", replace(load, serving=changed)
    for name in ("fp8", "int4"):
        stored = weight_format(name)
        if (
            stored.bytes_per_weight < _WORTH_IT * serving.weight_format.bytes_per_weight
            and stored.name in serving.engine.weight_formats
            and weight_support(load.gpu, stored, serving.engine).runs
        ):
            changed = replace(serving, weight_format=stored)
            yield f"use weights in {stored.name}", replace(load, serving=changed)


def _wider(load: _Load) -> Iterator[tuple[str, _Load]]:
    layout = load.serving.layout
    for wider in legal_layouts(
        load.model,
        load.serving.weight_format,
        gpus=2 * layout.gpus,
        engine=load.serving.engine,
    ):
        if wider.expert == layout.expert:
            changed = replace(load.serving, layout=wider)
            yield f"spread it over {wider.gpus} GPUs ({wider})", replace(load, serving=changed)
            return


def frontier(needs: MemoryNeeds, pool_bytes: float) -> tuple[FrontierPoint, ...]:
    """Return how many requests a pool holds, for contexts of 1,024 tokens and its doublings.

    The last point is the longest context of which one request fits.
    """
    kv = needs.kv
    longest = kv.longest_context(pool_bytes)
    points = []
    context = 1024
    while context < longest:
        held = int(kv.sequences(pool_bytes, tokens=context))
        points.append(FrontierPoint(context_tokens=context, sequences=held))
        context *= 2
    if longest:
        held = int(kv.sequences(pool_bytes, tokens=longest))
        points.append(FrontierPoint(context_tokens=longest, sequences=max(held, 1)))
    return tuple(points)


def fewest_gpus(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    context_tokens: int,
    concurrency: int,
    most: int = _MOST_GPUS,
) -> Layout | None:
    """Return the layout on the fewest GPUs (1, 2, 4 …) that surely holds the load, None if none."""
    gpus = 1
    while gpus <= most:
        for layout in legal_layouts(model, serving.weight_format, gpus=gpus, engine=serving.engine):
            budget = memory_budget(
                model,
                replace(serving, layout=layout),
                gpu,
                context_tokens=context_tokens,
                concurrency=concurrency,
            )
            if budget.fits:
                return layout
        gpus *= 2
    return None
