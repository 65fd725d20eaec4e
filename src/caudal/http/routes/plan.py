"""`/plan`: what to rent for a model and its traffic, cheapest first."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.plan import (
    MOST_ROWS,
    PlanAsked,
    PlanDocument,
    answer_plan,
    stated_objectives,
    stated_wishes,
)
from caudal.http.models_asked import ModelParameters
from caudal.http.offers_asked import OfferParameters
from caudal.http.openapi import answers
from caudal.http.parameters import Amount, Budget, Duration, Length, Names, Rate
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.plan.question import Traffic

router = APIRouter(prefix=API, tags=["questions"])
ANSWERS = answers("plan", PlanDocument, 400, 404, 503, infeasible=True)


class LatencyParameters(ModelParameters):
    """The latency bounds that a deployment has to keep."""

    ttft_p50: Duration | None = None
    ttft_p90: Duration | None = None
    ttft_p95: Duration | None = None
    ttft_p99: Duration | None = None
    tpot_p50: Duration | None = None
    tpot_p90: Duration | None = None
    tpot_p95: Duration | None = None
    tpot_p99: Duration | None = None
    e2e_p50: Duration | None = None
    e2e_p90: Duration | None = None
    e2e_p95: Duration | None = None
    e2e_p99: Duration | None = None


class PlanParameters(LatencyParameters, OfferParameters):
    """What is to be served, how fast, and from what."""

    input: Length | None = None
    output: Length | None = None
    rate: Rate | None = None
    users: int | None = Field(default=None, ge=1, le=10_000_000, description="Users waiting.")
    tokens_per_day: Amount | None = None
    peak_factor: float | None = Field(default=None, ge=1, le=1000)
    batch: bool = Field(default=False, description="All may queue.")
    context: Length | None = None
    gpu: Names = Field(default=[], description="H100, H100:1..8.", examples=[["H100:1..8"]])
    precision: Names = Field(default=[], description="Of the weights: native, bf16, fp8, int4.")
    kv_precision: Names = Field(default=[], description="Of the KV cache: bf16, fp8.")
    engine: Names = Field(default=[], examples=[["vllm"]])
    budget: Budget | None = None
    top: int = Field(default=10, ge=1, le=MOST_ROWS, description="How many rows.")
    explain: int | None = Field(default=None, ge=1, description="Derive this row.")

    def answered(self, services: Services) -> Rendered:
        """Return the document, with 409 where nothing serves."""
        bounds = {name: getattr(self, name) for name in LatencyParameters.model_fields}
        asked = PlanAsked(
            model=self.chosen(services),
            traffic=self._traffic(),
            objectives=stated_objectives(
                {name: bound for name, bound in bounds.items() if "_p" in name}
            ),
            wishes=stated_wishes(
                gpus=self.gpu,
                precisions=tuple(self.precision),
                kv_precisions=self.kv_precision,
                engine_names=self.engine,
                budget=self.budget,
                top=self.top,
            ),
            query=self.query(),
            explain=self.explain,
        )
        answer = answer_plan(asked, book=services.book(), today=services.clock())
        return Rendered.of("plan", answer.document, status=409 if answer.error else 200)

    def _traffic(self) -> Traffic:
        a_day = self.tokens_per_day
        return Traffic(
            input_tokens=self.input,
            output_tokens=self.output,
            rate=self.rate,
            users=self.users,
            tokens_per_day=None if a_day is None else float(a_day),
            peak_factor=self.peak_factor,
            batch=self.batch,
            context_tokens=self.context,
        )


@router.get("/plan", **ANSWERS)
async def get_plan(request: Request, asked: Annotated[PlanParameters, Query()]) -> Response:
    """Rank the cheapest ways to serve a model within the SLO."""
    return await _answer(request, asked)


@router.post("/plan", **ANSWERS)
async def post_plan(request: Request, asked: Annotated[PlanParameters, Body()]) -> Response:
    """Rank the cheapest ways to serve a model within the SLO."""
    return await _answer(request, asked)


async def _answer(request: Request, asked: PlanParameters) -> Response:
    services = services_of(request)
    key = ("plan", asked.model_dump_json(), services.clock(), services.models.state_of(asked.model))
    answer = await services.workshop.answer(key, lambda: asked.answered(services))
    keep = Keep.OWN if services.models.is_own(asked.model) else Keep.PRICES
    return respond(request, answer, keep)
