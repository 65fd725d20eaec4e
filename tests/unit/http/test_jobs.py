import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import date

import pytest
from fastapi.testclient import TestClient

from caudal.documents.jobs import JobState
from caudal.http.app import create_app
from caudal.http.failures import BusyError
from caudal.http.jobs import MOST_UNFINISHED, Jobs, Progress, UnknownJobError
from caudal.http.routes.simulate import AT_ONCE, SCENARIO
from caudal.http.settings import ServerSettings
from caudal.http.streams import Streams
from caudal.http.work import Rendered
from caudal.vocabulary.errors import InfeasibleError

ANSWER = Rendered.of_json({"a": 1})


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = ServerSettings(host_names=(), rate_per_client=None)
    with TestClient(create_app(settings, clock=lambda: date(2026, 11, 30))) as made:
        yield made


def long_run(requests: int = AT_ONCE + 1) -> dict[str, object]:
    return {**SCENARIO, "run": {"requests": requests}}


def test_a_short_run_is_answered_at_once(client: TestClient) -> None:
    answer = client.post("/api/v1/simulate", json=SCENARIO)

    assert answer.status_code == 200
    assert answer.json()["command"] == "simulate"
    assert answer.json()["runs"][0]["requests"] == 2000


def test_a_long_run_is_a_job_whose_events_end_with_its_answer(client: TestClient) -> None:
    started = client.post("/api/v1/simulate", json=long_run())
    place = started.headers["location"]

    events = client.get(f"{place}/events").text
    answer = client.get(f"{place}/answer")

    assert started.status_code == 202
    assert events.count("event: job") >= 2
    assert '"state": "done"' in events.rsplit("event: job", 1)[1]
    assert client.get(place).json()["answer"] == f"{place}/answer"
    assert answer.json()["runs"][0]["requests"] == AT_ONCE + 1


def test_a_job_that_is_stopped_has_no_answer(client: TestClient) -> None:
    places = [
        client.post("/api/v1/simulate?job=true", json=long_run()).headers["location"]
        for _ in range(2)
    ]

    stopped = client.delete(places[1])
    client.delete(places[0])

    assert stopped.json()["state"] == "cancelled"
    assert client.get(f"{places[1]}/answer").status_code == 409
    assert client.get(f"{places[1]}/answer").json()["error"]["code"] == "not-finished"


def test_a_capacity_search_says_what_is_carried(client: TestClient) -> None:
    small = {**SCENARIO, "run": {"requests": 1000}}

    answer = client.post("/api/v1/capacity", json=small)

    assert answer.status_code in {200, 202}  # 202 where no compiler made the simulator fast
    if answer.status_code == 202:
        place = answer.headers["location"]
        assert '"state": "done"' in client.get(f"{place}/events").text
        answer = client.get(f"{place}/answer")
    assert answer.json()["best"]["rate"] > 0
    assert len(answer.json()["rows"]) > 5


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("invalid-input", {"run": {"requests": 5_000_000}}),
        ("invalid-input", {"load": {"trace": "/etc/passwd"}}),
        ("unknown-model", {"model": {"name": "/etc/passwd"}}),
        ("invalid-scenario", {"lode": {}}),
        ("invalid-scenario", {"run": {"requests": 10**9}}),
    ],
)
def test_what_a_server_does_not_simulate_is_refused(
    client: TestClient, code: str, changes: dict[str, object]
) -> None:
    answer = client.post("/api/v1/simulate", json={**SCENARIO, **changes})

    assert answer.status_code in {404, 422}
    assert code == answer.json()["error"]["code"]


def test_an_unknown_job_is_not_found(client: TestClient) -> None:
    for path in ("", "/answer", "/events"):
        assert client.get(f"/api/v1/jobs/nothing{path}").status_code == 404


def test_a_failed_job_tells_its_error() -> None:
    def fail(_: Progress) -> Rendered:
        raise InfeasibleError("Nothing serves.", remedy="Ask for less.")

    async def followed() -> list[JobState]:
        jobs = Jobs()
        job = jobs.start(fail)
        states = [document.state async for document in job.changes()]
        assert job.document.error is not None
        assert job.document.error.code == "infeasible"
        jobs.close()
        return states

    assert asyncio.run(followed())[-1] is JobState.FAILED


def test_progress_is_followed_in_order() -> None:
    def work(progress: Progress) -> Rendered:
        for done in range(5):
            progress(done, 5)
        return ANSWER

    async def followed() -> list[int]:
        jobs = Jobs()
        done = [document.done async for document in jobs.start(work).changes()]
        jobs.close()
        return done

    seen = asyncio.run(followed())
    assert sorted(seen) == seen
    assert seen[-1] == 4


def test_only_so_many_jobs_may_wait() -> None:
    async def crowded() -> None:
        jobs = Jobs()
        first = jobs.start(endless)
        for _ in range(MOST_UNFINISHED - 1):
            jobs.start(lambda _: ANSWER)
        with pytest.raises(BusyError):
            jobs.start(lambda _: ANSWER)
        with pytest.raises(UnknownJobError):
            jobs.get("nothing")
        assert jobs.get(first.id) is first
        jobs.close()

    asyncio.run(crowded())


def endless(progress: Progress) -> Rendered:
    while True:
        progress(0, 1)


def test_streams_end_when_the_server_does() -> None:
    async def ended() -> list[bytes]:
        streams = Streams()

        async def news() -> AsyncIterator[tuple[str, object]]:
            yield "prices", date(2026, 11, 30)
            await asyncio.Event().wait()

        body = streams.written(news())
        seen = [await anext(body) for _ in range(2)]
        streams.close()
        return seen + [piece async for piece in body]

    assert asyncio.run(ended()) == [
        b": this is Caudal\n\n",
        b'event: prices\ndata: "2026-11-30"\n\n',
    ]
