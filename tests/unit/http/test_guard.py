from collections.abc import Iterator
from datetime import date

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from caudal.http.app import create_app
from caudal.http.guard import BODY_MOST_BYTES, Allowance
from caudal.http.settings import ServerSettings
from caudal.vocabulary.units import RequestsPerSecond

FIT = {"model": "llama-3.1-8b", "gpu": ["L4"]}


def app_with(*, rate: float | None = None, cors: tuple[str, ...] = ()) -> FastAPI:
    settings = ServerSettings(
        host_names=("caudal.test",),
        rate_per_client=None if rate is None else RequestsPerSecond(rate),
        cors_origins=cors,
    )
    return create_app(settings, clock=lambda: date(2026, 11, 30))


@pytest.fixture
def client() -> TestClient:
    return TestClient(app_with(), base_url="http://caudal.test")


@pytest.mark.parametrize("path", ["/api/v1/version", "/nothing/here", "/api/v1/fit?model=x"])
def test_every_answer_tells_the_browser_what_pages_may_do(client: TestClient, path: str) -> None:
    headers = client.get(path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "strict-origin-when-cross-origin"


@pytest.mark.parametrize("name", ["evil.example", "caudal.test.evil.example", ""])
def test_a_server_answers_only_to_its_own_names(client: TestClient, name: str) -> None:
    answer = client.get("/api/v1/version", headers={"host": name})

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign-site"


@pytest.mark.parametrize("name", ["caudal.test", "caudal.test:8722", "CAUDAL.test"])
def test_a_port_or_capitals_do_not_make_a_name_foreign(client: TestClient, name: str) -> None:
    assert client.get("/api/v1/version", headers={"host": name}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://caudal.test:9999"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/fit", "/api/v1/models/uploads"])
def test_another_sites_page_changes_nothing(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = client.post(path, json=FIT, headers=headers)

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign-site"


@pytest.mark.parametrize(
    "headers",
    [{}, {"sec-fetch-site": "same-origin"}, {"origin": "http://caudal.test"}],
)
def test_our_pages_and_programs_may_ask(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/api/v1/fit", json=FIT, headers=headers).status_code == 200


def test_without_cors_no_site_may_read(client: TestClient) -> None:
    answer = client.get("/api/v1/version", headers={"origin": "https://friend.example"})

    assert "access-control-allow-origin" not in answer.headers


def test_a_site_named_by_cors_may_read_and_ask() -> None:
    origin = "https://friend.example"
    client = TestClient(app_with(cors=(origin,)), base_url="http://caudal.test")

    answer = client.post(
        "/api/v1/fit", json=FIT, headers={"origin": origin, "sec-fetch-site": "cross-site"}
    )

    assert answer.status_code == 200
    assert origin == answer.headers["access-control-allow-origin"]


def test_a_body_may_not_be_long(client: TestClient) -> None:
    body = b" " * (BODY_MOST_BYTES + 1)

    answer = client.post("/api/v1/fit", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body-too-large"


def test_a_body_that_hides_its_length_is_stopped_as_well(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(BODY_MOST_BYTES // 4096 + 2):
            yield b" " * 4096

    answer = client.post(
        "/api/v1/fit", content=pieces(), headers={"content-type": "application/json"}
    )

    assert answer.status_code == 413


def test_who_asks_too_fast_is_told_how_long_to_wait() -> None:
    client = TestClient(app_with(rate=0.2), base_url="http://caudal.test")  # two at once

    statuses = [client.get("/api/v1/version").status_code for _ in range(3)]
    refused = client.get("/api/v1/version")

    assert statuses == [200, 200, 429]
    assert refused.json()["error"]["code"] == "too-many-requests"
    assert int(refused.headers["retry-after"]) >= 4


def test_an_allowance_fills_again() -> None:
    allowance = Allowance(RequestsPerSecond(1.0))

    waits = [allowance.wait_s("a", now_s=0.0) for _ in range(11)]

    assert [0.0] * 10 == waits[:10]
    assert waits[10] == pytest.approx(1.0)
    assert allowance.wait_s("b", now_s=0.0) == 0
    assert allowance.wait_s("a", now_s=1.5) == 0


def test_an_allowance_remembers_so_many_clients() -> None:
    allowance = Allowance(RequestsPerSecond(0.1), clients=2)  # one request in store

    allowance.wait_s("first", now_s=0.0)
    allowance.wait_s("second", now_s=0.0)
    allowance.wait_s("third", now_s=0.0)

    assert allowance.wait_s("third", now_s=0.0) > 0
    assert allowance.wait_s("first", now_s=0.0) == 0
