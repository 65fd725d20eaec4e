"""`/models/uploads`: a model that only the client has, kept for a while under a name."""

from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.models import ModelDocument
from caudal.facts.readers.upload import GGUF_MOST_BYTES, model_from_upload
from caudal.http.failures import BodyTooLargeError
from caudal.http.openapi import answers
from caudal.http.reply import Keep, respond
from caudal.http.services import services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["facts"])


@router.post(
    "/models/uploads",
    status_code=201,
    **answers("models show", ModelDocument, 400, 404, 413, 503, success=201),
)
async def post_upload(
    request: Request,
    file: Annotated[UploadFile, File(description="A config.json, or how a GGUF file begins.")],
    file_bytes: Annotated[
        int | None, Form(ge=1, le=10**15, description="Of the whole GGUF file.")
    ] = None,
) -> Response:
    """Read a config.json or a GGUF header; the id in the answer names the model from then on."""
    raw = await file.read(GGUF_MOST_BYTES + 1)
    if len(raw) > GGUF_MOST_BYTES:
        raise BodyTooLargeError(
            f"{GGUF_MOST_BYTES:,} bytes are read of a file.",
            remedy="Send the beginning of the file: its header is what counts.",
        )
    services = services_of(request)
    name = file.filename or ""

    def read() -> Rendered:
        model = model_from_upload(raw, file=name, read_on=services.clock(), file_bytes=file_bytes)
        services.models.keep(model)
        return Rendered.of("models show", ModelDocument.of(model), status=201)

    return respond(request, await services.workshop.run(read), Keep.NEVER)
