"""What an answer to "does it fit" is made of: rows, memory terms, and where layers are placed."""

from dataclasses import dataclass

from caudal.facts.layout import Layout
from caudal.facts.precision import SupportAnswer
from caudal.fit.advice import FrontierPoint
from caudal.fit.budget import MemoryBudget, Verdict
from caudal.vocabulary.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTerm:
    """One term of what a GPU holds."""

    name: str
    size_bytes: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMend:
    """One change that makes room where a load does not fit."""

    change: str  # as an imperative, such as "keep the KV cache in FP8"
    frees_bytes: float  # by how much the margin of one GPU grows
    verdict: Verdict  # of the load after it


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMemory:
    """The memory of the fullest GPU, in bytes, and what it carries."""

    usable_bytes: float
    terms: tuple[MemoryTerm, ...]  # together they are the need
    weights_by_role: dict[str, float]  # bytes of the fullest GPU, largest first
    kv_bytes_per_token: float  # that a long context adds, on one GPU
    kv_state_bytes: float  # a sequence, whatever its length: states and full windows
    kv_pool_bytes: Estimate
    kv_needed_bytes: float
    margin_bytes: Estimate  # pool less need
    kv_tokens: Estimate  # in requests of the length asked about
    max_concurrency: Estimate  # requests of the length asked about
    longest_context: Estimate  # tokens, at the concurrency asked about
    pool_rule: str  # of what the engine's memory fraction is a share
    memory_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCard:
    """One card of a split by layers, in bytes."""

    gpu_id: str
    layers: int
    output_layer: bool
    weights_bytes: Estimate
    kv_bytes: float
    compute_bytes: Estimate
    other_bytes: Estimate
    free_bytes: float
    margin_bytes: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlacement:
    """Where an engine that splits by layers puts them; counts include the output layer."""

    cards: tuple[PlacedCard, ...]
    gpu_layers: int
    all_layers: int
    host_layers: int
    host_expert_layers: int  # more layers whose experts alone are on the host
    host_bytes: Estimate  # weights and cells in main memory
    most_gpu_layers: int  # that surely fit
    fewest_host_experts: int | None  # with which all else surely fits; None: no way

    @property
    def is_whole(self) -> bool:
        """Return whether the host holds nothing but the input tables."""
        return self.gpu_layers == self.all_layers and self.host_expert_layers == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FewestGpus:
    """The smallest number of one GPU (1, 2, 4 ...) that surely holds the load."""

    gpu_id: str
    gpus: int
    layout: Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """One number of one GPU, or one set of unequal ones: the verdict and why."""

    gpu_id: str  # of unequal cards all ids, joined by " + "
    gpu_name: str
    gpus: int
    layout: Layout | None  # None: no layout over so many GPUs is legal
    verdict: Verdict
    reason: str  # in a sentence, where it is not the memory that decides; "" otherwise
    support: SupportAnswer
    memory: FitMemory | None
    mends: tuple[FitMend, ...] = ()  # what would fit first
    flags: tuple[str, ...] = ()  # that start the engine at this point, where it fits
    cards: tuple[str, ...] = ()  # ids, where they are unequal
    notes: tuple[str, ...] = ()  # what else to know about these cards
    placement: FitPlacement | None = None  # of engines that split by layers
    frontier: tuple[FrontierPoint, ...] = ()  # where asked for

    @property
    def fits(self) -> bool:
        """Return whether the load surely fits."""
        return self.verdict is Verdict.FITS

    @property
    def label(self) -> str:
        """Return the cards as people write them: "2 x h100-sxm", "rtx-3090 + rtx-4080"."""
        return self.gpu_id if self.cards else f"{self.gpus} x {self.gpu_id}"


def memory_of(
    budget: MemoryBudget, *, longest: Estimate, concurrency: Estimate | None = None
) -> FitMemory:
    """Return a budget as a row shows it.

    `concurrency` is given where another card than the budget's bounds it.
    """
    needs = budget.needs
    held = budget.max_concurrency if concurrency is None else concurrency
    context = budget.context_tokens
    return FitMemory(
        usable_bytes=budget.usable_bytes,
        terms=tuple(MemoryTerm(name=name, size_bytes=size) for name, size in budget.terms),
        weights_by_role={role.value: size for role, size in needs.weights_by_role.by_role},
        kv_bytes_per_token=needs.kv.bytes_per_token,
        kv_state_bytes=needs.kv.state_bytes,
        kv_pool_bytes=budget.kv_pool_bytes,
        kv_needed_bytes=budget.kv_needed_bytes,
        margin_bytes=budget.margin_bytes,
        kv_tokens=held.rising(lambda requests: requests * context),
        max_concurrency=held,
        longest_context=longest,
        pool_rule=needs.rule.value,
        memory_fraction=needs.fraction,
    )
