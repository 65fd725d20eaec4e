from collections.abc import Iterator
from datetime import date

import pytest
from fastapi.testclient import TestClient

from caudal.http.app import create_app
from caudal.http.settings import ServerSettings

TODAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = ServerSettings(host_names=("testserver",), rate_per_client=None)
    with TestClient(create_app(settings, clock=lambda: TODAY)) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/gpus?fp8=true&min_memory=80GB",
        "/api/v1/gpus/h100",
        "/api/v1/compare?gpu=l40s&gpu=h100",
        "/api/v1/models?family=qwen",
        "/api/v1/models/meta-llama/Llama-3.1-8B",
        "/api/v1/offers?gpu=H100:8&region=us",
        "/api/v1/fit?model=llama-3.1-8b&gpu=L4&context=8k",
        "/api/v1/speed?model=llama-3.1-8b&gpu=L4&batch=1,8",
        "/api/v1/plan?model=llama-3.1-8b&rate=1/s&gpu=L4",
        "/api/v1/plan?model=llama-3.1-8b&users=5&gpu=L4&hours_per_day=10&vat=19%25",
        "/api/v1/budget?model=llama-3.1-8b&tokens_per_day=20M&gpu=L4&currency=EUR",
        "/api/v1/offers?gpu=H100|H200&nvlink=1&count=8&billing=per-hour&sort=usd_per_memory",
        "/api/v1/offers?gpu=H100&count=1..8",
        "/api/v1/offers/history?gpu=H100&region=us&term=spot",
        "/api/v1/version",
        "/api/v1/health",
    ],
)
def test_a_sound_question_is_answered(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 200
    assert {"command", "caudal_version"} < set(answer.json())


@pytest.mark.parametrize(
    ("status", "code", "where", "path"),
    [
        (404, "unknown-gpu", None, "/api/v1/gpus/h1000"),
        (404, "unknown-model", None, "/api/v1/fit?model=lama-3"),
        (404, "unknown-route", None, "/api/v1/gpu"),
        (409, "infeasible", None, "/api/v1/gpus?min_memory=9TB"),
        (422, "invalid-quantity", "context", "/api/v1/fit?model=qwen3-8b&context=80GB"),
        (422, "invalid-parameter", "gpuu", "/api/v1/fit?model=qwen3-8b&gpuu=h100"),
        (422, "invalid-parameter", "concurrency", "/api/v1/fit?model=qwen3-8b&concurrency=0"),
        (422, "invalid-quantity", "batch", "/api/v1/speed?model=qwen3-8b&batch=0"),
        (422, "contradictory-options", None, "/api/v1/plan?model=qwen3-8b"),
    ],
)
def test_every_error_has_one_shape(
    client: TestClient, status: int, code: str, where: str | None, path: str
) -> None:
    answer = client.get(path)

    assert status == answer.status_code
    error = answer.json()["error"]
    assert {"code", "problem", "remedy", "where"} == set(error)
    assert (code, where) == (error["code"], error["where"])


def test_an_infeasible_question_comes_with_its_document(client: TestClient) -> None:
    answer = client.get("/api/v1/fit?model=llama-3.1-70b&gpu=L4:1")

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "does-not-fit"
    assert answer.json()["rows"]


def test_a_body_asks_what_a_query_asks(client: TestClient) -> None:
    body = {"model": "llama-3.1-8b", "gpu": ["L4"], "context": 8192}

    posted = client.post("/api/v1/fit", json=body)

    assert client.get("/api/v1/fit?model=llama-3.1-8b&gpu=L4&context=8k").json() == posted.json()


def test_a_body_that_is_no_json_is_malformed(client: TestClient) -> None:
    answer = client.post("/api/v1/fit", content="{", headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "malformed-request"


def test_a_wrong_method_names_the_right_one(client: TestClient) -> None:
    answer = client.delete("/api/v1/gpus")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET"
    assert answer.json()["error"]["code"] == "wrong-method"


def test_facts_are_not_sent_twice(client: TestClient) -> None:
    first = client.get("/api/v1/gpus")

    again = client.get("/api/v1/gpus", headers={"if-none-match": first.headers["etag"]})

    assert again.status_code == 304
    assert again.content == b""
    assert first.headers["cache-control"] == "public, max-age=3600"


@pytest.mark.parametrize(
    ("kind", "media_type", "start"),
    [
        ("json", "application/json", b"{"),
        ("svg", "image/svg+xml", b"<svg"),
        ("png", "image/png", b"\x89PNG"),
    ],
)
def test_a_plan_is_drawn(client: TestClient, kind: str, media_type: str, start: bytes) -> None:
    answer = client.get(f"/api/v1/figures/plan.{kind}?model=llama-3.1-8b&rate=1/s&gpu=L4")

    assert answer.status_code == 200
    assert media_type == answer.headers["content-type"]
    assert answer.content.startswith(start)


def test_what_nothing_serves_is_not_drawn(client: TestClient) -> None:
    asked = "model=llama-3.1-8b&rate=1/s&gpu=L4&budget=$1"

    answer = client.get(f"/api/v1/figures/plan.svg?{asked}")

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "infeasible"


def test_the_description_is_openapi_3_1_with_every_route(client: TestClient) -> None:
    described = client.get("/api/v1/openapi.json").json()

    assert described["openapi"].startswith("3.1")
    assert {"/api/v1/gpus", "/api/v1/plan", "/api/v1/budget"} < set(described["paths"])
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert all(operation["summary"] for operation in operations)
    assert all({"422", "429", "500"} < set(operation["responses"]) for operation in operations)
    assert '"$defs"' not in str(described)
