"""How a command is told its model, and what a document says about it."""

from dataclasses import dataclass

import click

from caudal.cli.option_groups import option_group
from caudal.cli.quantity_types import AMOUNT
from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.models import assumed_model, resolve_model
from caudal.facts.source import Source
from caudal.vocabulary.errors import ContradictoryOptionsError
from caudal.vocabulary.units import Tokens

HOW_MODELS_ARE_NAMED = (
    "MODEL is a short name (llama-3.1-70b), a hub id (Qwen/Qwen3-32B), or a folder or file with a "
    "config.json; --params 13B when nothing else is known. caudal models lists the known ones."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """A model in a document: what it is, and how surely its shape is known."""

    id: str
    family: str
    layers: int
    total_parameters: int
    active_parameters: int
    max_context_tokens: Tokens
    weight_format: str  # of the published checkpoint
    licence: str
    confidence: ArchitectureConfidence
    source: Source
    note: str

    @classmethod
    def of(cls, model: ModelSpec) -> "ModelSummary":
        """Return the summary of `model`."""
        return cls(
            id=model.id,
            family=model.family,
            layers=len(model.layers),
            total_parameters=model.total_parameters,
            active_parameters=model.active_parameters,
            max_context_tokens=model.max_context_tokens,
            weight_format=model.checkpoint.weight_format,
            licence=model.licence,
            confidence=model.confidence,
            source=model.source,
            note=model.note,
        )


def chosen_model(model: str | None, params: int | None) -> ModelSpec:
    """Return the model that MODEL or --params means.

    Raises:
        ContradictoryOptionsError: both are given, or none.
    """
    if (model is None) == (params is None):
        given = "both" if model is not None else "neither"
        raise ContradictoryOptionsError(
            f"A model is named by MODEL or by --params; {given} is given.",
            remedy="Write for example llama-3.1-70b, ./my-model/ or --params 13B.",
        )
    if params is not None:
        return assumed_model(params)
    assert model is not None, "one of the two is given"
    return resolve_model(model)


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
