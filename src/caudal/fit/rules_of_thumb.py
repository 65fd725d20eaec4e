"""Sizing on the back of an envelope: nominal parameters, one cache figure, a flat overhead.

These are the rules that hosting pages print. They are quick, explain themselves and are wrong by
a tenth or more where a model departs from its nominal size; `caudal.fit.budget` is the real
answer. Here GB is what a datasheet says, because that is what these rules count in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GB, Bytes

BYTES_AT_16_BIT: Final = 2.0
BYTES_AT_8_BIT: Final = 1.0
BYTES_AT_4_BIT: Final = 0.5
# A 4-bit file as stored: scales, zero points and the matrices left in 16 bit come on top. 0.6 is
# 4.8 bits a weight; llama.cpp's Q4_K_M has 4.85, AWQ of a 70B model 4.5. Chosen: it is also the
# only tenth that reproduces the 4-bit column of EverXCloud's GPU table (nine GPUs, see
# tests/golden/seeds), which bounds it to between 0.594 and 0.614.
BYTES_AT_4_BIT_STORED: Final = 0.6

# Of the memory, what weights may take; the rest is for the cache. EverXCloud's table says so.
WEIGHTS_SHARE: Final = 0.8
# Runtime, activations and fragmentation of one small deployment. GPU Rent Hub's table says 2 GB.
FLAT_OVERHEAD_BYTES: Final = Bytes(2 * GB)

_BILLION: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedMemory:
    """Something that can be rented, as far as these rules look: how much it holds, what it costs.

    All prices that are compared must stand on one basis; which one does not matter here.
    """

    name: str
    memory_bytes: Bytes
    price: Decimal


def nominal_weight_bytes(parameters: float, *, bytes_per_parameter: float) -> Bytes:
    """Return `parameters · bytes_per_parameter`.

    Leaves out that some matrices stay in 16 bit, and the scales of quantised ones (unless
    `bytes_per_parameter` holds them); `caudal.fit.needs` counts both.
    """
    _check_positive("parameters", parameters)
    _check_positive("bytes_per_parameter", bytes_per_parameter)
    return Bytes(round(parameters * bytes_per_parameter))


def envelope_bytes(
    parameters: float,
    *,
    bytes_per_parameter: float,
    kv_bytes: float,
    overhead_bytes: Bytes = FLAT_OVERHEAD_BYTES,
) -> Bytes:
    """Return nominal weights, plus the cache of all sequences in flight, plus a flat overhead.

    Leaves out activations that grow with the batch, CUDA graphs and the engine's own reserve.
    """
    weights = nominal_weight_bytes(parameters, bytes_per_parameter=bytes_per_parameter)
    return Bytes(weights + round(kv_bytes) + overhead_bytes)


def largest_model_parameters(
    memory_bytes: float, *, bytes_per_parameter: float, share: float = WEIGHTS_SHARE
) -> float:
    """Return how many parameters fit: `memory_bytes · share / bytes_per_parameter`."""
    _check_positive("memory_bytes", memory_bytes)
    _check_positive("bytes_per_parameter", bytes_per_parameter)
    if not 0 < share <= 1:
        raise InvalidQuantityError(
            f"A share of the memory lies between 0 and 1, not at {share:g}.",
            remedy="Give a fraction such as 0.8.",
        )
    return memory_bytes * share / bytes_per_parameter


def prudent_parameters(parameters: float) -> int:
    """Return `parameters` rounded down to a size that people name.

    Down to a whole billion below 10, to a multiple of 5 below 100, of 10 from there on: the rule
    that both size columns of EverXCloud's table follow in all eighteen cells.
    """
    billions = parameters / _BILLION
    step = 1 if billions < 10 else 5 if billions < 100 else 10
    return int(billions // step) * step * _BILLION


def fewest_gpus(need_bytes: float, *, memory_bytes: float) -> int:
    """Return the smallest number of GPUs whose memory together reaches `need_bytes`.

    Leaves out what is kept whole on every GPU, and whether the layout is legal.
    """
    _check_positive("need_bytes", need_bytes)
    _check_positive("memory_bytes", memory_bytes)
    return -int(-need_bytes // memory_bytes)


def cheapest_holding(need_bytes: float, choices: Iterable[PricedMemory]) -> PricedMemory | None:
    """Return the cheapest choice whose memory reaches `need_bytes`, or None where none does.

    Of two at one price the larger is returned.
    """
    holding = [choice for choice in choices if choice.memory_bytes >= need_bytes]
    return min(holding, key=lambda choice: (choice.price, -choice.memory_bytes), default=None)


def sequences_that_fit(
    free_bytes: float,
    *,
    kv_bytes_per_sequence: float,
) -> int:
    """Return how many sequences' caches `free_bytes` holds; 0 where not even one fits."""
    _check_positive("kv_bytes_per_sequence", kv_bytes_per_sequence)
    return max(0, int(free_bytes // kv_bytes_per_sequence))


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidQuantityError(
            f"{name} must be more than zero, not {value:g}.",
            remedy="Give a positive number.",
        )
