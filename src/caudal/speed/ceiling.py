"""Upper bounds from the datasheet: what no kernel can pass, and no server reaches.

Plain arithmetic on one GPU, without calibration; `caudal.speed.steps` predicts what is reached.
"""

from typing import Final

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import Bytes, BytesPerSecond, FlopPerSecond, TokensPerSecond

FLOP_PER_PARAMETER: Final = 2  # one multiplication and one addition per weight and token


def decode_ceiling(
    memory_bytes_per_s: BytesPerSecond, *, weight_bytes: Bytes, sequences: int = 1
) -> TokensPerSecond:
    """Return the most tokens per second that decoding can produce over `sequences` at once.

    `sequences · memory_bytes_per_s / weight_bytes`: every step reads all weights once and yields
    one token for each sequence. Leaves out the KV cache, arithmetic and all overheads, so
    it is a bound, and a far one for many sequences.
    """
    _check_positive("memory_bytes_per_s", memory_bytes_per_s)
    _check_positive("weight_bytes", weight_bytes)
    _check_positive("sequences", sequences)
    return TokensPerSecond(sequences * memory_bytes_per_s / weight_bytes)


def ridge_flop_per_byte(flop_per_s: FlopPerSecond, *, memory_bytes_per_s: BytesPerSecond) -> float:
    """Return the operations per loaded byte from which arithmetic, not memory, is the limit.

    Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009 (the ridge point).
    """
    _check_positive("flop_per_s", flop_per_s)
    _check_positive("memory_bytes_per_s", memory_bytes_per_s)
    return flop_per_s / memory_bytes_per_s


def decode_flop_per_byte(*, bytes_per_parameter: float, sequences: int = 1) -> float:
    """Return the operations that decoding performs per byte of weights it loads.

    `2 · sequences / bytes_per_parameter`. Leaves out attention, which adds bytes and operations
    alike.
    """
    _check_positive("bytes_per_parameter", bytes_per_parameter)
    _check_positive("sequences", sequences)
    return FLOP_PER_PARAMETER * sequences / bytes_per_parameter


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidQuantityError(
            f"{name} must be more than zero, not {value:g}.",
            remedy="Give a positive number.",
        )
