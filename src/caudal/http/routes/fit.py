"""`/fit`: whether a model fits on a GPU, and where its memory goes."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.fit import FitAsked, FitDocument, answer_fit_question
from caudal.fit.placement import Offload
from caudal.fit.serving import Knobs
from caudal.http.models_asked import ModelParameters
from caudal.http.openapi import answers
from caudal.http.parameters import Length, Name, Names, Size
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["questions"])
ANSWERS = answers("fit", FitDocument, 400, 404, 503, infeasible=True)


class FitParameters(ModelParameters):
    """What is to fit where."""

    gpu: Names = Field(default=[], description="H100, H100:2, 3090 + 4080.", examples=[["H100:2"]])
    precision: Name = Field(default="native", description="Of the weights: fp8, int4.")
    kv_precision: Name | None = Field(default=None, description="Of the KV cache: fp8.")
    context: Length | None = None
    concurrency: int = Field(default=1, ge=1, le=1_000_000, description="Requests at once.")
    engine: Name | None = Field(default=None, examples=["vllm", "vllm 0.8", "sglang"])
    tp: int | None = Field(default=None, ge=1, le=4096, description="GPUs that share a layer.")
    pp: int | None = Field(default=None, ge=1, le=4096, description="Stages of the stack.")
    eager: bool = Field(default=False, description="Without CUDA graphs.")
    free: Size | None = None
    memory_fraction: float | None = Field(default=None, gt=0, le=1, description="The engine's.")
    max_sequences: int | None = Field(default=None, ge=1, description="The engine's limit.")
    max_batched_tokens: Length | None = None
    ubatch_size: Length | None = None
    gpu_layers: int | None = Field(default=None, ge=0, description="llama.cpp: on the GPUs.")
    n_cpu_moe: int = Field(default=0, ge=0, description="llama.cpp: layers with experts in RAM.")
    tensor_split: list[float] | None = Field(
        default=None, max_length=64, description="llama.cpp: shares of the cards."
    )
    frontier: bool = Field(default=False, description="Requests held at each length.")

    def answered(self, services: Services) -> Rendered:
        """Return the document, with 409 where nothing surely fits."""
        asked = FitAsked(
            model=self.chosen(services),
            gpus=tuple(self.gpu),
            precision=self.precision,
            kv_precision=self.kv_precision,
            context=self.context,
            concurrency=self.concurrency,
            engine=self.engine,
            tp=self.tp,
            pp=self.pp,
            eager=self.eager,
            free=self.free,
            offload=Offload(
                gpu_layers=self.gpu_layers,
                host_expert_layers=self.n_cpu_moe,
                tensor_split=None if self.tensor_split is None else tuple(self.tensor_split),
            ),
            frontier=self.frontier,
            knobs=Knobs(
                memory_fraction=self.memory_fraction,
                max_sequences=self.max_sequences,
                max_batched_tokens=self.max_batched_tokens,
                micro_batch_tokens=self.ubatch_size,
            ),
        )
        answer = answer_fit_question(asked)
        return Rendered.of("fit", answer.document, status=409 if answer.error else 200)


@router.get("/fit", **ANSWERS)
async def get_fit(request: Request, asked: Annotated[FitParameters, Query()]) -> Response:
    """Say whether a model fits on a GPU, term by term."""
    return await _answer(request, asked)


@router.post("/fit", **ANSWERS)
async def post_fit(request: Request, asked: Annotated[FitParameters, Body()]) -> Response:
    """Say whether a model fits on a GPU, term by term."""
    return await _answer(request, asked)


async def _answer(request: Request, asked: FitParameters) -> Response:
    services = services_of(request)
    key = ("fit", asked.model_dump_json(), services.models.state_of(asked.model))
    answer = await services.workshop.answer(key, lambda: asked.answered(services))
    keep = Keep.OWN if services.models.is_own(asked.model) else Keep.FACTS
    return respond(request, answer, keep)
