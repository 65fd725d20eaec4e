"""The calibrated constants as columns: one number a GPU for the work at hand.

A constant is the sum of its base and of one offset a level, each level keyed by what is known of
the GPU, the engine, the format or the model. A key never fitted adds nothing, so that the unknown
stands where its parent stands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caudal.facts.calibration import FittedParameter, SpeedCalibration
from caudal.facts.precision import Arithmetic
from caudal.speed.gpus import GpuColumns
from caudal.speed.work import StepWork

Floats = NDArray[np.float64]


class Parameter(StrEnum):
    """The constants of the speed model: shares of a peak, or seconds and tokens."""

    MEMORY = "memory"  # share of the memory bandwidth while weights stream
    EXPERT_MEMORY = "expert-memory"  # factor on it for the experts of a mixture
    CACHE = "cache"  # share of the memory bandwidth while keys and values stream
    COMPUTE = "compute"  # share of the peak in a large matrix product, 16 bit
    QUANTISED_COMPUTE = "quantised-compute"  # likewise for the quantised matrices
    EXPERT_COMPUTE = "expert-compute"  # factor on it for experts
    SKEW = "skew"  # unevenness of experts over GPUs, in units of an even router's chance
    ATTENTION = "attention"  # share of the 16-bit peak in prefill attention
    LATENT = "latent"  # likewise in decode attention
    HALF = "half"  # tokens at which a matrix product reaches half its share
    LAYER = "layer"  # seconds a layer spends between its kernels
    STEP = "step"  # seconds a step spends outside the GPU
    SEQUENCE = "sequence"  # seconds a step spends for each sequence
    LATENCY = "latency"  # seconds of one exchange between GPUs
    LINK = "link"  # share of the link's bandwidth
    OVERLAP = "overlap"  # share of a prefill chunk's time that decode waits for
    QUEUE = "queue"  # prompts ahead of one's own, in units of what the load alone would make
    CLUMP = "clump"  # share of a closed loop's users whose prompts stand before one's own
    HANDLE = "handle"  # seconds to the first token for each user whose tokens are being sent
    LOST = "lost"  # slots of a closed loop that stand empty between two requests
    INTAKE = "intake"  # seconds the server's front end works on each request, one at a time
    TOKENISE = "tokenise"  # likewise for each token of the prompt
    FIRST = "first"  # seconds from the request's arrival to its first step
    DECODE = "decode"  # factor on a whole decode step
    PREFILL = "prefill"  # factor on a whole prefill


LOGIT: Final = frozenset(
    {
        Parameter.MEMORY,
        Parameter.EXPERT_MEMORY,
        Parameter.CACHE,
        Parameter.COMPUTE,
        Parameter.QUANTISED_COMPUTE,
        Parameter.EXPERT_COMPUTE,
        Parameter.ATTENTION,
        Parameter.LATENT,
        Parameter.LINK,
        Parameter.OVERLAP,
    }
)
"""Shares: fitted on the logit scale, so that no fit passes a physical ceiling."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The peaks that a piece of work can use on each GPU; arrays [gpus]."""

    memory_bytes_per_s: Floats
    plain_flop_per_s: Floats  # 16-bit matrices and attention
    quantised_flop_per_s: Floats
    link_bytes_per_s: Floats


Constants = Mapping[Parameter, Floats]


class Traits(NamedTuple):
    """All that the constants know of a piece of work: many pieces share them."""

    engine: str
    era: str
    version: str
    weight_format: str
    arithmetic: Arithmetic
    activations_quantised: bool
    family: str


def traits_of(work: StepWork) -> Traits:
    """Return what the constants of `work` depend on."""
    return Traits(
        engine=work.engine,
        era=work.era,
        version=work.version,
        weight_format=work.weight_format,
        arithmetic=work.arithmetic,
        activations_quantised=work.activations_quantised,
        family=work.family,
    )


def machine_for(work: StepWork | Traits, gpus: GpuColumns) -> Machine:
    """Return the peaks that `work` can use: its own arithmetic where the GPU has it, else 16 bit.

    llama.cpp multiplies 16-bit matrices with 16-bit accumulation, which GeForce cards do twice as
    fast as the catalogue's rate.
    """
    plain = gpus.bf16_flop_per_s
    if work.engine == LLAMA_CPP:
        plain = plain * gpus.half_accumulate_gain
    quantised = np.where(native(work, gpus), gpus.native_rate(work.arithmetic), plain)
    return Machine(gpus.memory_bytes_per_s, plain, quantised, gpus.link_bytes_per_s)


LLAMA_CPP: Final = "llama.cpp"


