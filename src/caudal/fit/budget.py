"""The memory of one GPU, term by term, and whether a load fits into it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.kv_cache import KvNeeds
from caudal.fit.needs import MemoryNeeds, memory_needs
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB, Bytes

# What the CUDA runtime cannot hand out of what the driver shows as total: 79.65 of an H100 are
# 79.22 to 79.25 GiB to an engine, 24.0 of an RTX 3090 23.58, 22.49 of an L4 22.16, 15.0 of a T4
# 14.56 to 14.74, 179.06 of a B200 178.35, 80.0 of an A100 79.15. Totals printed by vLLM and
# TensorRT-LLM in public start-up logs; the median is taken. Cards with unified memory show the
# same on both sides.
_RUNTIME_RESERVE: Final = Estimate(0.43 * GIB, 0.25 * GIB, 0.85 * GIB, Basis.CALIBRATED)


class Verdict(StrEnum):
    """Whether the longest prompt at full concurrency fits."""

    FITS = "fits"  # on the high side of every term
    UNCERTAIN = "uncertain"  # between the two sides of the estimates
    DOES_NOT_FIT = "does not fit"  # not even on the low side


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """Where the memory of one GPU goes, in bytes, and what it carries."""

    needs: MemoryNeeds
    usable_bytes: float
    context_tokens: int
    concurrency: int
    kv_needed_bytes: float  # for `concurrency` requests of `context_tokens`
    kv_pool_bytes: Estimate
    verdict: Verdict

    @property
    def fits(self) -> bool:
        """Return whether the load surely fits: nobody is told yes on a guess."""
        return self.verdict is Verdict.FITS

    @property
    def margin_bytes(self) -> Estimate:
        """Return the pool less what the load needs of it; negative where it is too small."""
        needed = self.kv_needed_bytes
        return self.kv_pool_bytes.rising(lambda pool: pool - needed)

    @property
    def kv_tokens(self) -> Estimate:
        """Return the tokens that the pool holds in requests of the length asked about."""
        kv, context = self.needs.kv, self.context_tokens
        return self.kv_pool_bytes.rising(lambda pool: kv.tokens(pool, tokens=context))

    @property
    def max_concurrency(self) -> Estimate:
        """Return how many requests of the length asked about the pool holds at once."""
        kv, context = self.needs.kv, self.context_tokens
        return self.kv_pool_bytes.rising(lambda pool: kv.sequences(pool, tokens=context))

    @property
    def longest_context(self) -> Estimate:
        """Return the longest context at the concurrency asked about."""
        kv, concurrency = self.needs.kv, self.concurrency
        return self.kv_pool_bytes.rising(
            lambda pool: kv.longest_context(pool, sequences=concurrency)
        )

    @property
    def terms(self) -> tuple[tuple[str, Estimate], ...]:
        """Return the named terms that add up to the need."""
        needs = self.needs
        return (
            ("weights", needs.weights),
            ("kv cache", Estimate.exact(self.kv_needed_bytes)),
            ("activation", needs.activation),
            ("cuda graphs", needs.graphs),
            ("other", needs.other),
        )


class CardMemory(NamedTuple):
    """What of a card decides the size of a pool; cards that are equal in it have equal pools."""

    visible_bytes: float
    unified: bool  # whether the host's processes live in it too


def card_memory(gpu: GpuSpec, *, free_bytes: float | None = None) -> CardMemory:
    """Return what of a card decides the size of a pool; `free_bytes` where it is in use."""
    visible = visible_bytes(gpu)
    return CardMemory(
        visible if free_bytes is None else min(visible, free_bytes), shares_memory(gpu)
    )


def visible_bytes(gpu: GpuSpec) -> float:
    """Return the memory that an engine sees as the card's total: what fractions are taken of.

    Leaves out what a desktop or another process holds; give the free memory for that.
    """
    if gpu.vendor != "NVIDIA" or shares_memory(gpu):
        return float(gpu.usable_bytes)
    return max(gpu.usable_bytes - _RUNTIME_RESERVE.value, 0.0)


def shares_memory(gpu: GpuSpec) -> bool:
    """Return whether the host's processes live in the memory that the GPU shows as its own.

    Apple's GPUs share memory too, but show a working set that leaves the host its part.
    """
    return gpu.memory_type.startswith("LPDDR") and gpu.vendor != "Apple"


def memory_budget(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    context_tokens: int,
    concurrency: int,
    usable_bytes: Bytes | None = None,
    free_bytes: Bytes | None = None,
) -> MemoryBudget:
    """Return the budget of one GPU for `concurrency` requests of `context_tokens` each.

    The verdict is for the longest prompt and the full concurrency, and on the high side of every
    term: `FITS` is no guess. `usable_bytes` overrides the card's memory, `free_bytes` says what
    is left of it on a card that is in use already.
    """
    usable = visible_bytes(gpu) if usable_bytes is None else float(usable_bytes)
    return budget_of(
        memory_needs(model, serving.on(gpu)),
        usable_bytes=usable,
        free_bytes=free_bytes,
        unified=shares_memory(gpu),
        context_tokens=context_tokens,
        concurrency=concurrency,
    )


def budget_of(
    needs: MemoryNeeds,
    *,
    usable_bytes: float,
    context_tokens: int,
    concurrency: int,
    free_bytes: float | None = None,
    unified: bool = False,
) -> MemoryBudget:
    """Return the budget of needs that are known already, on a card of `usable_bytes`."""
    pool = needs.kv_pool_bytes(usable_bytes, free_bytes=free_bytes, unified=unified)
    kv = needs.kv
    return MemoryBudget(
        needs=needs,
        usable_bytes=usable_bytes if free_bytes is None else min(free_bytes, usable_bytes),
        context_tokens=context_tokens,
        concurrency=concurrency,
        kv_needed_bytes=kv.bytes_for(sequences=concurrency, tokens=context_tokens),
        kv_pool_bytes=pool,
        verdict=verdict_of(pool, kv, sequences=concurrency, tokens=context_tokens),
    )


def verdict_of(pool_bytes: Estimate, kv: KvNeeds, *, sequences: float, tokens: int) -> Verdict:
    """Return whether a pool surely, perhaps or surely not holds so many requests of a length."""
    if pool_bytes.low >= kv.bytes_at_most(sequences=sequences, tokens=tokens):
        return Verdict.FITS
    needed = kv.bytes_for(sequences=sequences, tokens=tokens)
    return Verdict.DOES_NOT_FIT if pool_bytes.high < needed else Verdict.UNCERTAIN
