"""`/health` and `/version`: is it up, and which release is it."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from caudal import __version__
from caudal.documents.health import HealthDocument, VersionDocument
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import model_catalogue
from caudal.http.openapi import answers
from caudal.http.reply import Keep, respond
from caudal.http.services import services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["server"])


@router.get("/health", **answers("health", HealthDocument, 503))
async def get_health(request: Request) -> Response:
    """Say that the server is up, and how much it knows."""
    services = services_of(request)

    def look() -> Rendered:
        book = services.book()
        seen = [source.last_seen for source in book.sources if source.last_seen]
        return Rendered.of(
            "health",
            HealthDocument(
                status="ok",
                today=book.today,
                gpus=len(gpu_catalogue().all),
                models=len(model_catalogue().entries),
                offers=len(book.offers),
                last_seen=max(seen, default=None),
            ),
        )

    answer = await services.workshop.answer(("health", services.prices()), look)
    return respond(request, answer, Keep.NEVER)


@router.get("/version", **answers("version", VersionDocument))
async def get_version(request: Request) -> Response:
    """Say which release this is."""
    document = VersionDocument(version=__version__, api="v1")
    return respond(request, Rendered.of("version", document), Keep.NEVER)
