"""GPUs as columns of numbers, so that one formula serves the whole catalogue at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.facts.calibration import compute_rate_supplements
from caudal.facts.gpu import GpuSpec
from caudal.facts.precision import Arithmetic

Floats = NDArray[np.float64]

_GEFORCE_PREFIXES: Final = ("rtx-20", "rtx-30", "rtx-40", "rtx-50")
_GEFORCE_EXCEPTIONS: Final = ("rtx-4000", "rtx-5000", "rtx-2000", "rtx-3000")
_HALF_ACCUMULATE_GAIN: Final = 2.0
"""GeForce cards run 16-bit products with 32-bit accumulation at half their 16-bit rate.

Source: NVIDIA Ada GPU architecture whitepaper v2.02, appendix A, "Peak FP16 Tensor TFLOPS".
"""


@dataclass(frozen=True, slots=True, eq=False)
class GpuColumns:
    """What many GPUs can do at best; every array is [gpus], and NaN says that no maker says."""

    ids: tuple[str, ...]
    generation_names: tuple[str, ...]  # distinct ones, such as "Hopper/hbm"
    generation_index: NDArray[np.intp]  # the one of each GPU
    memory_bytes_per_s: Floats
    usable_bytes: Floats
    bf16_flop_per_s: Floats
    fp8_flop_per_s: Floats
    int8_flop_per_s: Floats
    fp4_flop_per_s: Floats
    half_accumulate_gain: Floats  # what 16-bit accumulation adds to the 16-bit rate
    link_bytes_per_s: Floats
    links: tuple[str, ...]  # kind of link to the peers: "nvlink", "bridge", "pcie", "fabric"

    @classmethod
    def of(cls, specs: Sequence[GpuSpec]) -> "GpuColumns":
        """Return the columns of `specs`, in their order."""
        generations = [generation_of(spec) for spec in specs]
        names = tuple(dict.fromkeys(generations))
        return cls(
            ids=tuple(spec.id for spec in specs),
            generation_names=names,
            generation_index=np.array([names.index(each) for each in generations], dtype=np.intp),
            memory_bytes_per_s=_column([spec.memory_bytes_per_s for spec in specs]),
            usable_bytes=_column([float(spec.usable_bytes) for spec in specs]),
            bf16_flop_per_s=_column([_bf16_rate(spec) for spec in specs]),
            fp8_flop_per_s=_column(
                [spec.dense_fp8_flop_per_s if spec.native_fp8 else None for spec in specs]
            ),
            int8_flop_per_s=_column([spec.dense_int8_flop_per_s for spec in specs]),
            fp4_flop_per_s=_column(
                [spec.dense_fp4_flop_per_s if spec.native_fp4 else None for spec in specs]
            ),
            half_accumulate_gain=_column([half_accumulate_gain(spec.id) for spec in specs]),
            link_bytes_per_s=_column([spec.link_bytes_per_s or None for spec in specs]),
            links=tuple(link_kind(spec) for spec in specs),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def native_rate(self, arithmetic: Arithmetic) -> Floats:
        """Return the dense rate in `arithmetic`, NaN where the GPU has no such unit."""
        match arithmetic:
            case Arithmetic.BF16:
                return self.bf16_flop_per_s
            case Arithmetic.FP8:
                return self.fp8_flop_per_s
            case Arithmetic.INT8:
                return self.int8_flop_per_s
            case Arithmetic.FP4:
                return self.fp4_flop_per_s

    def generation(self, gpu: int) -> str:
        """Return the generation of the GPU at this place."""
        return self.generation_names[int(self.generation_index[gpu])]


def generation_of(spec: GpuSpec) -> str:
    """Return the generation of `spec`, split by memory: an A100 and an RTX 3090 differ as much."""
    stacked = spec.memory_type.upper().startswith("HBM")
    return f"{spec.architecture}/{'hbm' if stacked else 'gddr'}"


def half_accumulate_gain(gpu_id: str) -> float:
    """Return by how much 16-bit products with 16-bit accumulation pass the catalogue's rate."""
    geforce = gpu_id.startswith(_GEFORCE_PREFIXES) and not gpu_id.startswith(_GEFORCE_EXCEPTIONS)
    return _HALF_ACCUMULATE_GAIN if geforce else 1.0


def link_kind(spec: GpuSpec) -> str:
    """Return how `spec` reaches its peers, as far as the time of an exchange depends on it."""
    name = spec.interconnect.lower()
    if "bridge" in name:
        return "bridge"
    if "nvlink" in name:
        return "nvlink"
    if spec.has_fast_link and "none" not in name:
        return "fabric"
    return "pcie"


def _bf16_rate(spec: GpuSpec) -> float | None:
    if spec.dense_bf16_flop_per_s is not None:
        return spec.dense_bf16_flop_per_s
    return compute_rate_supplements().get(spec.id)


def _column(values: Sequence[float | None]) -> Floats:
    return np.array([nan if value is None else value for value in values], dtype=np.float64)
