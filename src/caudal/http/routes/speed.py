"""`/speed`: how fast a model runs on a GPU, batch by batch."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.speed import (
    USUAL_INPUT,
    USUAL_OUTPUT,
    SpeedAsked,
    SpeedDocument,
    answer_speed_question,
)
from caudal.http.models_asked import ModelParameters
from caudal.http.openapi import answers
from caudal.http.parameters import Batches, Length, Name, Names
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["questions"])
ANSWERS = answers("speed", SpeedDocument, 400, 404, 503, infeasible=True)


class SpeedParameters(ModelParameters):
    """What is to run where, on which lengths."""

    gpu: Names = Field(default=[], description="H100, H100:2, H100:1..8.", examples=[["H100:4"]])
    precision: Name = Field(default="native", description="Of the weights: fp8, int4.")
    kv_precision: Name | None = Field(default=None, description="Of the KV cache: fp8.")
    engine: Name | None = Field(default=None, examples=["vllm", "vllm 0.8", "sglang"])
    tp: int | None = Field(default=None, ge=1, le=4096, description="GPUs that share a layer.")
    pp: int | None = Field(default=None, ge=1, le=4096, description="Stages of the stack.")
    input: Length = USUAL_INPUT
    output: Length = USUAL_OUTPUT
    batch: Batches | None = None

    def answered(self, services: Services) -> Rendered:
        """Return the document, with 409 where nothing surely fits."""
        asked = SpeedAsked(
            model=self.chosen(services),
            gpus=tuple(self.gpu),
            precision=self.precision,
            kv_precision=self.kv_precision,
            engine=self.engine,
            tp=self.tp,
            pp=self.pp,
            input_tokens=self.input,
            output_tokens=self.output,
            batches=self.batch,
        )
        answer = answer_speed_question(asked)
        return Rendered.of("speed", answer.document, status=409 if answer.error else 200)


@router.get("/speed", **ANSWERS)
async def get_speed(request: Request, asked: Annotated[SpeedParameters, Query()]) -> Response:
    """Predict how fast a model runs on a GPU, batch by batch."""
    return await _answer(request, asked)


@router.post("/speed", **ANSWERS)
async def post_speed(request: Request, asked: Annotated[SpeedParameters, Body()]) -> Response:
    """Predict how fast a model runs on a GPU, batch by batch."""
    return await _answer(request, asked)


async def _answer(request: Request, asked: SpeedParameters) -> Response:
    services = services_of(request)
    key = ("speed", asked.model_dump_json(), services.models.state_of(asked.model))
    answer = await services.workshop.answer(key, lambda: asked.answered(services))
    keep = Keep.OWN if services.models.is_own(asked.model) else Keep.FACTS
    return respond(request, answer, keep)
