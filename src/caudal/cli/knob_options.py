"""Options of `caudal fit` for what a user sets on the engine beside the layout."""

import click

from caudal.cli.option_groups import option_group
from caudal.cli.quantity_types import LENGTH
from caudal.fit.serving import Knobs

knob_options = option_group(
    {
        "memory_fraction": click.option(
            "--memory-fraction",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="What the engine may claim, as its own flag means it. Default: the engine's.",
        ),
        "max_sequences": click.option(
            "--max-sequences",
            type=click.IntRange(1, 1_000_000),
            metavar="N",
            help="Sequences the engine plans for. Default: the engine's.",
        ),
        "max_batched_tokens": click.option(
            "--max-batched-tokens",
            type=LENGTH,
            metavar="TOKENS",
            help="Tokens of one step. Default: the engine's.",
        ),
        "micro_batch_tokens": click.option(
            "--ubatch-size",
            "micro_batch_tokens",
            type=LENGTH,
            metavar="TOKENS",
            help="llama.cpp: tokens computed at once. Default: 512.",
        ),
    },
    name="knobs",
    build=Knobs,
)
