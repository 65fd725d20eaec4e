"""How a command is told its model, and what a document says about it."""

from dataclasses import dataclass
from typing import Final

import click

from caudal.cli.option_groups import option_group
from caudal.cli.quantity_types import AMOUNT
from caudal.documents.models import chosen_model
from caudal.facts.model import ModelSpec

HOW_MODELS_ARE_NAMED = (
    "MODEL is a short name (llama-3.1-70b), a hub id (Qwen/Qwen3-32B), or a folder or file with a "
    "config.json; --params 13B when nothing else is known. caudal models lists the known ones."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model as it was named, not yet looked up."""

    model: str | None
    params: int | None
    offline: bool

    @property
    def is_given(self) -> bool:
        """Return whether it is named at all."""
        return self.model is not None or self.params is not None

    def spec(self) -> ModelSpec:
        """Return the model that is meant.

        Raises:
            ContradictoryOptionsError: it is named in both ways, or in none.
        """
        return chosen_model(self.model, self.params, online=not self.offline)


_OPTIONS: Final = {
    "model": click.argument("model", required=False),
    "params": click.option(
        "--params",
        type=AMOUNT,
        help="Instead of MODEL: only its number of parameters, such as 13B.",
    ),
    "offline": click.option(
        "--offline", is_flag=True, help="Never ask the hub for a model that is not known."
    ),
}


def _spec(*, model: str | None, params: int | None, offline: bool) -> ModelSpec:
    return NamedModel(model=model, params=params, offline=offline).spec()


model_options = option_group(_OPTIONS, name="model", build=_spec)
named_model_options = option_group(_OPTIONS, name="named", build=NamedModel)
"""The same where a model may be left out: the command gets a `NamedModel`."""
