"""`/figures`: an answer as a chart, as a Vega-Lite specification or drawn."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.budget import answer_budget
from caudal.documents.plan import answer_plan
from caudal.figures.budget import budget_figure
from caudal.figures.plan import plan_figure
from caudal.figures.render import FigureFormat, render
from caudal.http.openapi import ALWAYS, error_answers
from caudal.http.reply import Keep, respond
from caudal.http.routes.budget import BudgetParameters
from caudal.http.routes.plan import PlanParameters
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["figures"])
ROWS_DRAWN = 100  # chosen, as `caudal plan --plot`: a front is seen among many rows


class Drawn(StrEnum):
    """How a chart is sent; pages for a browser are made by `--plot FILE.html` only."""

    JSON = "json"
    SVG = "svg"
    PNG = "png"


MEDIA = {
    Drawn.JSON: "application/json",
    Drawn.SVG: "image/svg+xml",
    Drawn.PNG: "image/png",
}
ANSWERS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "The chart.",
        "content": {
            MEDIA[Drawn.JSON]: {"schema": {"type": "object"}},
            MEDIA[Drawn.SVG]: {"schema": {"type": "string"}},
            MEDIA[Drawn.PNG]: {"schema": {"type": "string", "contentMediaType": "image/png"}},
        },
    },
    **error_answers(*ALWAYS, 404, 409, 503),
}
Kind = Annotated[Drawn, Path(description="json (Vega-Lite), svg or png.")]


class PlanFigure(PlanParameters):
    """A plan to draw."""

    top: int = Field(default=ROWS_DRAWN, ge=1, le=1000, description="How many rows.")

    def drawn(self, services: Services, kind: Drawn) -> Rendered:
        """Return the chart.

        Raises:
            CaudalError: nothing serves, so there is nothing to draw.
        """
        answer = answer_plan(self.asked(services), book=services.book(), today=services.clock())
        if answer.error is not None:
            raise answer.error
        return _drawn(render(plan_figure(answer.report), FigureFormat(kind)), kind)


@router.get("/figures/plan.{kind}", response_model=None, responses=ANSWERS)
async def get_plan_figure(
    request: Request, kind: Kind, asked: Annotated[PlanFigure, Query()]
) -> Response:
    """Draw cost against latency and throughput, with the front that nothing beats."""
    services = services_of(request)
    state = services.models.state_of(asked.model)
    key = ("figure of plan", kind, asked.model_dump_json(), services.prices(), state)
    answer = await services.workshop.answer(key, lambda: asked.drawn(services, kind))
    return respond(request, answer, Keep.PRICES)


@router.get("/figures/budget.{kind}", response_model=None, responses=ANSWERS)
async def get_budget_figure(
    request: Request, kind: Kind, asked: Annotated[BudgetParameters, Query()]
) -> Response:
    """Draw what moves the bill, and where other ways of paying break even."""
    services = services_of(request)

    def draw() -> Rendered:
        question = asked.asked(services)
        report, _ = answer_budget(question, book=services.book(), today=services.clock())
        return _drawn(render(budget_figure(report), FigureFormat(kind)), kind)

    state = services.models.state_of(asked.model)
    key = ("figure of budget", kind, asked.model_dump_json(), services.prices(), state)
    return respond(request, await services.workshop.answer(key, draw), Keep.PRICES)


def _drawn(body: bytes, kind: Drawn) -> Rendered:
    return Rendered.of_bytes(body, media_type=MEDIA[kind])
