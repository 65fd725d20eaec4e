import gzip
import json
from pathlib import Path

import pytest

from caudal.calibrate.speed_rows import Metric, RowKind, read_speed_rows
from caudal.vocabulary.errors import InvalidFactError, UnavailableError

ROW: dict[str, object] = {
    "id": "a-1",
    "kind": "serving",
    "model": "Llama-3.1-70B",
    "gpu": "H100-SXM",
    "n_gpus": 4,
    "tpot_ms_p50": 20.0,
    "tpot_ms_mean": 30.0,
    "ttft_ms_mean": 400.0,
    "output_tok_s_total": 1600.0,
    "license": "Apache-2.0",
    "date": "2025-11",
}


def written(folder: Path, *rows: object, name: str = "rows.jsonl") -> Path:
    path = folder / name
    text = "\n".join(json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_a_median_is_judged_before_a_mean(tmp_path: Path) -> None:
    (row,) = read_speed_rows(written(tmp_path, ROW))

    assert row.measured == {Metric.TPOT: 0.02, Metric.TTFT: 0.4, Metric.OUTPUT: 1600.0}
    assert row.kind is RowKind.SERVING
    assert row.year == 2025


def test_a_packed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    plain = read_speed_rows(written(tmp_path, ROW))
    packed = read_speed_rows(written(tmp_path, ROW, name="rows.jsonl.gz"))

    assert plain == packed


def test_rows_of_one_machine_and_model_are_one_group(tmp_path: Path) -> None:
    first, second, other = read_speed_rows(
        written(tmp_path, ROW, {**ROW, "isl": 10}, {**ROW, "n_gpus": 8})
    )

    assert first.group == second.group
    assert first.group != other.group


def test_rows_without_a_licence_are_figures_only(tmp_path: Path) -> None:
    named, unnamed = read_speed_rows(
        written(tmp_path, ROW, {key: value for key, value in ROW.items() if key != "license"})
    )

    assert named.shippable
    assert not unnamed.shippable


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "kind": "dance"},
        {**ROW, "tpot_ms_p50": "fast"},
        {"id": "x"},
        [1, 2],
        "text",
    ],
    ids=["kind", "number", "missing", "list", "text"],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, row: object) -> None:
    with pytest.raises(InvalidFactError, match=r"rows.jsonl, line 2 is not a measured row"):
        read_speed_rows(written(tmp_path, ROW, row))


def test_a_missing_or_torn_file_is_unavailable(tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(b"{}")[:-9])

    with pytest.raises(UnavailableError, match="cannot be read"):
        read_speed_rows(tmp_path / "none.jsonl")
    with pytest.raises(UnavailableError, match="cannot be read"):
        read_speed_rows(torn)
