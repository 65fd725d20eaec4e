"""The memory of one GPU, term by term, and whether a load fits into it."""

from dataclasses import dataclass
from enum import StrEnum

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.fit.needs import MemoryNeeds, memory_needs
from caudal.fit.serving import Serving
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.units import Bytes


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


def memory_budget(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    context_tokens: int,
    concurrency: int,
    usable_bytes: Bytes | None = None,
) -> MemoryBudget:
    """Return the budget of one GPU for `concurrency` requests of `context_tokens` each.

    The verdict is for the longest prompt and the full concurrency, and on the high side of every
    term: `FITS` is no guess. `usable_bytes` overrides the card's, for one that is in use already.
    """
    usable = float(gpu.usable_bytes if usable_bytes is None else usable_bytes)
    needs = memory_needs(model, serving.on(gpu))
    return budget_of(
        needs, usable_bytes=usable, context_tokens=context_tokens, concurrency=concurrency
    )


def budget_of(
    needs: MemoryNeeds, *, usable_bytes: float, context_tokens: int, concurrency: int
) -> MemoryBudget:
    """Return the budget of needs that are known already, on a card of `usable_bytes`."""
    pool = needs.kv_pool_bytes(usable_bytes)
    needed = needs.kv.bytes_for(sequences=concurrency, tokens=context_tokens)
    if pool.low >= needed:
        verdict = Verdict.FITS
    elif pool.high < needed:
        verdict = Verdict.DOES_NOT_FIT
    else:
        verdict = Verdict.UNCERTAIN
    return MemoryBudget(
        needs=needs,
        usable_bytes=usable_bytes,
        context_tokens=context_tokens,
        concurrency=concurrency,
        kv_needed_bytes=needed,
        kv_pool_bytes=pool,
        verdict=verdict,
    )
