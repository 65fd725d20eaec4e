"""`/simulate` and `/capacity`: a deployment under load, at once or as a job."""

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Body, Query
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.jobs import JobDocument
from caudal.documents.load import Progress, run_scenario, scenario_of, search_capacity
from caudal.documents.simulation import CapacityDocument, SimulateDocument
from caudal.http.openapi import answers, document_answer
from caudal.http.reply import Keep, respond
from caudal.http.services import Services, services_of
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.simulate.compiled import is_compiled
from caudal.simulate.scenario import Scenario
from caudal.vocabulary.errors import InvalidInputError

router = APIRouter(prefix=API, tags=["questions"])
MOST_REQUESTS: Final = 2_000_000  # chosen: some seconds of one core; the command allows 10 million
AT_ONCE: Final = 100_000  # requests; chosen: a fifth of a second
AT_ONCE_UNCOMPILED: Final = 2_000  # without a C compiler a run takes a hundred times as long
TRIALS: Final = 25  # runs of a search, at most about so many
SCENARIO: Final = {
    "name": "chat",
    "model": {"name": "llama-3.1-8b"},
    "replica": {"gpu": "l4"},
    "load": {"rate": "1/s", "input": 500, "output": 100},
    "slo": {"ttft_p95": "2s"},
    "run": {"requests": 2000},
}
ScenarioBody = Annotated[
    dict[str, object],
    Body(
        description="The fields of a scenario file, see docs/how-to/simulate.md.",
        openapi_examples={"chat": {"summary": "One L4 under one request/s", "value": SCENARIO}},
    ),
]
AsJob = Annotated[bool, Query(description="Start a job even where the run is short.")]


@router.post(
    "/simulate",
    **answers(
        "simulate", SimulateDocument, 404, 409, 503,
        more=document_answer(202, "job", JobDocument),
    ),
)  # fmt: skip
async def post_simulate(
    request: Request, scenario: ScenarioBody, *, job: AsJob = False
) -> Response:
    """Run a scenario; a long one becomes a job (202) whose events tell its progress."""

    def run(stated: Scenario, progress: Progress | None) -> Rendered:
        return Rendered.of("simulate", run_scenario(stated, progress))

    return await _answer(request, scenario, run, runs=1, job=job)


@router.post(
    "/capacity",
    **answers(
        "capacity", CapacityDocument, 404, 409, 503,
        more=document_answer(202, "job", JobDocument),
    ),
)  # fmt: skip
async def post_capacity(
    request: Request, scenario: ScenarioBody, *, job: AsJob = False
) -> Response:
    """Find the most that a deployment carries within its SLO, and the curve to it."""

    def search(stated: Scenario, progress: Progress | None) -> Rendered:
        return Rendered.of("capacity", search_capacity(stated, progress))

    return await _answer(request, scenario, search, runs=TRIALS, job=job)


async def _answer(
    request: Request,
    document: dict[str, object],
    work: Callable[[Scenario, Progress | None], Rendered],
    *,
    runs: int,
    job: bool,
) -> Response:
    services = services_of(request)
    scenario = await services.workshop.run(lambda: _scenario(services, document))
    requests = scenario.requests * runs
    if requests > MOST_REQUESTS:
        raise InvalidInputError(
            f"{requests:,} simulated requests ({runs} runs of {scenario.requests:,}) are more than "
            f"the {MOST_REQUESTS:,} that a server runs for one question.",
            remedy=f"Ask for run.requests up to {MOST_REQUESTS // runs:,}, or use caudal simulate.",
        )
    if not job and requests <= (AT_ONCE if is_compiled() else AT_ONCE_UNCOMPILED):
        answer = await services.workshop.run(lambda: work(scenario, None))
        return respond(request, answer, Keep.NEVER)
    started = services.jobs.start(lambda progress: work(scenario, progress))
    answer = Rendered.of("job", started.document, status=202)
    response = respond(request, answer, Keep.NEVER)
    response.headers["Location"] = f"{API}/jobs/{started.id}"
    return response


def _scenario(services: Services, document: dict[str, object]) -> Scenario:
    return scenario_of(document, resolve=services.model)
