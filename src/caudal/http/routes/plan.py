"""`/plan`: what to rent for a model and its traffic, cheapest first."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.plan import PlanAsked, PlanDocument, answer_plan
from caudal.http.load_asked import LoadParameters
from caudal.http.openapi import answers
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["questions"])
ANSWERS = answers("plan", PlanDocument, 400, 404, 413, 503, infeasible=True)


class PlanParameters(LoadParameters):
    """What is to be served, how fast, and from what."""

    explain: int | None = Field(default=None, ge=1, description="Derive this row.")

    def asked(self, services: Services) -> PlanAsked:
        """Return the question, every name resolved."""
        return PlanAsked(
            model=self.chosen(services),
            traffic=self.traffic(),
            objectives=self.objectives(),
            wishes=self.wishes(),
            query=self.query(),
            explain=self.explain,
        )

    def answered(self, services: Services) -> Rendered:
        """Return the document, with 409 where nothing serves."""
        answer = answer_plan(self.asked(services), book=services.book(), today=services.clock())
        return Rendered.of("plan", answer.document, status=409 if answer.error else 200)


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
    key = (
        "plan",
        asked.model_dump_json(),
        services.prices(),
        services.models.state_of(asked.model),
    )
    answer = await services.workshop.answer(key, lambda: asked.answered(services))
    keep = Keep.OWN if services.models.is_own(asked.model) else Keep.PRICES
    return respond(request, answer, keep)
