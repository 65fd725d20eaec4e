"""The bundled catalogue: what its rows say, how names resolve, how GPUs are chosen."""

import csv
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from caudal.facts.gpus import (
    GpuSort,
    compare_gpus,
    gpu_catalogue,
    nearest_alternatives,
    select_gpus,
)
from caudal.vocabulary.errors import InvalidQuantityError, UnknownGpuError
from caudal.vocabulary.units import GB, GIB, Bytes, BytesPerSecond

CATALOGUE = gpu_catalogue()
DATA = Path(__file__).parent.parent.parent / "data"


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def ids(text: str) -> list[str]:
    return [spec.id for spec in CATALOGUE.resolve(text).specs]


NAMES = rows("gpu_names.csv")


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["text"])
def test_every_name_seen_in_the_field_resolves_or_says_why_not(row: dict[str, str]) -> None:
    if row["gpus"]:
        assert row["gpus"].split() == ids(row["text"])
        assert row["why_not"] == ""
    else:
        assert row["why_not"]
        with pytest.raises(UnknownGpuError):
            CATALOGUE.resolve(row["text"])


@pytest.mark.parametrize(
    ("text", "gpus", "counts"),
    [
        ("A100-80GB:4", ["a100-80g-pcie", "a100-80g-sxm"], (4,)),
        ("H100-SXM:1..8", ["h100-sxm"], (1, 2, 3, 4, 5, 6, 7, 8)),
        ("h100-sxm:1,2,4", ["h100-sxm"], (1, 2, 4)),
        ("8xH100", ["h100-pcie", "h100-sxm", "h100-nvl"], (8,)),
        ("8x H100 SXM", ["h100-sxm"], (8,)),
        ("8 × MI300X", ["mi300x"], (8,)),
        ("2 RTX 3090", ["rtx-3090"], (2,)),
        ("4x4090", ["rtx-4090"], (4,)),
        ("H800-80GBx8", ["h800-pcie", "h800-sxm"], (8,)),
        ("RTX 3090 x2", ["rtx-3090"], (2,)),
        ("3090x2", ["rtx-3090"], (2,)),
        ("7900 XT", ["rx-7900xt"], None),
        ("H100", ["h100-pcie", "h100-sxm", "h100-nvl"], None),
    ],
)
def test_a_number_of_gpus_is_read_beside_the_name(
    text: str, gpus: list[str], counts: tuple[int, ...] | None
) -> None:
    choice = CATALOGUE.resolve(text)

    assert gpus == [spec.id for spec in choice.specs]
    assert counts == choice.counts


def test_an_ambiguous_name_says_which_gpus_it_may_be() -> None:
    choice = CATALOGUE.resolve("H100")

    assert (
        "H100 may be NVIDIA H100 PCIe 80GB, NVIDIA H100 SXM5 80GB or NVIDIA H100 NVL 94GB: "
        "all are considered."
    ) == choice.note


def test_a_name_without_doubt_has_no_note() -> None:
    assert CATALOGUE.resolve("L40S").note == ""


@pytest.mark.parametrize(
    "text", ["H100:", "H100:0", "H100:x", "H100:8..1", "H100:99999", "0x H100"]
)
def test_a_senseless_number_of_gpus_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantityError):
        CATALOGUE.resolve(text)


@pytest.mark.parametrize("text", ["", " ", ":", "x", "H", "💥", "a" * 10_000, "\x00", "]["])
def test_what_is_no_name_is_unknown(text: str) -> None:
    with pytest.raises((UnknownGpuError, InvalidQuantityError)):
        CATALOGUE.resolve(text)


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownGpuError) as caught:
        CATALOGUE.resolve("rtx 4900")

    assert "RTX 4090" in caught.value.nearest


def test_an_unknown_size_lists_the_sizes_that_exist() -> None:
    with pytest.raises(UnknownGpuError) as caught:
        CATALOGUE.resolve("H100 96GB")

    assert (
        "No such size; there is NVIDIA H100 PCIe 80GB, NVIDIA H100 SXM5 80GB, NVIDIA H100 NVL 94GB."
    ) == caught.value.remedy


def test_an_unknown_id_is_an_error() -> None:
    with pytest.raises(UnknownGpuError, match="h100-sxn"):
        CATALOGUE.get("h100-sxn")


