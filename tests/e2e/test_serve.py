"""The installed server, started as a person starts it, asked by our own client."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from caudal.client import Client, ServerUnreachableError
from caudal.documents.jobs import JobDocument, JobState
from caudal.vocabulary.errors import InvalidInputError, InvalidQuantityError, UnknownGpuError
from documents import TODAY
from model_files import LLAMA

SCENARIO = {
    "model": {"name": "llama-3.1-8b"},
    "replica": {"gpu": "l4"},
    "load": {"rate": "1/s", "input": 500, "output": 100},
    "slo": {"ttft_p95": "2s"},
    "run": {"requests": 2000},
}
CAUDAL = Path(sys.executable).parent / "caudal"


@contextmanager
def server(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": TODAY}
    with subprocess.Popen(
        [CAUDAL, "serve", "--port", "0", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield process, next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.kill()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with server(tmp_path_factory.mktemp("serve")) as (_, url):
        yield Client(url)


def test_the_first_question_waits_until_the_server_is_ready(client: Client) -> None:
    health = client.health()

    assert health.status == "ok"
    assert health.gpus > 100
    assert health.offers > 1000


def test_documents_arrive_as_values(client: Client) -> None:
    fit = client.fit("llama-3.1-70b", gpu=["H100"], precision="fp8", context="8k")
    plan = client.plan("llama-3.1-8b", rate=1, gpu=["L4", "L40S"], ttft_p95="2s")
    offers = client.offers(gpu=["H100:8"], top=3)

    assert fit.smallest is not None
    assert fit.context_tokens == 8192
    assert plan.rows[0].price.usd_per_month > 0
    assert plan.workload.rate == pytest.approx(1)
    assert len(offers.offers) == 3


def test_facts_arrive_as_values(client: Client) -> None:
    fast = client.gpus(fp8=True, min_memory="80GB")
    qwen = client.models(family="qwen", max_params="40B")

    assert all(gpu.native_fp8 for gpu in fast.gpus)
    assert all(model.total_parameters <= 40e9 for model in qwen.models)
    assert client.gpu("h100").gpus[0].vendor == "NVIDIA"
    assert len(client.compare("l40s", "l4").gpus) == 2
    assert client.model("Qwen/Qwen3-32B").model.family
    assert client.version().api == "v1"


def test_an_uploaded_model_can_be_asked_about(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8")

    name = client.upload(path).model.id

    assert client.fit(name, gpu=["L4"]).model.total_parameters == 8_030_261_248


def test_money_and_load_arrive_as_values(client: Client) -> None:
    seen: list[JobDocument] = []
    budget = client.budget("llama-3.1-8b", tokens_per_day="20M", gpu=["L4"], currency="EUR")
    short = client.simulate(SCENARIO)
    long = client.simulate({**SCENARIO, "run": {"requests": 120_000}}, on_progress=seen.append)

    assert budget.money.usd > 0
    assert budget.money.other is not None
    assert short.runs[0].requests == 2000
    assert long.runs[0].requests == 120_000
    assert seen[-1].state is JobState.DONE
    assert client.capacity(SCENARIO).best is not None
    assert client.history("l4", region=["us"]).observations > 0


def test_what_has_no_answer_says_why(client: Client) -> None:
    fit = client.fit("llama-3.1-70b", gpu=["L4:1"])

    assert fit.smallest is None
    assert fit.error is not None
    assert fit.error.code == "does-not-fit"


def test_errors_are_raised_as_the_rooms_raise_them(client: Client) -> None:
    with pytest.raises(UnknownGpuError, match="h1000"):
        client.gpu("h1000")
    with pytest.raises(InvalidQuantityError, match="context"):
        client.fit("llama-3.1-8b", context="80GB")


def test_a_client_without_a_server_says_so() -> None:
    with pytest.raises(ServerUnreachableError):
        Client("http://127.0.0.1:9").version()
    with pytest.raises(InvalidInputError):
        Client("file:///etc/passwd")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_stop_stops_quietly(tmp_path: Path, sent: signal.Signals) -> None:
    with server(tmp_path) as (process, url):
        Client(url).version()

        process.send_signal(sent)
        _, said = process.communicate(timeout=15)

    assert process.returncode == 0
    assert said == ""


def test_a_taken_port_is_told(client: Client, tmp_path: Path) -> None:
    with server(tmp_path) as (_, url):
        port = url.rpartition(":")[2]
        second = subprocess.run(
            [CAUDAL, "serve", "--port", port], capture_output=True, text=True, check=False
        )

    assert second.returncode == 5
    assert f"127.0.0.1:{port}" in second.stderr
    assert "[port-taken]" in second.stderr


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("invalid-input", ["--cors", "*"]),
        ("invalid-quantity", ["--rate-limit", "fast"]),
        ("port-taken", ["--host", "203.0.113.1"]),
        ("invalid-usage", ["--port", "99999"]),
    ],
)
def test_what_cannot_be_served_is_refused(code: str, options: list[str]) -> None:
    done = subprocess.run(
        [CAUDAL, "serve", *options], capture_output=True, text=True, check=False, timeout=15
    )

    assert done.returncode in {2, 5}
    assert f"[{code}]" in done.stderr
