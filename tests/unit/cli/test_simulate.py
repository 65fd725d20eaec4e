import gzip
import json
from pathlib import Path

import pytest

from caudal.cli.app import run
from caudal.cli.scenario_files import trace_from_file
from caudal.traffic.trace import InvalidTraceError

SCENARIO = """
name = "chat"
[model]
name = "llama-3.1-8b"
[replica]
gpu = "h100-sxm"
context = "16k"
[load]
rate = "{rate}"
input = {{ mean = 1000, variation = 1.0 }}
output = {{ mean = 200, variation = 1.0 }}
[slo]
ttft_p95 = "1s"
tpot_p95 = "50ms"
[run]
requests = 1500
"""


@pytest.fixture
def chat(tmp_path: Path) -> str:
    path = tmp_path / "chat.toml"
    path.write_text(SCENARIO.format(rate="5/s"), encoding="utf-8")
    return str(path)


def test_a_scenario_is_run_and_judged(chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(["simulate", chat])

    printed = capsys.readouterr()
    assert exit_code == 0
    assert "5 requests/s offered: keeps every objective" in printed.out
    assert "simulated, 1,500 requests, seed 7" in printed.out
    assert "≤ 1,000" in printed.out
    assert not printed.err


def test_a_growing_queue_shows_no_latency(chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(["simulate", chat, "--rate", "200/s", "--requests", "6000"])

    printed = capsys.readouterr().out
    assert exit_code == 0
    assert "saturated" in printed
    assert "p95" not in printed


def test_scenarios_stand_side_by_side(
    chat: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "fast.toml"
    other.write_text(SCENARIO.format(rate="9/s").replace("chat", "fast"), encoding="utf-8")

    exit_code = run(["simulate", chat, str(other), "--compare"])

    printed = capsys.readouterr().out
    assert exit_code == 0
    assert "chat" in printed
    assert "fast" in printed
    assert "TTFT p95 [ms]" in printed


def test_the_document_has_every_run(chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(["simulate", chat, chat, "--seed", "3", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert exit_code == 0
    assert [each["seed"] for each in document["runs"]] == [3, 3]
    assert document["runs"][0]["latencies"] == document["runs"][1]["latencies"]
    assert document["runs"][0]["keeps_slo"] is True


def test_a_run_is_drawn(chat: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = tmp_path / "run.json"

    exit_code = run(["simulate", chat, "--plot", str(drawn)])

    assert exit_code == 0
    assert "wrote" in capsys.readouterr().err
    assert "Requests that wait" in drawn.read_text(encoding="utf-8")


def test_the_capacity_of_a_scenario_is_found_and_drawn(
    chat: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = tmp_path / "curve.json"

    exit_code = run(["capacity", chat, "--plot", str(drawn)])

    printed = capsys.readouterr().out
    assert exit_code == 0
    assert "requests/s within TTFT p95 ≤ 1,000 ms, TPOT p95 ≤ 50 ms" in printed
    assert "Goodput" in drawn.read_text(encoding="utf-8")


MODEL = ["capacity", "llama-3.1-8b", "--gpu", "h100-sxm", "--requests", "1000"]
LENGTHS = ["--input", "1k", "--output", "200"]


def test_the_capacity_of_a_model_is_found_in_users(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(
        [*MODEL, *LENGTHS, "--by-users", "--tpot-p95", "30ms", "--e2e-p95", "20s", "--json"]
    )

    document = json.loads(capsys.readouterr().out)
    assert exit_code == 0
    assert document["by_users"] is True
    assert document["best"]["keeps"] is True
    assert document["limit"]["missed"]


def test_nothing_within_the_slo_is_an_answer_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run([*MODEL, *LENGTHS, "--variation", "0", "--tpot-p95", "1us"])

    printed = capsys.readouterr()
    assert exit_code == 4
    assert "No rate is carried" in printed.out
    assert "infeasible" in printed.err


def test_a_model_needs_gpu_and_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = run(MODEL)

    assert exit_code == 2
    assert "needs --gpu, --input and --output" in capsys.readouterr().err


def test_a_trace_lies_beside_its_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{at * 0.2},{500 + at % 700},{50 + at % 90}\n" for at in range(600))
    (tmp_path / "mine.csv").write_text("arrival,input,output\n" + rows, encoding="utf-8")
    scenario = tmp_path / "played.toml"
    head = SCENARIO.format(rate="1/s").partition("[load]")[0]
    scenario.write_text(f'{head}[load]\ntrace = "mine.csv"\n', encoding="utf-8")

    exit_code = run(["simulate", str(scenario), "--json"])

    document = json.loads(capsys.readouterr().out)
    assert exit_code == 0
    assert document["runs"][0]["requests"] == 600
    assert document["runs"][0]["offered_rate"] == pytest.approx(5.0)


def test_a_packed_trace_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv.gz"
    path.write_bytes(gzip.compress(b"arrival,input,output\n0,1,2\n"))

    assert trace_from_file(str(path)).prompt.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", b"\xff\xfe\x00"),
        ("mine.csv.gz", b"no gzip"),
        ("cut.csv.gz", gzip.compress(b"a" * 999, mtime=0)[:20]),
    ],
    ids=["bytes", "not packed", "cut off"],
)
def test_a_damaged_trace_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(InvalidTraceError, match="UTF-8"):
        trace_from_file(str(path))


@pytest.mark.parametrize(
    ("content", "exit_code", "said"),
    [
        (b"name = ", 2, "is no TOML"),
        (b"\xff", 2, "UTF-8"),
        (b"#" * 1_000_001, 2, "more than a scenario needs"),
        (b'[model]\nname = "x"\n[load]\ntrace = "none.csv"', 3, "x"),
        (None, 5, "cannot be read"),
    ],
    ids=["syntax", "bytes", "size", "model", "missing"],
)
def test_what_is_no_scenario_is_refused(
    tmp_path: Path,
    content: bytes | None,
    exit_code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)

    code = run(["simulate", str(path)])

    assert exit_code == code
    assert said in capsys.readouterr().err
