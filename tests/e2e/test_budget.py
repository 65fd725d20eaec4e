"""`caudal budget` and `caudal plan` for a use, as a person starts them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

CAUDAL = Path(sys.executable).parent / "caudal"
TODAY = "1796040000"  # 2026-11-30, in seconds since 1970
SMALL = "budget llama-3.1-8b --tokens-per-day 2M --gpu L4 --gpu L40S"
INVALID, UNKNOWN, INFEASIBLE = 2, 3, 4


def caudal(
    arguments: Sequence[str], folder: Path, *, columns: int = 80
) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CAUDAL")}
    return subprocess.run(
        [CAUDAL, *arguments],
        cwd=folder,
        env=kept | {"COLUMNS": str(columns), "SOURCE_DATE_EPOCH": TODAY, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def schema(name: str) -> Draft202012Validator:
    text = files("caudal.cli").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


@pytest.mark.parametrize(
    "line",
    [
        f"{SMALL} --peak-factor 8",
        f"{SMALL} --days 7 --data-out 200GB --vat 19% --disk 100GB --term hourly",
        (
            "budget llama-3.1-8b --input-per-day 40M --output-per-day 10M --hours-per-day 10 "
            "--gpu L4 --gpu L40S --term hourly --rate EUR=1.08 --currency EUR"
        ),
        f"{SMALL} --batch --batch-share 30% --provider gcp",
    ],
)
def test_a_budget_is_text_for_people_and_a_document_for_machines(line: str, tmp_path: Path) -> None:
    text = caudal(line.split(), tmp_path)
    document = caudal([*line.split(), "--json"], tmp_path)

    assert (0, "") == (text.returncode, text.stderr)
    assert (0, "") == (document.returncode, document.stderr)
    schema("budget").validate(json.loads(document.stdout))
    assert max(map(len, text.stdout.splitlines())) <= 80


def test_the_text_says_the_sum_and_what_is_not_known(tmp_path: Path) -> None:
    line = f"{SMALL} --hours-per-day 8 --disk 100GB --term hourly"
    text = caudal(line.split(), tmp_path).stdout
    document = json.loads(caudal([*line.split(), "--json"], tmp_path).stdout)

    items = sum(float(item["usd"]) for item in document["bill"]["items"])
    assert float(document["bill"]["usd"]) == pytest.approx(items)
    assert f"{items:,.2f}" in text
    assert document["bill"]["unknown"]
    for name in document["bill"]["unknown"]:
        assert f"not known: {name}"[:60] in " ".join(text.split())


def test_a_plan_is_ranked_by_what_the_use_costs(tmp_path: Path) -> None:
    line = "plan llama-3.1-8b --rate 2/s --days 3 --top 20 --json"
    rows = json.loads(caudal(line.split(), tmp_path).stdout)["rows"]

    usd = [float(row["price"]["full"]["usd"]) for row in rows]
    assert usd == sorted(usd)


def test_a_plain_plan_ranks_by_the_month(tmp_path: Path) -> None:
    line = ["plan", "llama-3.1-8b", "--rate", "2/s", "--json"]
    rows = json.loads(caudal(line, tmp_path).stdout)["rows"]

    for row in rows:
        assert float(row["price"]["usd_per_month"]) == pytest.approx(
            float(row["price"]["full"]["usd"]), abs=0.01
        )


@pytest.mark.parametrize(
    ("name", "head"),
    [("b.svg", b"<svg"), ("b.png", b"\x89PNG"), ("b.html", b"<!DOCTYPE"), ("b.json", b"{")],
)
def test_the_answer_is_drawn_to_a_file(name: str, head: bytes, tmp_path: Path) -> None:
    done = caudal([*SMALL.split(), "--plot", name], tmp_path)

    assert done.returncode == 0
    assert done.stderr.startswith(f"wrote {name}")
    assert (tmp_path / name).read_bytes().startswith(head)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".b")] == []


def test_the_front_of_a_plan_is_drawn(tmp_path: Path) -> None:
    done = caudal(["plan", "llama-3.1-8b", "--rate", "2/s", "--plot", "front.svg"], tmp_path)

    assert done.returncode == 0
    assert "beaten by no other" in (tmp_path / "front.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "exit_code", "said"),
    [
        (f"{SMALL} --plot x.pdf", INVALID, ".svg"),
        (f"{SMALL} --hours-per-day 30", INVALID, "24"),
        (f"{SMALL} --hours-per-day none", INVALID, "number"),
        (f"{SMALL} --days 0", INVALID, "0"),
        (f"{SMALL} --rate EURO=1", INVALID, "EUR=1.08"),
        (f"{SMALL} --rate EUR=0", INVALID, "EUR=1.08"),
        (f"{SMALL} --currency XYZ", UNKNOWN, "XYZ"),
        (f"{SMALL} --vat 120%", INVALID, "120"),
        (f"{SMALL} --row 500", INVALID, "--row"),
        (f"{SMALL} --input-per-day 5M", INVALID, "--output-per-day"),
        ("budget llama-3.1-8b --batch", INVALID, "--tokens-per-day"),
        ("budget llama-3.1-8b --rate 5/s --rate 6/s", INVALID, "twice"),
        ("budget llama-3.1-405b --rate 5/s --gpu L4:1", INFEASIBLE, "fit"),
        ("plan llama-3.1-8b --rate 1/s --plot front", INVALID, ".svg"),
    ],
)
def test_bad_input_gets_one_clear_error(
    line: str, exit_code: int, said: str, tmp_path: Path
) -> None:
    done = caudal(line.split(), tmp_path)

    assert exit_code == done.returncode, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
