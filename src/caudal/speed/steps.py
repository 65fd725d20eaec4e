"""Seconds of one decode step and of one prefill, for one piece of work on many GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caudal.facts.calibration import SpeedCalibration, speed_calibration
from caudal.fit.speculation import Speculation
from caudal.speed.efficiency import (
    Constants,
    Machine,
    Parameter,
    Traits,
    constants_for,
    machine_for,
    traits_of,
)
from caudal.speed.gpus import GpuColumns
from caudal.speed.operators import (
    cache_bytes,
    decode_attention_seconds,
    exchange_seconds,
    matrix_floor_seconds,
    matrix_seconds,
    overhead_seconds,
    prefill_attention_seconds,
)
from caudal.speed.terms import WorkTerms, work_terms
from caudal.speed.work import StepWork
from caudal.vocabulary.estimate import Basis

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DecodeParts:
    """The seconds of one decode step by what they are spent on; they add up to the whole."""

    matrices: Floats
    attention: Floats
    exchanges: Floats
    overhead: Floats


class Pace:
    """The work, peaks and constants that belong together, ready for the formulas.

    For one piece of work against many GPUs its arrays are [gpus, 1], and arguments [batches] give
    results [gpus, batches]; for measured rows all arrays are [rows].
    """

    __slots__ = ("constants", "machine", "speculation", "terms")

    def __init__(
        self,
        terms: WorkTerms,
        machine: Machine,
        constants: Constants,
        *,
        speculation: Speculation | None = None,
    ) -> None:
        self.terms = terms
        self.machine = machine
        self.constants = constants
        self.speculation = speculation

    @property
    def tokens_per_step(self) -> float:
        """Return the tokens that a decode step yields for each sequence on average."""
        return 1.0 if self.speculation is None else self.speculation.tokens_per_step

    def decode(self, batch: Floats, context: Floats) -> Floats:
        """Return the time between two tokens of `batch` sequences of `context` tokens each.

        Stages of a pipeline each work on a part of the batch in turn, so a token's way through
        all of them takes a whole model's time at that part.
        """
        parts = self.decode_parts(batch, context)
        return np.asarray(parts.matrices + parts.attention + parts.exchanges + parts.overhead)

    def decode_parts(self, batch: Floats, context: Floats) -> "DecodeParts":
        """Return what the time between two tokens is made of: one decode step.

        With speculation `k` tokens are drafted, each in a share of a plain step, then one step
        checks `k + 1` tokens of every sequence; together they yield `tokens_per_step` tokens.
        """
        drafted = self.speculation
        if drafted is None:
            return self._step_parts(batch, context)
        plain = self._step_parts(batch, context)
        checked = self._step_parts(batch, context, queries=drafted.draft_tokens + 1)
        drafts, tokens = drafted.draft_tokens * drafted.draft_share, drafted.tokens_per_step
        return DecodeParts(
            matrices=(checked.matrices + drafts * plain.matrices) / tokens,
            attention=(checked.attention + drafts * plain.attention) / tokens,
            exchanges=(checked.exchanges + drafts * plain.exchanges) / tokens,
            overhead=(checked.overhead + drafts * plain.overhead) / tokens,
        )

    def _step_parts(self, batch: Floats, context: Floats, *, queries: int = 1) -> "DecodeParts":
        """Return the parts of one step that works on `queries` tokens of each sequence.

        The fitted factor on the whole never takes it below the physical floor.
        """
        part = batch / self.terms.microbatches
        terms, machine, constants = self.terms, self.machine, self.constants
        matrices = matrix_seconds(terms, machine, constants, part * queries)
        attention = decode_attention_seconds(
            terms, machine, constants, part, context, queries=queries
        )
        exchanges = exchange_seconds(terms, machine, constants, part * queries)
        overhead = overhead_seconds(terms, constants, batch * queries)
        floor = (
            matrix_floor_seconds(terms, machine, part * queries)
            + cache_bytes(terms, part, context) / machine.memory_bytes_per_s
        )
        total = matrices + attention + exchanges + overhead
        factor = np.maximum(constants[Parameter.DECODE], floor / total)
        return DecodeParts(
            matrices=factor * matrices,
            attention=factor * attention,
            exchanges=factor * exchanges,
            overhead=factor * overhead,
        )

    def prefill(
        self, tokens: Floats, context: Floats | float = 0.0, prompts: Floats | float = 1.0
    ) -> Floats:
        """Return the time until `prompts` prompts of `tokens` new tokens each have passed.

        `context` tokens of each are cached. Prompts run in chunks of at most the engine's step;
        chunks follow each other through the stages of a pipeline.
        """
        chunks = np.ceil(np.maximum(tokens * prompts, 1.0) / self.terms.chunk_tokens)
        size = tokens * prompts / chunks
        one = (
            matrix_seconds(self.terms, self.machine, self.constants, size)
            + exchange_seconds(self.terms, self.machine, self.constants, size)
            + overhead_seconds(self.terms, self.constants, np.ones_like(size))
        )
        looking = prompts * prefill_attention_seconds(
            self.terms, self.machine, self.constants, tokens, context
        )
        stages = self.terms.pipeline
        filling = 1.0 + (stages - 1.0) / np.minimum(chunks, self.terms.flush_chunks)
        seconds = (one * chunks + looking) / stages * filling
        floor = matrix_floor_seconds(self.terms, self.machine, size) * chunks / stages
        return np.maximum(seconds * self.constants[Parameter.PREFILL], floor)


@lru_cache(maxsize=256)
def pace_for(work: StepWork, gpus: GpuColumns) -> Pace:
    """Return the pace of `work` on each of `gpus`, arrays [gpus, 1]."""
    machine = machine_for(work, gpus)
    constants = _constants(traits_of(work), gpus)
    return Pace(
        work_terms([work]),
        Machine(
            machine.memory_bytes_per_s[:, None],
            machine.plain_flop_per_s[:, None],
            machine.quantised_flop_per_s[:, None],
            machine.link_bytes_per_s[:, None],
        ),
        {name: value[:, None] for name, value in constants.items()},
        speculation=work.speculation,
    )


def pace_of_pairs(
    works: Sequence[StepWork],
    gpus: GpuColumns,
    *,
    work_index: NDArray[np.intp],
    gpu_index: NDArray[np.intp],
) -> Pace:
    """Return the pace of many pairs of a work and a GPU at once, arrays [pairs, 1].

    What a plan needs: hundreds of works on tens of GPUs each, in one pass of the formulas.
    All works draft the same, or none does.
    """
    speculations = {work.speculation for work in works}
    assert len(speculations) == 1, "one pace speculates in one way"
    kinds: dict[Traits, int] = {}
    kind_of = np.array([kinds.setdefault(traits_of(work), len(kinds)) for work in works])
    of_pair = kind_of[work_index]
    constants = [_constants(traits, gpus) for traits in kinds]
    machines = [machine_for(traits, gpus) for traits in kinds]

    def gathered(columns: Sequence[Floats]) -> Floats:
        return np.asarray(np.array(columns)[of_pair, gpu_index][:, None])

    return Pace(
        work_terms(works).at(work_index),
        Machine(
            gathered([machine.memory_bytes_per_s for machine in machines]),
            gathered([machine.plain_flop_per_s for machine in machines]),
            gathered([machine.quantised_flop_per_s for machine in machines]),
            gathered([machine.link_bytes_per_s for machine in machines]),
        ),
        {name: gathered([each[name] for each in constants]) for name in Parameter},
        speculation=speculations.pop(),
    )


@lru_cache(maxsize=256)
def _constants(traits: Traits, gpus: GpuColumns) -> dict[Parameter, Floats]:
    return constants_for(traits, gpus, speed_calibration())


def decode_step_seconds(
    work: StepWork, gpus: GpuColumns, *, batch: ArrayLike, context_tokens: ArrayLike
) -> Floats:
    """Return the time of one decode step, [gpus] or [gpus, n].

    `batch` counts the sequences of the whole replica, `context_tokens` is the mean length of one;
    each is a number, [n], or [gpus, n]. NaN where the maker of a GPU publishes no rate.
    """
    pace = pace_for(work, gpus)
    sequences, context = _arguments(batch, context_tokens)
    return _shaped(pace.decode(sequences, context), batch, context_tokens)


def prefill_seconds(
    work: StepWork,
    gpus: GpuColumns,
    *,
    prompt_tokens: ArrayLike,
    context_tokens: ArrayLike = 0.0,
) -> Floats:
    """Return the time until the first token of one prompt on an idle replica, [gpus] or [gpus, n].

    `context_tokens` of the conversation are already cached.
    """
    pace = pace_for(work, gpus)
    tokens, context = _arguments(prompt_tokens, context_tokens)
    return _shaped(pace.prefill(tokens, context), prompt_tokens, context_tokens)


def spread(work: StepWork, gpus: GpuColumns, metric: str) -> tuple[Floats, Sequence[Basis]]:
    """Return the factor of the 80 % interval around a prediction, and its basis; each [gpus].

    The true value lies between `value / factor` and `value · factor` four times in five. `metric`
    is "tpot", "ttft", "output_tok_s" or "prefill_tok_s". The factor comes from residuals of rows
    that were left out of the fit at the same distance: the engine and GPU were measured together,
    the engine on another GPU of the generation, or neither.
    """
    calibration = speed_calibration()
    known = [
        known_level(calibration, work, gpu=gpu, generation=gpus.generation(place))
        for place, gpu in enumerate(gpus.ids)
    ]
    factors = calibration.spreads[metric]
    basis = {
        "gpu": Basis.CALIBRATED,
        "generation": Basis.CALIBRATED,
        "none": Basis.ROOFLINE,
    }
    return (
        np.array([factors[level] for level in known], dtype=np.float64),
        [basis[level] for level in known],
    )


def known_level(calibration: SpeedCalibration, work: StepWork, *, gpu: str, generation: str) -> str:
    """Return the nearest level that measurements reach: "gpu", "generation" or "none".

    No row with speculation was fitted: what checking several tokens takes is a formula's word.
    """
    if work.speculation is not None:
        return "none"
    if f"{work.engine}|{gpu}" in calibration.measured:
        return "gpu"
    if f"{work.engine}|{generation}" in calibration.measured:
        return "generation"
    return "none"


def _arguments(*values: ArrayLike) -> tuple[Floats, ...]:
    """Return the arguments as float arrays of one shape, at least [1]."""
    arrays = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values]
    return tuple(np.array(array) for array in np.broadcast_arrays(*arrays))


def _shaped(result: Floats, *arguments: ArrayLike) -> Floats:
    """Drop the axis of the arguments if none of them had one."""
    return result if any(np.ndim(value) for value in arguments) else result[:, 0]


__all__ = [
    "DecodeParts",
    "Pace",
    "Parameter",
    "decode_step_seconds",
    "pace_for",
    "prefill_seconds",
    "spread",
]
