"""`/models`: the catalogue of models, and one of them in full."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.models import ModelDocument, ModelListDocument, list_models
from caudal.http.openapi import answers
from caudal.http.parameters import LONGEST_TEXT, Amount, Parameters
from caudal.http.reply import Keep, respond
from caudal.http.services import services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["facts"])


class ModelFilters(Parameters):
    """Which models to list."""

    family: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        description="Part of a name, alias or family.",
        examples=["qwen"],
    )
    max_params: Amount | None = None


@router.get("/models", **answers("models list", ModelListDocument, 409, 503))
async def get_models(request: Request, filters: Annotated[ModelFilters, Query()]) -> Response:
    """List the models whose shape is known."""

    def look() -> Rendered:
        document = list_models(family=filters.family, most_parameters=filters.max_params)
        return Rendered.of("models list", document)

    key = ("models list", filters.model_dump_json())
    answer = await services_of(request).workshop.answer(key, look)
    return respond(request, answer, Keep.FACTS)


@router.get("/models/{name:path}", **answers("models show", ModelDocument, 404, 503))
async def get_model(
    request: Request,
    name: Annotated[str, Path(max_length=LONGEST_TEXT, examples=["llama-3.1-70b"])],
) -> Response:
    """Show the shape of a model, and where it was read."""
    services = services_of(request)
    answer = await services.workshop.answer(
        ("models show", name, services.models.state_of(name)),
        lambda: Rendered.of("models show", ModelDocument.of(services.model(name))),
    )
    keep = Keep.OWN if services.models.is_own(name) else Keep.FACTS
    return respond(request, answer, keep)
