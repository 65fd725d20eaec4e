"""What is known of models: the catalogue as a list, or one model in full."""

from collections import Counter
from dataclasses import dataclass

from caudal.facts.engines import engine
from caudal.facts.model import ArchitectureConfidence, Layer, ModelSpec
from caudal.facts.models import ModelEntry, assumed_model, model_catalogue, resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.source import Source
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.vocabulary.errors import ContradictoryOptionsError, InfeasibleError
from caudal.vocabulary.formats import format_count
from caudal.vocabulary.units import Tokens


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListDocument:
    """The entries of the catalogue that pass, in name order."""

    models: tuple[ModelEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroup:
    """Equal layers, wherever they stand in the stack."""

    count: int
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDocument:
    """All that is known of one model."""

    model: ModelSummary
    aliases: tuple[str, ...]
    hidden: int
    vocabulary: int
    tied_embeddings: bool
    vision_parameters: int
    mtp_parameters: int
    checkpoint_bytes: int | None
    bytes_by_role: dict[str, int]  # exact, where the headers of the weight files were read
    kv_bytes_per_token: float  # that a long context adds in 16 bit on one GPU, on vLLM
    layer_groups: tuple[LayerGroup, ...]

    @classmethod
    def of(cls, model: ModelSpec) -> "ModelDocument":
        """Return the document of `model`."""
        return cls(
            model=ModelSummary.of(model),
            aliases=model.aliases,
            hidden=model.hidden,
            vocabulary=model.vocabulary,
            tied_embeddings=model.tied_embeddings,
            vision_parameters=model.vision_parameters,
            mtp_parameters=model.mtp_parameters,
            checkpoint_bytes=model.checkpoint_bytes,
            bytes_by_role={
                role.value: size
                for role, size in (() if model.stored is None else model.stored.by_role)
            },
            kv_bytes_per_token=_kv_bytes_per_token(model),
            layer_groups=tuple(
                LayerGroup(count=count, layer=layer)
                for layer, count in Counter(model.layers).items()
            ),
        )


def list_models(*, family: str = "", most_parameters: int | None = None) -> ModelListDocument:
    """Return the models of the catalogue that pass.

    Raises:
        InfeasibleError: none does; the remedy names the nearest.
    """
    catalogue = model_catalogue()
    found = catalogue.select(family=family, most_parameters=most_parameters)
    if not found:
        near = ", ".join(catalogue.nearest(family)) if family else ""
        bound = (
            f" with at most {format_count(most_parameters)} parameters." if most_parameters else "."
        )
        raise InfeasibleError(
            f"None of {len(catalogue.entries)} models is called like {family!r}{bound}",
            remedy=f"Nearest names: {near}." if near else "Leave out a filter.",
        )
    return ModelListDocument(models=found)


def chosen_model(model: str | None, params: int | None, *, online: bool = False) -> ModelSpec:
    """Return the model that MODEL or --params means; `online` lets the hub be asked.

    Raises:
        ContradictoryOptionsError: both are given, or none.
    """
    check_one_model(model, params)
    if params is not None:
        return assumed_model(params)
    assert model is not None, "one of the two is given"
    return resolve_model(model, online=online)


def check_one_model(model: str | None, params: int | None) -> None:
    """Check that a model is named in exactly one of the two ways.

    Raises:
        ContradictoryOptionsError: both are given, or none.
    """
    if (model is None) == (params is None):
        given = "both" if model is not None else "neither"
        raise ContradictoryOptionsError(
            f"A model is named by MODEL or by --params; {given} is given.",
            remedy="Write for example llama-3.1-70b, ./my-model/ or --params 13B.",
        )


def _kv_bytes_per_token(model: ModelSpec) -> float:
    serving = Serving(
        engine=engine("vllm"),
        weight_format=weight_format(model.checkpoint.weight_format),
        kv_format=kv_format("bf16"),
    )
    return memory_needs(model, serving).kv.bytes_per_token
