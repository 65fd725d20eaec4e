"""What people type is read as they mean it, or refused with what to write instead."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from caudal.vocabulary import quantities
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.quantities import (
    Per,
    Price,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_duration,
    parse_fraction,
    parse_gpu_counts,
    parse_price,
    parse_rate,
    parse_token_rate,
    parse_tokens,
    parse_usd_per_hour,
    tokens_reading,
)
from caudal.vocabulary.units import GB, GIB, MIB

Parser = Callable[..., object]
PARSERS: tuple[Parser, ...] = (
    parse_bytes,
    parse_duration,
    parse_rate,
    parse_token_rate,
    parse_count,
    parse_tokens,
    parse_price,
    parse_usd_per_hour,
    parse_bandwidth,
    parse_fraction,
    parse_gpu_counts,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80GB", 80 * GB),
        ("80 gb", 80 * GB),
        ("80G", 80 * GB),
        ("80GiB", 80 * GIB),
        ("80gib", 80 * GIB),
        ("80Gi", 80 * GIB),
        ("0.5GiB", GIB // 2),
        ("21.3GiB", round(21.3 * GIB)),
        ("512MiB", 512 * MIB),
        ("20TB", 20_000 * GB),
        ("1,536GB", 1536 * GB),
        ("100 bytes", 100),
    ],
)
def test_sizes_are_decimal_unless_written_with_an_i(text: str, expected: int) -> None:
    assert expected == parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1s", 1),
        ("1.5s", 1.5),
        (" 500 ms ", 0.5),
        ("500MS", 0.5),
        ("250us", 250e-6),
        ("5m", 300),
        ("5min", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1 day", 86_400),
        ("1e-1s", 0.1),
    ],
)
def test_durations_are_seconds(text: str, expected: float) -> None:
    assert expected == pytest.approx(parse_duration(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5/s", 5),
        ("5 / s", 5),
        ("300/min", 5),
        ("300/m", 5),
        ("18,000/h", 5),
        ("10/h", 10 / 3600),
        ("50M/day", 50e6 / 86_400),
        ("50M tokens/day", 50e6 / 86_400),
        ("2k tok/s", 2000),
        ("2K/s", 2000),
        ("5 req/s", 5),
        ("5rps", 5),
        ("300 rpm", 5),
        ("5 per second", 5),
        ("5 requests per second", 5),
        ("2,628,000/month", 1),
    ],
)
def test_rates_are_per_second(text: str, expected: float) -> None:
    assert expected == pytest.approx(parse_rate(text))
    assert expected == pytest.approx(parse_token_rate(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50M", 50_000_000),
        ("2B", 2_000_000_000),
        ("13b", 13_000_000_000),
        ("1.5k", 1500),
        ("2,000", 2000),
        ("2_000", 2000),
        ("1,234,567", 1_234_567),
        ("1e9", 10**9),
        ("1T", 10**12),
        ("3 million", 3_000_000),
    ],
)
def test_amounts_are_decimal(text: str, expected: int) -> None:
    assert expected == parse_count(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8k", 8192),
        ("32K", 32_768),
        ("128k", 131_072),
        ("1M", 1_048_576),
        ("1.5k", 1536),
        ("8192", 8192),
        ("2,000", 2000),
        ("2000 tokens", 2000),
        ("8k tokens", 8192),
    ],
)
def test_lengths_of_a_sequence_are_binary(text: str, expected: int) -> None:
    assert expected == parse_tokens(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [("8k", "8k is read as 8,192 tokens"), ("8192", ""), ("2,000", ""), (" 8192 ", "")],
)
def test_a_letter_in_a_length_is_said_openly(text: str, said: str) -> None:
    assert said == tokens_reading(text)


@pytest.mark.parametrize(
    ("text", "amount", "per"),
    [
        ("$2.50/h", "2.50", Per.HOUR),
        ("2.50", "2.50", Per.ONCE),
        ("$25", "25", Per.ONCE),
        ("US$0.44", "0.44", Per.ONCE),
        ("2.5 USD per hour", "2.5", Per.HOUR),
        ("usd 3/day", "3", Per.DAY),
        ("$1,690/month", "1690", Per.MONTH),
        ("$400/week", "400", Per.WEEK),
        ("$1.5k/mo", "1500", Per.MONTH),
        ("$0.60/M tokens", "0.60", Per.MILLION_TOKENS),
        ("$0.60/1M", "0.60", Per.MILLION_TOKENS),
    ],
)
def test_prices_keep_what_they_are_for(text: str, amount: str, per: Per) -> None:
    assert Price(Decimal(amount), per) == parse_price(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25", Decimal(25)),
        ("$2.50/h", Decimal("2.50")),
        ("$48/day", Decimal(2)),
        ("$168/week", Decimal(1)),
        ("$1,800/month", Decimal("2.5")),
    ],
)
def test_a_price_over_time_is_brought_to_the_hour(text: str, expected: Decimal) -> None:
    assert expected == parse_usd_per_hour(text)


def test_the_hours_of_a_month_can_be_the_metered_ones() -> None:
    assert Decimal(2) == parse_usd_per_hour("$1,460/month", hours_per_month=Decimal(730))


def test_a_price_per_token_is_no_price_per_hour() -> None:
    with pytest.raises(InvalidQuantityError, match="per million tokens, not per time"):
        parse_usd_per_hour("$3/M tokens")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3TB/s", 3e12), ("900GB/s", 9e11), ("3.35 TBps", 3.35e12), ("400Gbit/s", 5e10)],
)
def test_bandwidths_are_bytes_per_second(text: str, expected: float) -> None:
    assert expected == pytest.approx(parse_bandwidth(text))


@pytest.mark.parametrize("text", ["900gb/s", "400Gbps", "400Gb/s", "3tb/s", "400gbps"])
def test_a_small_b_is_refused_since_bits_and_bytes_differ_eightfold(text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="bits or bytes"):
        parse_bandwidth(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("80%", 0.8), ("80 %", 0.8), ("0.8", 0.8), ("1", 1), ("12.5%", 0.125)]
)
def test_shares_are_fractions(text: str, expected: float) -> None:
    assert expected == pytest.approx(parse_fraction(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", (4,)),
        ("1..4", (1, 2, 3, 4)),
        ("1-4", (1, 2, 3, 4)),
        ("1–4", (1, 2, 3, 4)),
        ("4,1,2", (1, 2, 4)),
        ("1..2, 8", (1, 2, 8)),
    ],
)
def test_numbers_of_gpus_are_lists_and_ranges(text: str, expected: tuple[int, ...]) -> None:
    assert expected == parse_gpu_counts(text)


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (parse_duration, "80GB", "'80GB' is a size; a duration such as 500ms or 1.5s is needed."),
        (parse_duration, "5/s", "is a rate; a duration"),
        (parse_duration, "5M", "is an amount; a duration"),
        (parse_duration, "5", "is a number without a unit; a duration"),
        (parse_duration, "$5", "is a price; a duration"),
        (parse_bytes, "1s", "is a duration; a size"),
        (parse_bytes, "80", "is a number without a unit; a size"),
        (parse_bytes, "80B", "is an amount; a size"),
        (parse_bytes, "900GB/s", "is a bandwidth; a size"),
        (parse_rate, "5", "is a number without a unit; a rate"),
        (parse_rate, "80GB", "is a size; a rate"),
        (parse_rate, "3TB/s", "is a bandwidth; a rate"),
        (parse_count, "5m", "is a duration; a plain number"),
        (parse_count, "80GB", "is a size; a plain number"),
        (parse_tokens, "80%", "is a percentage; a number of tokens"),
        (parse_tokens, "50B", "is an amount; a number of tokens"),
        (parse_price, "80GB", "is a size; a price"),
        (parse_bandwidth, "80GB", "is a size; a bandwidth"),
        (parse_fraction, "5s", "is a duration; a share"),
        (parse_gpu_counts, "80GB", "is a size; a number of GPUs"),
    ],
)
def test_a_unit_of_another_kind_is_named(parse: Parser, text: str, problem: str) -> None:
    with pytest.raises(InvalidQuantityError) as caught:
        parse(text)

    assert problem in caught.value.problem


def test_the_option_opens_the_message() -> None:
    with pytest.raises(InvalidQuantityError) as caught:
        parse_duration("80GB", name="--ttft-p95")

    assert "--ttft-p95: '80GB' is a size;" in caught.value.problem
    assert "Write a duration such as 500ms or 1.5s." == caught.value.remedy


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "0GB"),
        (parse_duration, "0s"),
        (parse_rate, "0/s"),
        (parse_count, "0"),
        (parse_tokens, "0"),
        (parse_price, "$0"),
        (parse_bandwidth, "0GB/s"),
        (parse_fraction, "0%"),
        (parse_gpu_counts, "0"),
    ],
)
def test_zero_is_refused(parse: Parser, text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="is zero"):
        parse(text)


def test_zero_is_taken_where_it_means_something() -> None:
    assert 0 == parse_bytes("0GB", zero_ok=True)
    assert 0 == float(parse_duration("0s", zero_ok=True))
    assert 0 == parse_count("0", zero_ok=True)
    assert 0 == parse_tokens("0", zero_ok=True)
    assert 0 == parse_fraction("0%", zero_ok=True)
    assert Price(Decimal(0), Per.HOUR) == parse_price("$0/h", zero_ok=True)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "-80GB"),
        (parse_duration, "-1s"),
        (parse_rate, "-5/s"),
        (parse_count, "-1"),
        (parse_tokens, "-8k"),
        (parse_price, "-2.50"),
        (parse_bandwidth, "-1TB/s"),
        (parse_fraction, "-5%"),
    ],
)
def test_negative_quantities_are_refused(parse: Parser, text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="negative"):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "2000PB"),
        (parse_duration, "400d"),
        (parse_rate, "1e13/s"),
        (parse_count, "1e19"),
        (parse_tokens, "2,000,000,000"),
        (parse_price, "$1e11"),
        (parse_bandwidth, "2000PB/s"),
        (parse_fraction, "101%"),
        (parse_gpu_counts, "5000"),
        (parse_gpu_counts, "9" * 60),
    ],
)
def test_the_absurd_is_refused(parse: Parser, text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="cannot be meant"):
        parse(text)


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "inf",
        "-inf",
        "nan",
        "abc",
        "GB",
        "$",
        "/",
        "/s",
        "%",
        "--5",
        "5 5",
        "0x10",
        "٣",
        "½",
        "5…",
        "1e",
        "1..",
        "..4",
        "1,,2",
        "5" * 100,
        "1e99999",
        "\x00",
        "5\n5",
    ],
)
def test_nonsense_is_refused_at_every_door(parse: Parser, text: str) -> None:
    with pytest.raises(InvalidQuantityError) as caught:
        parse(text)

    assert len(caught.value.problem) < 200
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("parse", "text", "remedy"),
    [
        (parse_count, "1,5M", "Write 1.5M if it is a decimal comma, 15M if not."),
        (parse_price, "0,44", "Write 0.44 if it is a decimal comma, 044 if not."),
        (parse_duration, "1,5s", "Write 1.5s if it is a decimal comma, 15s if not."),
    ],
)
def test_a_comma_that_can_be_read_in_two_ways_is_refused(
    parse: Parser, text: str, remedy: str
) -> None:
    with pytest.raises(InvalidQuantityError, match="two ways") as caught:
        parse(text)

    assert remedy == caught.value.remedy


@pytest.mark.parametrize("text", ["2.000.000", "1,690,5", "12,34,567", "1,2345"])
def test_digits_that_form_no_thousands_are_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError):
        parse_count(text)


@pytest.mark.parametrize("parse", [parse_count, parse_tokens])
def test_a_point_before_three_digits_is_refused_where_only_whole_numbers_make_sense(
    parse: Parser,
) -> None:
    with pytest.raises(InvalidQuantityError, match="can be read as 2000 or as 2"):
        parse("2.000")


@pytest.mark.parametrize(("parse", "text"), [(parse_count, "1.5"), (parse_tokens, "0.3k")])
def test_parts_of_a_whole_are_refused(parse: Parser, text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="not a whole number"):
        parse(text)


def test_a_share_above_one_without_a_unit_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="no unit"):
        parse_fraction("80")


@pytest.mark.parametrize("text", ["€5", "5 EUR", "£2/h", "¥100"])
def test_other_currencies_are_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="US dollars"):
        parse_price(text)


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="backwards from 8 to 1"):
        parse_gpu_counts("8..1")


def test_all_that_is_promised_is_there() -> None:
    assert all(hasattr(quantities, name) for name in quantities.__all__)