def native(work: StepWork | Traits, gpus: GpuColumns) -> NDArray[np.bool_]:
    """Return whether each GPU multiplies the quantised matrices in the format's arithmetic."""
    if not work.activations_quantised:
        return np.zeros(len(gpus), dtype=np.bool_)
    return np.isfinite(gpus.native_rate(work.arithmetic))


@dataclass(frozen=True, slots=True)
class LevelKeys:
    """The keys of many GPUs at one level: each distinct one once, and which of them a GPU has."""

    names: Sequence[str]
    index: NDArray[np.intp]  # [gpus]


def keys_of(level: str, work: StepWork | Traits, gpus: GpuColumns) -> LevelKeys:
    """Return the keys of the GPUs at `level` for `work`."""
    return _LEVELS[level](work, gpus)


def constants_for(
    work: StepWork | Traits, gpus: GpuColumns, calibration: SpeedCalibration
) -> dict[Parameter, Floats]:
    """Return every constant for `work` on each GPU, in its own unit; arrays [gpus]."""
    keys: dict[str, LevelKeys] = {}
    return in_units(
        {
            parameter: _summed(calibration.parameters[parameter], work, gpus, keys)
            for parameter in Parameter
        }
    )


def _summed(
    fitted: FittedParameter, work: StepWork | Traits, gpus: GpuColumns, keys: dict[str, LevelKeys]
) -> Floats:
    total = np.full(len(gpus), fitted.base)
    for level, offsets in fitted.levels.items():
        if level not in keys:
            keys[level] = keys_of(level, work, gpus)
        found = keys[level]
        total += np.array([offsets.get(name, 0.0) for name in found.names])[found.index]
    return total


def in_units(fitted: Mapping[Parameter, Floats]) -> dict[Parameter, Floats]:
    """Return fitted values in their units: shares, seconds, tokens or factors."""
    return {parameter: _in_unit(parameter, value) for parameter, value in fitted.items()}


def _in_unit(parameter: Parameter, value: Floats) -> Floats:
    if parameter in LOGIT:
        return np.asarray(1.0 / (1.0 + np.exp(-value)))
    return np.exp(value)


def _everywhere(name: str, gpus: GpuColumns) -> LevelKeys:
    return LevelKeys((name,), np.zeros(len(gpus), dtype=np.intp))


def _by_generation(before: str, gpus: GpuColumns) -> LevelKeys:
    return LevelKeys([f"{before}|{name}" for name in gpus.generation_names], gpus.generation_index)


def _formats(work: StepWork | Traits) -> tuple[str, str]:
    return f"{work.weight_format}/weights", work.weight_format


def _format(work: StepWork | Traits, gpus: GpuColumns) -> LevelKeys:
    return LevelKeys(_formats(work), native(work, gpus).astype(np.intp))


def _format_generation(work: StepWork | Traits, gpus: GpuColumns) -> LevelKeys:
    names = [f"{each}|{name}" for name in gpus.generation_names for each in _formats(work)]
    return LevelKeys(names, 2 * gpus.generation_index + native(work, gpus))


def _engine(work: StepWork | Traits) -> str:
    return f"{work.engine}@{work.era}"


_LEVELS: Final[Mapping[str, Callable[[StepWork | Traits, GpuColumns], LevelKeys]]] = {
    "generation": lambda _work, gpus: LevelKeys(gpus.generation_names, gpus.generation_index),
    "gpu": lambda _work, gpus: LevelKeys(gpus.ids, np.arange(len(gpus))),
    "link": lambda _work, gpus: LevelKeys(gpus.links, np.arange(len(gpus))),
    "engine": lambda work, gpus: _everywhere(work.engine, gpus),
    "era": lambda work, gpus: _everywhere(_engine(work), gpus),
    "version": lambda work, gpus: _everywhere(f"{work.engine}@{work.version or work.era}", gpus),
    "engine-generation": lambda work, gpus: _by_generation(work.engine, gpus),
    "engine-gpu": lambda work, gpus: LevelKeys(
        [f"{_engine(work)}|{name}" for name in gpus.ids], np.arange(len(gpus))
    ),
    "format": _format,
    "format-generation": _format_generation,
    "engine-format": lambda work, gpus: LevelKeys(
        [f"{work.engine}|{each}" for each in _formats(work)], native(work, gpus).astype(np.intp)
    ),
    "family": lambda work, gpus: _everywhere(work.family, gpus),
    "engine-family": lambda work, gpus: _everywhere(f"{work.engine}|{work.family}", gpus),
    "family-generation": lambda work, gpus: _by_generation(work.family, gpus),
}
