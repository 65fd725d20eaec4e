"""The site without a browser: headers, cookies, escaping, and what it refuses."""

from collections.abc import Iterator
from datetime import date

import pytest
from fastapi.testclient import TestClient

from caudal.http.settings import ServerSettings
from caudal.web.drawing import asset
from caudal.web.pages import PAGES
from caudal.web.site import create_site

TODAY = date(2026, 11, 30)
QUESTION = "model=llama-3.1-8b&amount=1%2Fs&gpu=l4"
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = ServerSettings(host_names=("testserver",), rate_per_client=None)
    with TestClient(create_site(settings, clock=lambda: TODAY)) as made:
        yield made


@pytest.mark.parametrize("path", [path for path in PAGES if "{" not in path])
def test_every_page_may_run_only_our_own_scripts(client: TestClient, path: str) -> None:
    page = client.get(path, params=QUESTION if path == "/" else "")

    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "nosniff" == page.headers["x-content-type-options"]
    assert "strict-origin-when-cross-origin" == page.headers["referrer-policy"]
    assert " style=" not in page.text
    assert "<style" not in page.text
    assert " onclick=" not in page.text


@pytest.mark.parametrize(
    "path",
    [
        f"/?model={EVIL}&amount=1",
        f"/?{QUESTION}&gpu={EVIL}",
        f"/?{QUESTION}&region={EVIL}",
        f"/?{QUESTION}&explain={EVIL}",
        f"/?{QUESTION}&show_gpu={EVIL}",
        f"/gpus?model={EVIL}",
        f"/gpus/{EVIL}",
        f"/models?family={EVIL}",
        f"/models/{EVIL}",
        f"/fit?model={EVIL}",
        f"/fit?context={EVIL}",
        f"/offers?provider={EVIL}",
        f"/load?gpu={EVIL}",
        f"/cost?{QUESTION}&row={EVIL}",
        f"/workloads/training?method={EVIL}",
        f"/{EVIL}",
    ],
)
@pytest.mark.parametrize("language", ["es", "en"])
def test_what_a_stranger_writes_is_shown_as_text(
    client: TestClient, path: str, language: str
) -> None:
    page = client.get(path, params={} if "?" in path else {"lang": language})

    assert page.status_code < 500
    assert EVIL not in page.text


def test_a_file_with_a_hostile_name_is_shown_as_text(client: TestClient) -> None:
    answer = client.post(
        "/models/upload", files={"file": (f"{EVIL}.json", b"no json", "application/json")}
    )

    assert 422 == answer.status_code
    assert EVIL not in answer.text


def test_another_sites_page_cannot_upload(client: TestClient) -> None:
    answer = client.post(
        "/models/upload",
        files={"file": ("config.json", b"{}", "application/json")},
        headers={"origin": "https://elsewhere.example"},
    )

    assert 403 == answer.status_code


def test_an_upload_without_a_file_says_what_to_do(client: TestClient) -> None:
    answer = client.post("/models/upload", data={"name": "x"})

    assert 400 == answer.status_code
    assert "Choose a file first." in answer.text


@pytest.mark.parametrize(
    "path",
    ["/static/x/../../site.py", "/static/x/%2e%2e%2fsite.py", "/static/x/site.py", "/static/x/"],
)
def test_only_the_pages_own_files_are_served(client: TestClient, path: str) -> None:
    assert 404 == client.get(path).status_code


def test_a_static_file_may_be_kept_for_ever(client: TestClient) -> None:
    answer = client.get(asset("caudal.css"))

    assert "immutable" in answer.headers["cache-control"]
    assert "text/css; charset=utf-8" == answer.headers["content-type"]


def test_a_path_of_this_machine_is_no_model(client: TestClient) -> None:
    for name in ("/etc/passwd", "../../etc/passwd", "file:///etc/passwd", "http://127.0.0.1/"):
        answer = client.get("/fit", params={"model": name})

        assert 404 == answer.status_code
        assert "root:" not in answer.text


def test_a_language_of_the_address_is_kept_in_a_cookie(client: TestClient) -> None:
    client.cookies.clear()

    page = client.get("/workloads?lang=id")

    assert 'lang="id"' in page.text
    cookie = page.headers["set-cookie"].lower()
    assert "lang=id" in cookie
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert 'lang="id"' in client.get("/workloads").text
    client.cookies.clear()


def test_a_look_is_kept_and_leaves_the_address(client: TestClient) -> None:
    answer = client.get("/workloads?theme=dark", follow_redirects=False)

    assert 303 == answer.status_code
    assert "/workloads" == answer.headers["location"]
    assert "theme=dark" in answer.headers["set-cookie"]
    client.cookies.clear()


@pytest.mark.parametrize("path", ["//evil.example/?theme=dark", "/\\evil.example?theme=dark"])
def test_a_look_never_leads_to_another_site(client: TestClient, path: str) -> None:
    answer = client.get(f"http://testserver{path}", follow_redirects=False)

    place = answer.headers.get("location", "/")
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))
    client.cookies.clear()


def test_a_page_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/numbers")

    again = client.get("/numbers", headers={"if-none-match": first.headers["etag"]})

    assert 304 == again.status_code
    assert "Accept-Language, Cookie" == first.headers["vary"].partition(", Accept-Enc")[0]


def test_an_error_has_its_status_and_stays_a_page(client: TestClient) -> None:
    page = client.get("/nowhere", headers={"accept-language": "es"})

    assert 404 == page.status_code
    assert "No ha funcionado" in page.text
    assert page.headers["content-type"].startswith("text/html")


def test_a_question_that_nothing_meets_is_a_conflict_with_its_gates(client: TestClient) -> None:
    page = client.get("/?model=llama-3.1-70b&amount=5%2Fs&gpu=l4:1")

    assert 409 == page.status_code
    assert "does not fit" in page.text


def test_the_api_names_of_a_load_are_understood(client: TestClient) -> None:
    page = client.get("/?model=llama-3.1-8b&rate=2%2Fs&gpu=l4")

    assert 200 == page.status_code
    assert "2 requests a second" in page.text
