"""How a command is told its model, and what a document says about it."""

import click

from caudal.cli.option_groups import option_group
from caudal.cli.quantity_types import AMOUNT
from caudal.documents.models import chosen_model

HOW_MODELS_ARE_NAMED = (
    "MODEL is a short name (llama-3.1-70b), a hub id (Qwen/Qwen3-32B), or a folder or file with a "
    "config.json; --params 13B when nothing else is known. caudal models lists the known ones."
)


model_options = option_group(
    {
        "model": click.argument("model", required=False),
        "params": click.option(
            "--params",
            type=AMOUNT,
            help="Instead of MODEL: only its number of parameters, such as 13B.",
        ),
    },
    name="model",
    build=chosen_model,
)
