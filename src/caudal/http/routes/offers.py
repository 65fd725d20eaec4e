"""`/offers`: what can be rented, cheapest first, and what it has cost over time."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.offers import BILLING_UNITS, USUAL_ROWS, OfferDocument, find_offers, narrowed
from caudal.documents.offers_history import HistoryDocument, find_history
from caudal.http.offers_asked import OfferParameters
from caudal.http.openapi import answers
from caudal.http.parameters import (
    LONGEST_TEXT,
    MOST_NAMES,
    Bandwidth,
    Count,
    Duration,
    Name,
    Names,
    Parameters,
    Share,
    Size,
)
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.offers.offer import Term

router = APIRouter(prefix=API, tags=["questions"])
BILLING = "|".join(BILLING_UNITS)


class OfferFilters(OfferParameters):
    """Which offers to list."""

    gpu: Names = Field(default=[], description="H100, H100:1..8, H100|H200.", examples=[["H100:8"]])
    count: Count | None = None
    fp8: bool = Field(default=False, description="Only GPUs that multiply FP8 natively.")
    nvlink: bool = Field(default=False, description="Only GPUs joined by more than PCIe.")
    min_total_memory: Size | None = None
    min_bandwidth: Bandwidth | None = None
    country: Names = Field(default=[], description="Only in these.", examples=[["DE,FR"]])
    billing: str | None = Field(default=None, pattern=f"^({BILLING})$", description=BILLING)
    max_cold_start: Duration | None = None
    min_reliability: Share | None = None
    verified: bool = Field(default=False, description="Only hosts that are vouched for.")
    in_stock: bool = Field(default=False, description="Not those with too few in stock.")
    sort: str = Field(default="", max_length=LONGEST_TEXT, examples=["usd_per_hour"])
    top: int = Field(default=USUAL_ROWS, ge=1, le=1000, description="How many to list.")

    def answered(self, services: Services) -> Rendered:
        """Return the document."""
        query = narrowed(
            self.query(),
            counts=self.count,
            fp8=self.fp8,
            nvlink=self.nvlink,
            min_total_memory=self.min_total_memory,
            min_bandwidth=self.min_bandwidth,
            countries=tuple(self.country),
            billing=self.billing,
            max_cold_start=self.max_cold_start,
            min_reliability=self.min_reliability,
            verified=self.verified,
            in_stock=self.in_stock,
        )
        document = find_offers(self.gpu, query, book=services.book(), top=self.top, sort=self.sort)
        return Rendered.of("offers", document)


class HistoryFilters(Parameters):
    """Whose prices over time."""

    gpu: Name = Field(examples=["H100-SXM"])
    region: Names = Field(default=[], examples=[["eu"]])
    term: list[Term] = Field(default=[], max_length=MOST_NAMES)

    def answered(self, services: Services) -> Rendered:
        """Return the document."""
        document = find_history(
            self.gpu,
            regions=tuple(self.region),
            terms=frozenset(self.term),
            today=services.clock(),
            database=services.settings.database,
        )
        return Rendered.of("offers history", document)


@router.get("/offers", **answers("offers", OfferDocument, 404, 409, 503))
async def get_offers(request: Request, filters: Annotated[OfferFilters, Query()]) -> Response:
    """List what can be rented, cheapest first."""
    services = services_of(request)
    key = ("offers", filters.model_dump_json(), services.prices())
    answer = await services.workshop.answer(key, lambda: filters.answered(services))
    return respond(request, answer, Keep.PRICES)


@router.get("/offers/history", **answers("offers history", HistoryDocument, 404, 409, 503))
async def get_history(request: Request, filters: Annotated[HistoryFilters, Query()]) -> Response:
    """Show what a GPU has cost, with every change of a price."""
    services = services_of(request)
    key = ("offers history", filters.model_dump_json(), services.prices())
    answer = await services.workshop.answer(key, lambda: filters.answered(services))
    return respond(request, answer, Keep.PRICES)
