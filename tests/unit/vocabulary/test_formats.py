"""Quantities are printed as people and makers write them."""

from decimal import Decimal

import pytest

from caudal.vocabulary.formats import (
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
)
from caudal.vocabulary.units import GB, GIB, MIB


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 GiB"),
        (1, "1 bytes"),
        (512 * MIB, "0.5 GiB"),
        (50 * MIB, "50 MiB"),
        (GIB, "1 GiB"),
        (79.65 * GIB, "79.7 GiB"),
        (1536 * GIB, "1,536.0 GiB"),
    ],
)
def test_sizes_for_fit_are_gib(size: float, expected: str) -> None:
    assert expected == format_bytes_gib(size)


@pytest.mark.parametrize(
    ("size", "expected"), [(80 * GB, "80 GB"), (10.7 * GB, "10.7 GB"), (1536 * GB, "1,536 GB")]
)
def test_nominal_sizes_are_gb(size: float, expected: str) -> None:
    assert expected == format_bytes_gb(size)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0 s"), (0.05, "50 ms"), (0.9999, "1 s"), (1.5, "1.5 s"), (90, "1.5 min"), (7200, "2 h")],
)
def test_durations_take_the_largest_fitting_unit(seconds: float, expected: str) -> None:
    assert expected == format_duration(seconds)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"),
        (2000, "2,000"),
        (50_000_000, "50M"),
        (70_553_706_496, "70.6B"),
        (999_999, "1M"),
        (0.5, "0.5"),
    ],
)
def test_counts_have_three_digits_or_are_whole(count: float, expected: str) -> None:
    assert expected == format_count(count)


def test_tokens_are_printed_in_full() -> None:
    assert "131,072" == format_tokens(131_072)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(5, "5/s"), (0.5, "30/min"), (1 / 3600, "1/h"), (1 / 86_400, "1/day"), (1e-7, "0.00864/day")],
)
def test_rates_take_the_shortest_period_with_one_event(rate: float, expected: str) -> None:
    assert expected == format_rate(rate)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("0", "$0.00"),
        ("2.347", "$2.35"),
        ("1690", "$1,690.00"),
        ("0.0042", "$0.0042"),
        ("-3", "-$3.00"),
    ],
)
def test_money_is_printed_to_the_cent(amount: str, expected: str) -> None:
    assert expected == format_money(Decimal(amount))


def test_money_says_what_it_is_per() -> None:
    assert "$2.35/h" == format_money(Decimal("2.35"), per="h")


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0, "0 GB/s"), (3.35e12, "3.35 TB/s"), (9e11, "900 GB/s"), (5e6, "5 MB/s")],
)
def test_bandwidths_are_decimal(rate: float, expected: str) -> None:
    assert expected == format_bandwidth(rate)


def test_shares_are_percentages() -> None:
    assert "12.5%" == format_fraction(0.125)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((), ""), ((4,), "4"), ((1, 2), "1,2"), ((1, 2, 4), "1,2,4"), ((1, 2, 3, 8), "1..3,8")],
)
def test_runs_of_gpu_counts_are_ranges(counts: tuple[int, ...], expected: str) -> None:
    assert expected == format_gpu_counts(counts)