@pytest.mark.parametrize("spec", CATALOGUE.all, ids=lambda spec: spec.id)
def test_id_and_name_of_every_gpu_resolve_to_it_alone(spec: object) -> None:
    gpu = next(known for known in CATALOGUE.all if known is spec)

    assert [gpu.id] == ids(gpu.id)
    assert [gpu.id] == ids(gpu.name)
    assert gpu is CATALOGUE.get(gpu.id)


@pytest.mark.parametrize("spec", CATALOGUE.all, ids=lambda spec: spec.id)
def test_every_pattern_of_a_gpu_resolves_to_it(spec: object) -> None:
    gpu = next(known for known in CATALOGUE.all if known is spec)

    for pattern in gpu.names:
        core = pattern.partition("[")[0].strip()
        assert gpu.id in {found.id for found in CATALOGUE.resolve(core).specs}


def test_the_whole_table_is_there() -> None:
    assert 118 == len(CATALOGUE.all)
    assert {"NVIDIA", "AMD", "Intel", "Apple", "Google", "AWS"} == {
        spec.vendor for spec in CATALOGUE.all
    }


def test_every_row_has_a_source_and_a_day() -> None:
    assert all(spec.source.where and spec.source.read_on for spec in CATALOGUE.all)
    assert {date(2026, 11, 30)} == {spec.source.read_on for spec in CATALOGUE.all}


def test_nominal_gb_and_usable_gib_are_not_mixed() -> None:
    gpu = CATALOGUE.get("h100-sxm")

    assert 80 * GB == gpu.memory_bytes
    assert 79.65 == pytest.approx(gpu.usable_bytes / GIB)


def test_a_link_counts_one_direction() -> None:
    assert 450e9 == CATALOGUE.get("h100-sxm").link_bytes_per_s


@pytest.mark.parametrize(
    ("gpu_id", "fast"),
    [
        ("h100-sxm", True),
        ("a40", True),
        ("mi300x", True),
        ("l40s", False),
        ("rtx-5090", False),
        ("gb10", False),
        ("m3-ultra-512g", False),
        ("strix-halo-128g", False),
    ],
)
def test_a_link_is_fast_if_it_beats_the_slot(gpu_id: str, *, fast: bool) -> None:
    assert fast == CATALOGUE.get(gpu_id).has_fast_link


@pytest.mark.parametrize(
    ("gpu_id", "share"),
    [("gh200-144g", 79.65 / 80), ("jetson-thor-128g", 119.6 / 128)],
)
def test_unknown_usable_memory_is_estimated_low_and_said(gpu_id: str, share: float) -> None:
    gpu = CATALOGUE.get(gpu_id)

    assert gpu.usable_is_estimate
    assert "usable memory estimated" in gpu.note
    assert share == pytest.approx(gpu.usable_bytes / GIB * GB / gpu.memory_bytes, rel=1e-3)


def test_only_gpus_without_a_driver_figure_are_estimated() -> None:
    estimated = {spec.id for spec in CATALOGUE.all if spec.usable_is_estimate}

    assert {
        "gh200-144g",
        "jetson-agx-orin-64g",
        "jetson-orin-nano-8g",
        "jetson-thor-128g",
    } == estimated


def test_the_peers_of_a_dgx_spark_are_joined_by_its_network_port() -> None:
    gpu = CATALOGUE.get("gb10")

    assert 25e9 == gpu.link_bytes_per_s  # 200 Gbit/s
    assert "network port" in gpu.note


@pytest.mark.parametrize("row", rows("gpu_sheets.csv"), ids=lambda row: row["name"])
def test_the_catalogue_agrees_with_what_sellers_print(row: dict[str, str]) -> None:
    gpu = CATALOGUE.get(row["gpu"])
    fp8 = gpu.dense_fp8_flop_per_s

    assert float(row["memory_gb"]) * GB == gpu.memory_bytes
    if not row["differs"]:
        assert float(row["bandwidth_gb_s"]) == pytest.approx(
            gpu.memory_bytes_per_s / GB, abs=float(row["rounding_gb_s"])
        )
    if row["fp8_tflops"]:
        assert float(row["fp8_tflops"]) == pytest.approx((fp8 or 0) / 1e12, abs=1)


