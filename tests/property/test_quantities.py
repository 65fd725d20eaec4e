"""What is printed reads back, and no text makes a parser fail in an unexplained way."""

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.quantities import (
    format_bandwidth,
    format_bytes_gb,
    format_bytes_gib,
    format_count,
    format_duration,
    format_fraction,
    format_gpu_counts,
    format_money,
    format_rate,
    format_tokens,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_duration,
    parse_fraction,
    parse_gpu_counts,
    parse_price,
    parse_rate,
    parse_tokens,
    parse_usd_per_hour,
)
from caudal.vocabulary.units import GIB, Bytes, Tokens

THREE_DIGITS: Final = 0.0051  # half a unit of the third digit, and rounding to whole bytes


@given(st.integers(100, 10**17))
def test_a_size_in_gib_reads_back(size: int) -> None:
    shown = format_bytes_gib(size)

    assert parse_bytes(shown) == pytest.approx(size, rel=THREE_DIGITS)


@given(st.integers(10 * GIB, 10**17))
def test_a_large_size_in_gib_reads_back_to_a_twentieth_of_a_gib(size: int) -> None:
    assert abs(parse_bytes(format_bytes_gib(Bytes(size))) - size) <= 0.0501 * GIB + size * 1e-12


@given(st.integers(10**6, 10**17))
def test_a_size_in_gb_reads_back(size: int) -> None:
    assert parse_bytes(format_bytes_gb(size)) == pytest.approx(size, rel=THREE_DIGITS)


@given(st.floats(1e-6, 3e7))
def test_a_duration_reads_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=THREE_DIGITS)


@given(st.integers(1, 10**17))
def test_a_count_reads_back(count: int) -> None:
    assert parse_count(format_count(count)) == pytest.approx(count, rel=THREE_DIGITS)


@given(st.integers(1, 99_999))
def test_a_count_below_a_hundred_thousand_reads_back_exactly(count: int) -> None:
    assert count == parse_count(format_count(count))


@given(st.integers(1, 2**30))
def test_a_length_reads_back_exactly(tokens: int) -> None:
    assert tokens == parse_tokens(format_tokens(Tokens(tokens)))


@given(st.floats(1e-8, 1e11))
def test_a_rate_reads_back(rate: float) -> None:
    assert parse_rate(format_rate(rate)) == pytest.approx(rate, rel=THREE_DIGITS)


@given(st.floats(1e7, 1e16))
def test_a_bandwidth_reads_back(rate: float) -> None:
    assert parse_bandwidth(format_bandwidth(rate)) == pytest.approx(rate, rel=THREE_DIGITS)


@given(st.floats(1e-4, 1))
def test_a_share_reads_back(share: float) -> None:
    assert parse_fraction(format_fraction(share)) == pytest.approx(share, rel=THREE_DIGITS)


@given(st.decimals("0.01", "999999999", places=2))
def test_money_in_cents_reads_back_exactly(amount: Decimal) -> None:
    assert amount == parse_price(format_money(amount)).amount_usd
    assert amount == parse_usd_per_hour(format_money(amount, per="h"))


@given(st.decimals("0.000001", "0.0099", places=6))
def test_money_below_a_cent_reads_back(amount: Decimal) -> None:
    read = parse_price(format_money(amount)).amount_usd

    assert float(read) == pytest.approx(float(amount), rel=THREE_DIGITS)


@given(st.sets(st.integers(1, 4096), min_size=1, max_size=20))
def test_gpu_counts_read_back_exactly(counts: set[int]) -> None:
    ascending = tuple(sorted(counts))

    assert ascending == parse_gpu_counts(format_gpu_counts(ascending))


@given(st.integers(1, 99_999))
def test_what_is_printed_is_stable_when_read_and_printed_again(count: int) -> None:
    for thing in (count / 1000, float(count)):
        shown = format_duration(thing)

        assert shown == format_duration(parse_duration(shown))


UNITS: Final = st.sampled_from(
    [
        "",
        "k",
        "K",
        "M",
        "B",
        "GB",
        "GiB",
        "ms",
        "s",
        "/s",
        "/day",
        "%",
        "$",
        "TB/s",
        "/M",
        "x",
        "..",
    ]
)
NEARLY: Final = st.builds(
    "".join,
    st.lists(
        st.one_of(UNITS, st.sampled_from(list("0123456789,._-+eE $/\u0663")), st.characters()),
        max_size=12,
    ),
)
ALL: Final[tuple[Callable[[str], object], ...]] = (
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_duration,
    parse_fraction,
    parse_gpu_counts,
    parse_price,
    parse_rate,
    parse_tokens,
    parse_usd_per_hour,
)


@given(text=st.one_of(NEARLY, st.text(max_size=80)))
def test_every_text_is_a_quantity_or_an_explained_error(text: str) -> None:
    for parse in ALL:
        with suppress(InvalidQuantityError):
            parse(text)
