import pytest

from caudal.speed.ceiling import decode_ceiling, decode_flop_per_byte, ridge_flop_per_byte
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GB, Bytes, BytesPerSecond, FlopPerSecond

H100_BYTES_PER_S = BytesPerSecond(3.35e12)


def test_the_decode_ceiling_is_bandwidth_over_weights() -> None:
    assert decode_ceiling(H100_BYTES_PER_S, weight_bytes=Bytes(16 * GB)) == pytest.approx(209.375)


def test_twice_the_bandwidth_doubles_the_ceiling() -> None:
    once = decode_ceiling(H100_BYTES_PER_S, weight_bytes=Bytes(16 * GB))
    twice = decode_ceiling(BytesPerSecond(2 * H100_BYTES_PER_S), weight_bytes=Bytes(16 * GB))

    assert twice == pytest.approx(2 * once)


def test_a_batch_shares_one_reading_of_the_weights() -> None:
    one = decode_ceiling(H100_BYTES_PER_S, weight_bytes=Bytes(16 * GB))
    eight = decode_ceiling(H100_BYTES_PER_S, weight_bytes=Bytes(16 * GB), sequences=8)

    assert eight == pytest.approx(8 * one)


def test_the_ridge_is_arithmetic_over_bandwidth() -> None:
    ridge = ridge_flop_per_byte(FlopPerSecond(990e12), memory_bytes_per_s=H100_BYTES_PER_S)

    assert ridge == pytest.approx(295.5, abs=0.1)


def test_one_sequence_in_16_bit_does_one_operation_per_byte() -> None:
    assert decode_flop_per_byte(bytes_per_parameter=2) == 1


def test_operations_per_byte_grow_with_the_batch() -> None:
    assert decode_flop_per_byte(bytes_per_parameter=1, sequences=64) == 128


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_memory_that_delivers_nothing_is_refused(rate: float) -> None:
    with pytest.raises(InvalidQuantityError, match="memory_bytes_per_s"):
        decode_ceiling(BytesPerSecond(rate), weight_bytes=Bytes(1))
