import json
from datetime import date
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from caudal.http.app import create_app
from caudal.http.settings import ServerSettings
from caudal.vocabulary.units import MIB
from gguf_models import MODELS, write_model
from model_files import LLAMA

UPLOADS = "/api/v1/models/uploads"
CONFIG = json.dumps(LLAMA).encode()


def client_that(*, allow_local: bool = False, ask_hub: bool = False) -> TestClient:
    settings = ServerSettings(
        host_names=(), rate_per_client=None, allow_local=allow_local, ask_hub=ask_hub
    )
    app = create_app(settings, clock=lambda: date(2026, 11, 30))
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client() -> TestClient:
    return client_that(allow_local=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_bytes(CONFIG)
    return tmp_path


def upload(client: TestClient, content: bytes, *, name: str = "config.json") -> Response:
    return client.post(UPLOADS, files={"file": (name, content)})


@pytest.mark.parametrize("form", ["{0}", "{0}/config.json", "{0}/../{0.name}/"])
@pytest.mark.parametrize("path", ["/api/v1/fit", "/api/v1/plan"])
def test_no_path_is_read_unless_the_server_allows_it(
    client: TestClient, folder: Path, path: str, form: str
) -> None:
    asked = {"model": form.format(folder), "gpu": "L4", "rate": "1/s"}
    if path.endswith("fit"):
        del asked["rate"]

    answer = client.get(path, params=asked)

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "unknown-model"


@pytest.mark.parametrize(
    "name",
    [
        "../../../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "/etc/passwd",
        "~/config.json",
        "config.json",
        "src/caudal",  # has the form of a hub id
        "http://127.0.0.1:8722/api/v1/health",
        "http:/169.254.169.254/latest",
        "evil.example:80/model",
        "file:///etc/passwd",
        "meta-llama/Llama-3.1-8B@http://evil.example",
        "a\x00b",
        "upload-../../x",
    ],
)
def test_a_name_is_neither_path_nor_address(client: TestClient, name: str) -> None:
    shown = client.get(f"/api/v1/models/{quote(name)}")
    asked = client.post("/api/v1/fit", json={"model": name})

    assert shown.status_code == 404
    assert asked.status_code == 404
    assert asked.json()["error"]["code"] == "unknown-model"


def test_a_server_that_allows_it_reads_paths(folder: Path) -> None:
    answer = client_that(allow_local=True).get(
        "/api/v1/fit", params={"model": str(folder), "gpu": "L4"}
    )

    assert answer.status_code == 200
    assert answer.json()["model"]["id"] == str(folder)


def test_a_changed_file_is_read_again(folder: Path) -> None:
    client = client_that(allow_local=True)
    before = client.get(f"/api/v1/models/{folder}").json()["model"]["layers"]

    (folder / "config.json").write_text(json.dumps({**LLAMA, "num_hidden_layers": 16}))

    assert before == 32
    assert client.get(f"/api/v1/models/{folder}").json()["model"]["layers"] == 16


def test_an_upload_gets_a_name_that_questions_may_use(client: TestClient) -> None:
    uploaded = upload(client, CONFIG)
    name = uploaded.json()["model"]["id"]

    answer = client.get("/api/v1/fit", params={"model": name, "gpu": "L4"})

    assert uploaded.status_code == 201
    assert name.startswith("upload-")
    assert answer.json()["model"]["total_parameters"] == 8_030_261_248
    assert answer.headers["cache-control"] == "private, no-cache"


def test_the_same_file_gets_the_same_name(client: TestClient) -> None:
    first, second = upload(client, CONFIG), upload(client, CONFIG, name="other.json")

    assert first.json()["model"]["id"] == second.json()["model"]["id"]


@pytest.mark.parametrize(
    ("status", "code", "content"),
    [
        (422, "invalid-model-file", b""),
        (422, "invalid-model-file", b"MZ\x90\x00 a program"),
        (422, "invalid-model-file", b"<script>alert(1)</script>"),
        (422, "invalid-model-file", b"{"),
        (422, "invalid-model-file", b"{" * 100_000),
        (422, "invalid-model-file", b'{"a": ' + b"[" * 50_000 + b"}"),
        (422, "invalid-model-file", b"GGUF\x03\x00\x00\x00"),
        (422, "invalid-model-file", b"GGUF" + b"\xff" * 64),
        (404, "unsupported-model", b'{"model_type": "no-such-architecture"}'),
        (413, "body-too-large", b" " * (33 * MIB)),
    ],
)
def test_what_is_no_model_is_refused(
    client: TestClient, status: int, code: str, content: bytes
) -> None:
    answer = upload(client, content)

    assert (status, code) == (answer.status_code, answer.json()["error"]["code"])


@pytest.mark.parametrize("name", ["../../etc/config.json", "a\\..\\config.json", "x" * 500])
def test_a_file_name_is_only_shown(client: TestClient, name: str) -> None:
    source = upload(client, CONFIG, name=name).json()["model"]["source"]["where"]

    assert "/" not in source
    assert len(source) < 100


def test_an_upload_needs_a_form(client: TestClient) -> None:
    answer = client.post(UPLOADS, content=CONFIG, headers={"content-type": "application/json"})

    assert answer.status_code == 422
    assert answer.json()["error"]["where"] == "file"


def test_a_gguf_header_is_enough(client: TestClient, tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", next(iter(MODELS)))
    with path.open("rb") as stream:
        start = stream.read(1_000_000)

    answer = client.post(
        UPLOADS,
        files={"file": ("model.gguf", start)},
        data={"file_bytes": str(path.stat().st_size)},
    )

    assert answer.status_code == 201
    assert answer.json()["model"]["weight_format"] == "q4_k_m"


def test_an_upload_that_was_dropped_is_to_be_sent_again(client: TestClient) -> None:
    answer = client.get("/api/v1/fit", params={"model": "upload-0123456789abcdef"})

    assert answer.status_code == 404
    assert "upload it again" in answer.json()["error"]["remedy"]


@pytest.mark.parametrize(
    "name",
    ["http://127.0.0.1/x", "a/b/c", "../x", "evil.example:80/x", "src/caudal/", "/etc/hosts"],
)
def test_only_what_has_the_form_of_a_hub_id_is_asked_of_the_hub(name: str) -> None:
    answer = client_that(ask_hub=True).post("/api/v1/fit", json={"model": name})

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "unknown-model"


def test_a_hub_id_is_never_a_folder_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "config.json").write_bytes(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))

    answer = client_that(ask_hub=True).post("/api/v1/fit", json={"model": "org/name"})

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "model-not-downloaded"
