"""The options of `caudal plan` that state traffic, latency bounds and wishes."""

from typing import Final

import click

from caudal.cli.option_groups import Option, option_group
from caudal.cli.quantity_types import AMOUNT, BUDGET, DURATION, LENGTH, SPECULATION
from caudal.cli.use_options import RATE_OR_EXCHANGE, one_rate
from caudal.documents.plan import MOST_ROWS, PERCENTILES, stated_objectives, stated_wishes
from caudal.plan.question import Traffic
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens

_MEANINGS: Final = {
    Metric.TTFT: "time to first token",
    Metric.TPOT: "time per further token",
    Metric.E2E: "time of the whole answer",
}


def stated_traffic(
    *,
    input_tokens: Tokens | None,
    output_tokens: Tokens | None,
    rate: RequestsPerSecond | None,
    users: int | None,
    tokens_per_day: int | None,
    peak_factor: float | None,
    batch: bool,
    context_tokens: Tokens | None,
) -> Traffic:
    """Return the load as stated; `build_question` checks it and fills in what is missing."""
    return Traffic(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        rate=rate,
        users=users,
        tokens_per_day=None if tokens_per_day is None else float(tokens_per_day),
        peak_factor=peak_factor,
        batch=batch,
        context_tokens=context_tokens,
    )


def _bounds(**bounds: Seconds | None) -> tuple[Objective, ...]:
    return stated_objectives(bounds)


def _latency_option(metric: Metric, percentile: int) -> Option:
    return click.option(
        f"--{metric.value}-p{percentile}",
        type=DURATION,
        help=f"{_MEANINGS[metric].capitalize()}: at most this for {percentile} of 100 requests.",
    )


traffic_options = option_group(
    {
        "input_tokens": click.option(
            "--input", "input_tokens", type=LENGTH, help="Mean tokens in: 2000, 2k."
        ),
        "output_tokens": click.option(
            "--output", "output_tokens", type=LENGTH, help="Mean tokens out."
        ),
        "rate": click.option(
            "--rate",
            type=RATE_OR_EXCHANGE,
            multiple=True,
            callback=one_rate,
            help="Requests: 5/s, 300/min, 1M/day. Or an exchange rate beside it: EUR=1.08.",
        ),
        "users": click.option(
            "--users", type=click.IntRange(min=1), help="Users waiting for an answer at once."
        ),
        "tokens_per_day": click.option(
            "--tokens-per-day", type=AMOUNT, help="Tokens in and out a day: 50M."
        ),
        "peak_factor": click.option(
            "--peak-factor",
            type=click.FloatRange(min=1),
            help="Busiest hour over the day's mean, with --tokens-per-day: 3.",
        ),
        "batch": click.option(
            "--batch", is_flag=True, help="All may queue: throughput is all that counts."
        ),
        "context_tokens": click.option(
            "--context", "context_tokens", type=LENGTH, help="Longest sequence to hold: 8k."
        ),
    },
    name="traffic",
    build=stated_traffic,
)

latency_options = option_group(
    {
        f"{metric.value}_p{percentile}": _latency_option(metric, percentile)
        for metric in Metric
        for percentile in PERCENTILES
    },
    name="objectives",
    build=_bounds,
)

wish_options = option_group(
    {
        "gpus": click.option(
            "--gpu", "gpus", multiple=True, metavar="GPU[:N]", help="H100, H100:1..8; repeatable."
        ),
        "precisions": click.option(
            "--precision",
            "precisions",
            multiple=True,
            metavar="NAME",
            help="Of the weights: native, bf16, fp8, int4 …; repeatable. Default: all that help.",
        ),
        "kv_precisions": click.option(
            "--kv-precision",
            "kv_precisions",
            multiple=True,
            metavar="NAME",
            help="Of the KV cache: bf16, fp8; repeatable.",
        ),
        "engine_names": click.option(
            "--engine",
            "engine_names",
            multiple=True,
            metavar="NAME",
            help='"vllm", "vllm 0.8", "sglang"; repeatable.',
        ),
        "speculation": click.option(
            "--speculative",
            "speculation",
            type=SPECULATION,
            help="Speculative decoding, acceptance:draft tokens: 0.7:4.",
        ),
        "budget": click.option(
            "--budget", type=BUDGET, help="At most this many dollars a month: $5,000."
        ),
        "top": click.option(
            "--top",
            type=click.IntRange(1, MOST_ROWS),
            default=10,
            show_default=True,
            help="How many rows to print.",
        ),
    },
    name="wishes",
    build=stated_wishes,
)