def test_where_a_seller_prints_an_older_figure_the_note_says_so() -> None:
    differing = [row for row in rows("gpu_sheets.csv") if row["differs"]]

    assert ["B200"] == [row["name"] for row in differing]
    for row in differing:
        assert row["differs"] in CATALOGUE.get(row["gpu"]).note


def test_filters_hold_together() -> None:
    chosen = select_gpus(CATALOGUE.all, native_fp8=True, min_memory=Bytes(80 * GB))

    assert chosen
    assert all(spec.native_fp8 for spec in chosen)
    assert "h100-sxm" in {spec.id for spec in chosen}
    assert not {"a100-80g-sxm", "l40s"} & {spec.id for spec in chosen}


@pytest.mark.parametrize("wanted", [80 * GB, 80 * GIB])
def test_an_a100_80gb_has_80_gb_and_80_gib(wanted: int) -> None:
    chosen = select_gpus(CATALOGUE.all, min_memory=Bytes(wanted))

    assert "a100-80g-sxm" in {spec.id for spec in chosen}


def test_shared_memory_counts_as_what_is_usable() -> None:
    chosen = select_gpus(CATALOGUE.all, min_memory=Bytes(120 * GB), vendor="apple")

    assert ["m2-ultra-192g", "m3-ultra-512g"] == sorted(spec.id for spec in chosen)


def test_bandwidth_link_and_generation_filter() -> None:
    chosen = select_gpus(
        CATALOGUE.all,
        min_bandwidth=BytesPerSecond(4e12),
        fast_link=True,
        vendor="nvidia",
        architecture="hopper",
    )

    assert {"h20", "h20-141g", "h200-sxm", "h200-nvl", "gh200-96g", "gh200-144g"} == {
        spec.id for spec in chosen
    }


def test_a_filter_may_ask_for_what_is_missing() -> None:
    assert not any(
        spec.native_fp8 or spec.native_fp4 or spec.native_bf16
        for spec in select_gpus(
            CATALOGUE.all, native_fp8=False, native_fp4=False, native_bf16=False
        )
    )


@pytest.mark.parametrize("sort", list(GpuSort))
def test_sorting_loses_no_gpu(sort: GpuSort) -> None:
    chosen = select_gpus(CATALOGUE.all, sort=sort)

    assert Counter(spec.id for spec in CATALOGUE.all) == Counter(spec.id for spec in chosen)


def test_sorting_puts_the_largest_first_and_the_unknown_last() -> None:
    chosen = select_gpus(CATALOGUE.all, sort=GpuSort.FP8)
    known = [s.dense_fp8_flop_per_s for s in chosen if s.dense_fp8_flop_per_s is not None]

    assert sorted(known, reverse=True) == known
    assert all(spec.dense_fp8_flop_per_s is None for spec in chosen[len(known) :])


def test_power_sorts_the_thriftiest_first() -> None:
    assert 25 == select_gpus(CATALOGUE.all, sort=GpuSort.POWER)[0].power_watts


def test_the_nearest_alternative_is_the_same_silicon_elsewhere() -> None:
    gpu = CATALOGUE.get("h100-sxm")

    nearest = nearest_alternatives(gpu, CATALOGUE.all, most=3)

    assert "h800-sxm" == nearest[0].id
    assert 3 == len(nearest)
    assert gpu not in nearest


def test_an_alternative_exists_where_rates_are_unpublished() -> None:
    assert nearest_alternatives(CATALOGUE.get("m3-max-128g"), CATALOGUE.all)


def test_a_comparison_marks_the_best_of_each_line() -> None:
    specs = [CATALOGUE.get(gpu_id) for gpu_id in ("l40s", "rtx-4090", "a100-80g-sxm")]

    lines = {line.label: line for line in compare_gpus(specs)}

    assert (48e9, 24e9, 80e9) == lines["memory, nominal"].values
    assert (2,) == lines["memory, nominal"].best
    assert (0,) == lines["FP8, dense"].best
    assert lines["FP8, dense"].values[2] is None
    assert (0,) == lines["power"].best
    assert () == lines["FP4, dense"].best


def test_reading_the_catalogue_needs_no_numpy() -> None:
    code = (
        "import sys; from caudal.facts.gpus import gpu_catalogue; gpu_catalogue(); "
        "sys.exit('numpy' in sys.modules)"
    )

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
