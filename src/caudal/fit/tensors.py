"""How many bytes an allocator takes beyond the tensors it holds.

PyTorch's caching allocator rounds a tensor of 10 MiB and more up to whole 2 MiB, and splits off
the rest for others only if more than 1 MiB is left. Each large matrix can so cost up to 1 MiB: a
14B over two GPUs loads as 13.95 GiB instead of 13.79.

Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (kMinLargeAlloc, kRoundLarge, kSmallSize,
should_split).
"""

from collections.abc import Mapping
from typing import Final

from caudal.facts.precision import Role
from caudal.vocabulary.units import MIB

_LARGE: Final = 10 * MIB
_ROUND: Final = 2 * MIB
_SPLIT: Final = MIB

# Engines fuse what reads the same input: queries with keys and values, the two gated matrices.
# Source: vLLM vllm/model_executor/layers/linear.py (QKVParallelLinear, MergedColumnParallelLinear).
_FUSED: Final[Mapping[Role, tuple[str, tuple[float, ...]]]] = {
    Role.QUERY: ("attention", (1.0,)),
    Role.KEY_VALUE: ("attention", (1.0,)),
    Role.ATTENTION_OUTPUT: ("output", (1.0,)),
    Role.DENSE: ("dense", (2 / 3, 1 / 3)),
    Role.SHARED_EXPERT: ("shared", (2 / 3, 1 / 3)),
    Role.ROUTED_EXPERT: ("experts", (2 / 3, 1 / 3)),
    Role.EMBEDDING: ("embedding", (1.0,)),
    Role.HEAD: ("head", (1.0,)),
}


def fused_name(role: Role) -> str | None:
    """Return the fused tensor that weights of `role` become part of, None where they stay small."""
    fused = _FUSED.get(role)
    return None if fused is None else fused[0]


def allocation_slack(tensor_bytes: float) -> float:
    """Return what the allocator adds to one tensor and no other tensor can use."""
    if tensor_bytes < _LARGE:
        return 0.0
    rest = -tensor_bytes % _ROUND
    return rest if rest <= _SPLIT else 0.0


def fused_slack(fused: str, fused_bytes: float) -> float:
    """Return the slack of the tensors that one fused group of a layer is stored in."""
    shares = next(parts for name, parts in _FUSED.values() if name == fused)
    return sum(allocation_slack(fused_bytes * share) for share in shares)
