"""`/offers`: what can be rented, cheapest first, with the age of each price."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.offers import USUAL_ROWS, OfferDocument, find_offers
from caudal.http.offers_asked import OfferParameters
from caudal.http.openapi import answers
from caudal.http.parameters import Names
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["questions"])


class OfferFilters(OfferParameters):
    """Which offers to list."""

    gpu: Names = Field(default=[], description="H100, H100:8, H100:1..8.", examples=[["H100:8"]])
    in_stock: bool = Field(default=False, description="Not those with too few in stock.")
    top: int = Field(default=USUAL_ROWS, ge=1, le=1000, description="How many to list.")

    def answered(self, services: Services) -> Rendered:
        """Return the document."""
        query = replace(self.query(), in_stock_only=self.in_stock)
        document = find_offers(self.gpu, query, book=services.book(), top=self.top)
        return Rendered.of("offers", document)


@router.get("/offers", **answers("offers", OfferDocument, 404, 409, 503))
async def get_offers(request: Request, filters: Annotated[OfferFilters, Query()]) -> Response:
    """List what can be rented, cheapest first."""
    services = services_of(request)
    key = ("offers", filters.model_dump_json(), services.clock())
    answer = await services.workshop.answer(key, lambda: filters.answered(services))
    return respond(request, answer, Keep.PRICES)
