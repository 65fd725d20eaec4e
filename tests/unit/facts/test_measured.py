import csv
import gzip
from importlib import resources

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.measured import COLUMNS, MeasuredKind, measured_rows
from caudal.facts.precisions import weight_format

MAY_SHIP = {"Apache-2.0", "BSD-3-Clause", "MIT"}


def lines(kind: MeasuredKind) -> list[dict[str, str]]:
    path = resources.files("caudal.facts") / f"data/measured/{kind.value}.csv.gz"
    return list(csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines()))


@pytest.mark.parametrize("kind", MeasuredKind)
def test_every_row_names_its_source_and_a_licence_that_lets_it_ship(kind: MeasuredKind) -> None:
    for line in lines(kind):
        assert set(COLUMNS) == set(line)
        assert line["licence"] in MAY_SHIP
        assert line["source_ref"]
        assert "mlperf" not in line["source"]


@pytest.mark.parametrize("kind", MeasuredKind)
def test_every_row_is_of_a_gpu_and_a_format_that_are_known(kind: MeasuredKind) -> None:
    for line in lines(kind):
        assert line["gpu"] == gpu_catalogue().get(line["gpu"]).id
        assert line["precision"] == weight_format(line["precision"]).name


def test_no_row_stands_twice() -> None:
    ids = [line["id"] for kind in MeasuredKind for line in lines(kind)]

    assert len(ids) == len(set(ids))


def test_rows_are_found_by_the_model_and_by_its_quantised_checkpoint() -> None:
    base = measured_rows("deepseek-ai/DeepSeek-R1", "b200")
    quantised = measured_rows("nvidia/DeepSeek-R1-FP4", "b200")

    assert {"fp8-block", "nvfp4"} == {row.precision for row in base}
    assert {"nvfp4"} == {row.precision for row in quantised}
    assert set(quantised) < set(base)


def test_a_row_says_what_its_source_says() -> None:
    """The silicon sample of AIConfigurator at 095f58a, 8192 in, 1024 out, 16 concurrent."""
    rows = measured_rows("meta-llama/Llama-3.1-70B", "h200-sxm")
    row = next(row for row in rows if row.id == "inferencex-aic-d6cf82dc33")

    assert row.tpot is not None
    assert ("p50", 0.0474782) == (row.tpot.statistic, row.tpot.seconds)
    assert (1, 1, 16.0) == (row.tensor, row.gpus, row.concurrency)
    assert row.input_tokens == pytest.approx(0.9 * 8192)  # drawn evenly from 0.8 to 1.0 of it


def test_a_model_that_nobody_measured_has_no_rows() -> None:
    assert measured_rows("nobody/knows", "h100-sxm") == ()
