"""`/budget`: from tokens to money, what moves it, and when not to rent."""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.budget import BudgetAsked, BudgetDocument, answer_budget, stated_money
from caudal.http.load_asked import LoadParameters
from caudal.http.openapi import answers
from caudal.http.parameters import Amount, Duration, Share
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.plan.daily import with_daily_tokens

router = APIRouter(prefix=API, tags=["questions"])
ANSWERS = answers("budget", BudgetDocument, 400, 404, 409, 413, 503)


class BudgetParameters(LoadParameters):
    """What is to be served, and how the money is to be reckoned."""

    input_per_day: Amount | None = None
    output_per_day: Amount | None = None
    row: int = Field(default=1, ge=1, le=100, description="Of the plan.")
    utilisation: Share | None = None
    batch_share: Share | None = None
    cached_share: Share | None = None
    spot_life: Duration | None = None
    restart_time: Duration | None = None
    drain_time: Duration | None = None
    starts_per_day: float = Field(default=8.0, ge=0, le=86_400, description="Cold starts.")
    failure_time: Duration | None = None
    repair_time: Duration | None = None
    region_availability: Share | None = None
    currency: str | None = Field(default=None, max_length=10, examples=["EUR"])

    def asked(self, services: Services) -> BudgetAsked:
        """Return the question, every name resolved."""
        a_day = self.input_per_day, self.output_per_day
        return BudgetAsked(
            model=self.chosen(services),
            traffic=with_daily_tokens(
                self.traffic(),
                input_per_day=None if a_day[0] is None else float(a_day[0]),
                output_per_day=None if a_day[1] is None else float(a_day[1]),
            ),
            objectives=self.objectives(),
            wishes=self.wishes(),
            query=self.query(),
            money=stated_money(
                row=self.row,
                utilisation=self.utilisation,
                batch_share=self.batch_share,
                cached_share=self.cached_share,
                spot_life=self.spot_life,
                restart_time=self.restart_time,
                drain_time=self.drain_time,
                starts_per_day=self.starts_per_day,
                failure_time=self.failure_time,
                repair_time=self.repair_time,
                region_availability=self.region_availability,
            ),
            currency=self.currency,
        )

    def answered(self, services: Services) -> Rendered:
        """Return the document."""
        asked = self.asked(services)
        _, document = answer_budget(asked, book=services.book(), today=services.clock())
        return Rendered.of("budget", document)


@router.get("/budget", **ANSWERS)
async def get_budget(request: Request, asked: Annotated[BudgetParameters, Query()]) -> Response:
    """Turn a model and its traffic into money, and say what moves it."""
    return await _answer(request, asked)


@router.post("/budget", **ANSWERS)
async def post_budget(request: Request, asked: Annotated[BudgetParameters, Body()]) -> Response:
    """Turn a model and its traffic into money, and say what moves it."""
    return await _answer(request, asked)


async def _answer(request: Request, asked: BudgetParameters) -> Response:
    services = services_of(request)
    state = services.models.state_of(asked.model)
    key = ("budget", asked.model_dump_json(), services.prices(), state)
    answer = await services.workshop.answer(key, lambda: asked.answered(services))
    keep = Keep.OWN if services.models.is_own(asked.model) else Keep.PRICES
    return respond(request, answer, keep)
