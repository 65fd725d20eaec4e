"""The command line and the HTTP API answer with the same documents."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from caudal.cli.app import run
from caudal.http.app import create_app
from caudal.http.settings import ServerSettings
from documents import TODAY

PAIRS = (
    ("gpus", "/gpus"),
    ("gpus list --fp8 --min-memory 80GB --sort name", "/gpus?fp8=1&min_memory=80GB&sort=name"),
    ("gpus show h100", "/gpus/h100"),
    ("gpus compare l40s a100", "/compare?gpu=l40s&gpu=a100"),
    ("models --family qwen --max-params 40B", "/models?family=qwen&max_params=40B"),
    ("models show deepseek-v3", "/models/deepseek-v3"),
    ("models show Qwen/Qwen3-32B", "/models/Qwen/Qwen3-32B"),
    ("offers --gpu H100:8 --region us --top 3", "/offers?gpu=H100:8&region=us&top=3"),
    ("offers --gpu l4 --term spot --max-price 1", "/offers?gpu=l4&term=spot&max_price=1"),
    (
        "fit llama-3.1-70b --gpu H100:1..4 --precision fp8 --context 8k --concurrency 32",
        "/fit?model=llama-3.1-70b&gpu=H100:1..4&precision=fp8&context=8k&concurrency=32",
    ),
    ("fit --params 13B --gpu a10 --eager --free 21GB", "/fit?params=13B&gpu=a10&eager=1&free=21GB"),
    ("fit llama-3.1-70b --gpu L4:1", "/fit?model=llama-3.1-70b&gpu=L4:1"),
    (
        "speed llama-3.1-70b --gpu H100 --precision fp8 --tp 4 --input 2k --output 300",
        "/speed?model=llama-3.1-70b&gpu=H100&precision=fp8&tp=4&input=2k&output=300",
    ),
    (
        "speed qwen3-8b --gpu L4:1 --kv-precision fp8 --batch 1,8,4096",
        "/speed?model=qwen3-8b&gpu=L4:1&kv_precision=fp8&batch=1,8,4096",
    ),
    ("speed --params 13B", "/speed?params=13B"),
    ("speed llama-3.1-70b --gpu L4:1", "/speed?model=llama-3.1-70b&gpu=L4:1"),
    (
        "plan llama-3.1-8b --input 2k --output 300 --rate 5/s --ttft-p95 1s --gpu L40S --explain 1",
        "/plan?model=llama-3.1-8b&input=2k&output=300&rate=5/s&ttft_p95=1s&gpu=L40S&explain=1",
    ),
    (
        "plan llama-3.1-8b --users 40 --gpu L4 --gpu H100:1..2 --region eu --top 3",
        "/plan?model=llama-3.1-8b&users=40&gpu=L4&gpu=H100:1..2&region=eu&top=3",
    ),
    (
        "plan qwen3-8b --tokens-per-day 50M --batch --precision fp8 --budget $5,000 --gpu L4",
        "/plan?model=qwen3-8b&tokens_per_day=50M&batch=1&precision=fp8&budget=$5,000&gpu=L4",
    ),
    (
        "plan qwen3-8b --rate 1/s --gpu L4 --hours-per-day 10 --days 7 --vat 19% --data-out 50GB",
        "/plan?model=qwen3-8b&rate=1/s&gpu=L4&hours_per_day=10&days=7&vat=19%25&data_out=50GB",
    ),
    (
        "budget qwen3-8b --output-per-day 10M --input-per-day 40M --gpu L4 --row 2 --currency EUR",
        "/budget?model=qwen3-8b&output_per_day=10M&input_per_day=40M&gpu=L4&row=2&currency=EUR",
    ),
    ("offers history l4 --region us --term spot", "/offers/history?gpu=l4&region=us&term=spot"),
    (
        "offers --gpu 'H100|H200' --count 8 --nvlink --sort usd_per_memory --provider '!aws'",
        "/offers?gpu=H100|H200&count=8&nvlink=1&sort=usd_per_memory&provider=!aws",
    ),
    (
        "plan llama-3.1-8b --rate 1/s --gpu L4 --budget $1",
        "/plan?model=llama-3.1-8b&rate=1/s&gpu=L4&budget=$1",
    ),
)
SCENARIO = {
    "name": "chat",
    "model": {"name": "llama-3.1-8b"},
    "replica": {"gpu": "l4"},
    "load": {"rate": "1/s", "input": 500, "output": 100},
    "slo": {"ttft_p95": "2s"},
    "run": {"requests": 2000},
}
TOML = "".join(
    f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
    for name, fields in SCENARIO.items()
    if isinstance(fields, dict)
)
REFUSALS = (
    ("gpus show h1000", "/gpus/h1000"),
    ("models --family nobody", "/models?family=nobody"),
    ("fit llama-3.1-8b --context 999999999", "/fit?model=llama-3.1-8b&context=999999999"),
    ("fit llama-3.1-8b --gpu H100:2 --tp 4", "/fit?model=llama-3.1-8b&gpu=H100:2&tp=4"),
    ("speed llama-3.1-8b --gpu H100:2 --tp 4", "/speed?model=llama-3.1-8b&gpu=H100:2&tp=4"),
    ("speed llama-3.1-8b --batch 0", "/speed?model=llama-3.1-8b&batch=0"),
    ("plan llama-3.1-8b", "/plan?model=llama-3.1-8b"),
    (
        "plan --params 8B --rate 1/s --gpu L4 --explain 99",
        "/plan?params=8B&rate=1/s&gpu=L4&explain=99",
    ),
    ("offers --provider nobody", "/offers?provider=nobody"),
)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(ServerSettings(host_names=(), rate_per_client=None))) as made:
        yield made


@pytest.fixture(autouse=True)
def _same_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", TODAY)


@pytest.mark.parametrize(("line", "path"), PAIRS)
def test_an_answer_is_the_same_at_both_doors(
    client: TestClient, capsys: pytest.CaptureFixture[str], line: str, path: str
) -> None:
    run([*shlex.split(line.replace("$", r"\$")), "--json"])

    assert json.loads(capsys.readouterr().out) == client.get(f"/api/v1{path}").json()


@pytest.mark.parametrize(("line", "path"), REFUSALS)
def test_a_refusal_is_the_same_at_both_doors(
    client: TestClient, capsys: pytest.CaptureFixture[str], line: str, path: str
) -> None:
    exit_code = run([*shlex.split(line), "--json"])
    answer = client.get(f"/api/v1{path}")

    told = json.loads(capsys.readouterr().out)["error"]
    assert {"code", "problem", "remedy", "where"} == set(told)
    assert {**told, "where": None} == {**answer.json()["error"], "where": None}
    assert {2: 422, 3: 404, 4: 409, 5: 503}[exit_code] == answer.status_code


@pytest.mark.parametrize("command", ["simulate", "capacity"])
def test_a_scenario_is_the_same_in_toml_and_json(
    client: TestClient, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    path = tmp_path / "chat.toml"
    path.write_text(f'name = "chat"\n{TOML}', encoding="utf-8")

    run([command, str(path), "--json"])

    answer = client.post(f"/api/v1/{command}", json=SCENARIO).json()
    assert json.loads(capsys.readouterr().out) == answer
