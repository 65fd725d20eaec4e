"""`/jobs`: where a long run stands, its events, its answer, and how to stop it."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.jobs import JobDocument, JobState
from caudal.http.jobs import Job
from caudal.http.openapi import ALWAYS, answers, error_answers
from caudal.http.reply import Keep, respond
from caudal.http.services import services_of
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.vocabulary.errors import CaudalError, InfeasibleError

router = APIRouter(prefix=API, tags=["jobs"])
JobId = Annotated[str, Path(max_length=64)]
EVENT = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Server-sent events.",
        "content": {"text/event-stream": {"schema": EVENT}},
    },
    **error_answers(*ALWAYS, 404, 503),
}
ANY_DOCUMENT: dict[int | str, dict[str, object]] = {
    200: {
        "description": "The document of the command that the job runs.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    **error_answers(*ALWAYS, 404, 409, 503),
}


class NotFinishedError(InfeasibleError):
    """A job has no answer: it still runs, or it was stopped."""

    code = "not-finished"


@router.get("/jobs/{job_id}", **answers("job", JobDocument, 404))
async def get_job(request: Request, job_id: JobId) -> Response:
    """Say where a job stands."""
    job = services_of(request).jobs.get(job_id)
    return respond(request, Rendered.of("job", job.document), Keep.NEVER)


@router.delete("/jobs/{job_id}", **answers("job", JobDocument, 404))
async def delete_job(request: Request, job_id: JobId) -> Response:
    """Stop a job; one that is finished stays as it is."""
    job = services_of(request).jobs.get(job_id)
    job.stop()
    return respond(request, Rendered.of("job", job.document), Keep.NEVER)


@router.get("/jobs/{job_id}/answer", response_model=None, responses=ANY_DOCUMENT)
async def get_answer(request: Request, job_id: JobId) -> Response:
    """Return the document of a job that is done."""
    job = services_of(request).jobs.get(job_id)
    if job.answer is None:
        raise job.error or _not_finished(job)
    return respond(request, job.answer, Keep.OWN)


@router.get("/jobs/{job_id}/events", response_model=None, responses=STREAM)
async def get_job_events(request: Request, job_id: JobId) -> Response:
    """Follow a job: an event `job` for each change, until it is done."""
    services = services_of(request)
    return services.streams.response(_changes(services.jobs.get(job_id)))


@router.get("/events", response_model=None, responses=STREAM)
async def get_events(request: Request) -> Response:
    """Follow the server: an event `prices` whenever the offers have changed."""
    services = services_of(request)
    return services.streams.response(services.news())


async def _changes(job: Job) -> AsyncIterator[tuple[str, object]]:
    async for document in job.changes():
        yield "job", document


def _not_finished(job: Job) -> CaudalError:
    if job.state is JobState.CANCELLED:
        return NotFinishedError(f"Job {job.id} was stopped.", remedy="Start it again.")
    return NotFinishedError(
        f"Job {job.id} is {job.state.value}, {job.done:,} of {job.total:,}.",
        remedy=f"Follow {API}/jobs/{job.id}/events until it is done.",
    )
