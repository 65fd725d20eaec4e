"""Which constant may differ with what, and how far: the prior of the fit.

Each entry is the standard deviation that an offset is expected to have, on the scale of the
constant (logit or logarithm). Chosen from what physics lets vary: a bandwidth share is a matter of
the memory system (generation, GPU) and of kernels (engine, format); launch times are a matter of
the engine and its age; exchanges are a matter of the link. Small numbers shrink hard towards the
parent, so that a level is used only where rows insist. Tried and dropped: one free offset for each
engine × GPU × format, which fits better and predicts groups left out worse.
"""

from collections.abc import Mapping
from math import log
from typing import Final

from caudal.speed.efficiency import LOGIT, Parameter

Prior = Mapping[str, float]

BASES: Final[Mapping[Parameter, float]] = {
    Parameter.MEMORY: 0.75,
    Parameter.EXPERT_MEMORY: 0.9,
    Parameter.CACHE: 0.6,
    Parameter.COMPUTE: 0.5,
    Parameter.QUANTISED_COMPUTE: 0.45,
    Parameter.EXPERT_COMPUTE: 0.5,
    Parameter.SKEW: 1.0,
    Parameter.ATTENTION: 0.35,
    Parameter.LATENT: 0.5,
    Parameter.HALF: 20.0,
    Parameter.LAYER: 2e-5,
    Parameter.STEP: 1e-3,
    Parameter.SEQUENCE: 1.5e-5,
    Parameter.LATENCY: 1e-5,
    Parameter.LINK: 0.5,
    Parameter.OVERLAP: 0.85,
    Parameter.QUEUE: 0.5,
    Parameter.CLUMP: 0.05,
    Parameter.HANDLE: 5e-4,
    Parameter.LOST: 0.01,
    Parameter.INTAKE: 2e-3,
    Parameter.TOKENISE: 3e-6,
    Parameter.FIRST: 0.03,
    Parameter.DECODE: 1.0,
    Parameter.PREFILL: 1.0,
}
"""Where the fit begins, in the constant's own unit. Chosen as round numbers from public kernel
benchmarks (70 to 80 % of bandwidth, half of the peak, 10 µs an all-reduce); all are free to move
but the last two, which stay at 1 so that offsets alone use them.
"""

PRIORS: Final[Mapping[Parameter, Prior]] = {
    Parameter.MEMORY: {
        "engine": 0.4,
        "era": 0.4,
        "generation": 0.4,
        "gpu": 0.3,
        "format": 0.3,
        "format-generation": 0.3,
        "engine-generation": 0.3,
        "engine-format": 0.3,
    },
    Parameter.EXPERT_MEMORY: {"engine": 0.3, "family": 0.3, "format": 0.3, "engine-family": 0.3},
    Parameter.CACHE: {
        "engine": 0.5,
        "era": 0.5,
        "generation": 0.4,
        "gpu": 0.2,
        "family": 0.3,
        "engine-generation": 0.3,
    },
    Parameter.COMPUTE: {
        "engine": 0.4,
        "era": 0.4,
        "generation": 0.5,
        "gpu": 0.3,
        "engine-generation": 0.4,
    },
    Parameter.QUANTISED_COMPUTE: {
        "engine": 0.4,
        "era": 0.4,
        "generation": 0.4,
        "gpu": 0.3,
        "format": 0.5,
        "format-generation": 0.4,
        "engine-format": 0.4,
        "engine-generation": 0.3,
    },
    Parameter.EXPERT_COMPUTE: {
        "engine": 0.4,
        "generation": 0.3,
        "format": 0.4,
        "family": 0.4,
        "engine-family": 0.3,
    },
    Parameter.SKEW: {"engine": 0.5},
    Parameter.ATTENTION: {"engine": 0.4, "era": 0.3, "generation": 0.4, "family": 0.3},
    Parameter.LATENT: {"engine": 0.4, "era": 0.3, "generation": 0.4, "family": 0.3},
    Parameter.HALF: {"generation": 0.4, "engine": 0.3},
    Parameter.LAYER: {
        "engine": 0.4,
        "era": 0.4,
        "generation": 0.4,
        "family": 0.3,
        "engine-generation": 0.4,
        "engine-family": 0.3,
        "gpu": 0.2,
    },
    Parameter.STEP: {
        "engine": 0.4,
        "era": 0.4,
        "version": 0.2,
        "generation": 0.3,
        "engine-generation": 0.3,
    },
    Parameter.SEQUENCE: {"engine": 0.5, "era": 0.5, "engine-generation": 0.4},
    Parameter.LATENCY: {
        "link": 0.5,
        "engine": 0.3,
        "era": 0.3,
        "generation": 0.4,
        "engine-generation": 0.3,
    },
    Parameter.LINK: {"link": 0.5, "generation": 0.3, "engine": 0.2},
    Parameter.OVERLAP: {"engine": 0.5, "era": 0.5},
    Parameter.QUEUE: {"engine": 0.4, "era": 0.4},
    Parameter.CLUMP: {"engine": 0.3, "era": 0.5, "version": 0.5},
    Parameter.HANDLE: {"engine": 0.5, "era": 0.5, "version": 0.3},
    Parameter.LOST: {"engine": 0.7, "era": 0.7, "version": 1.5},
    Parameter.INTAKE: {"engine": 0.5, "era": 0.5, "version": 0.7},
    Parameter.TOKENISE: {"engine": 0.5, "era": 0.5, "version": 0.7},
    Parameter.FIRST: {
        "engine": 0.5,
        "era": 0.5,
        "version": 0.3,
        "engine-family": 0.4,
        "engine-generation": 0.3,
    },
    Parameter.DECODE: {
        "era": 0.05,
        "version": 0.07,
        "engine-gpu": 0.1,
        "family": 0.05,
        "engine-family": 0.1,
        "family-generation": 0.05,
    },
    Parameter.PREFILL: {
        "era": 0.05,
        "version": 0.07,
        "engine-gpu": 0.15,
        "family": 0.05,
        "engine-family": 0.15,
        "family-generation": 0.05,
    },
}

LEVELS: Final = tuple(dict.fromkeys(level for prior in PRIORS.values() for level in prior))


def fitted_scale(parameter: Parameter) -> float:
    """Return where the fit of a constant begins, on its fitted scale."""
    base = BASES[parameter]
    return log(base / (1 - base)) if parameter in LOGIT else log(base)
