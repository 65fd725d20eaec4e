"""Rows of data/gpus.csv → GpuSpec, each figure checked; GB, TFLOPS and GB/s end here."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GB, GIB, Bytes, BytesPerSecond, FlopPerSecond

TERA: Final = 1e12
LICENCE: Final = "facts only"

# Chosen bounds: half and double of the extremes that are sold; beyond them a row is mistyped.
_MEMORY_GB: Final = (4.0, 1024.0)
_BANDWIDTH_GB_S: Final = (50.0, 20_000.0)
_TERA_PER_S: Final = (5.0, 40_000.0)
_WATTS: Final = (5.0, 3_000.0)
_LINK_GB_S: Final = (10.0, 4_000.0)
# Usable GiB over nominal GB: Apple keeps a quarter back, nobody gives more than the nominal GiB.
_USABLE_SHARE: Final = (0.7, 1.0)
# FP8 runs at once (Gaudi 3) or twice the 16-bit rate; FP4 at two, four (Blackwell), 6.2 (B300) or
# eight times (GeForce, whose 16-bit rate is halved by 32-bit accumulation).
_FP8_OVER_BF16: Final = (0.9, 2.1)
_FP4_OVER_BF16: Final = (1.5, 9.0)
_NATIVE_FP8_CAPABILITY: Final = (8, 9)  # Ada and Hopper onwards, NVIDIA CUDA programming guide
_YES_NO: Final = {"true": True, "false": False}


class _Row:
    """One row with its place, so that every complaint names file, row and field."""

    def __init__(self, values: Mapping[str, str | None], place: str) -> None:
        self._values = values
        self.place = f"{place} ({values.get('id') or 'no id'})"

    def wrong(self, field: str, why: str) -> InvalidFactError:
        return InvalidFactError(
            f"{self.place}, field {field}: {why}.", remedy="Correct the row in the data file."
        )

    def text(self, field: str) -> str:
        value = (self._values.get(field) or "").strip()
        if not value:
            raise self.wrong(field, "is empty")
        return value

    def optional_text(self, field: str) -> str:
        return (self._values.get(field) or "").strip()

    def optional_number(self, field: str, bounds: tuple[float, float]) -> float | None:
        text = self.optional_text(field)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(field, f"{text!r} is not a number") from None
        if not bounds[0] <= value <= bounds[1]:
            raise self.wrong(field, f"{text} is outside {bounds[0]:g} to {bounds[1]:g}")
        return value

    def number(self, field: str, bounds: tuple[float, float]) -> float:
        value = self.optional_number(field, bounds)
        if value is None:
            raise self.wrong(field, "is empty")
        return value

    def whole(self, field: str, bounds: tuple[int, int]) -> int:
        value = self.number(field, bounds)
        if value != int(value):
            raise self.wrong(field, f"{value:g} is not whole")
        return int(value)

    def flag(self, field: str) -> bool:
        text = self.text(field)
        if text not in _YES_NO:
            raise self.wrong(field, f"{text!r} is neither true nor false")
        return _YES_NO[text]

    def day(self, field: str) -> date:
        try:
            return date.fromisoformat(self.text(field))
        except ValueError:
            raise self.wrong(field, "is not a date such as 2026-11-30") from None


def read_gpu_rows(lines: Iterable[str], *, file: str) -> tuple[GpuSpec, ...]:
    """Return the GPUs of a CSV table in its order.

    Raises:
        InvalidFactError: a field is missing, out of range or contradicts another, or an id, a
            name or a column is doubled.
    """
    rows = [
        (_Row(values, f"{file}, line {number}"), values)
        for number, values in enumerate(csv.DictReader(lines), start=2)
    ]
    specs = tuple(_gpu(row) for row, _ in rows)
    for field, values in (("id", [s.id for s in specs]), ("name", [s.name for s in specs])):
        doubled = [value for value, times in Counter(values).items() if times > 1]
        if doubled:
            raise InvalidFactError(
                f"{file}, field {field}: {doubled[0]!r} stands twice.", remedy="Keep one of them."
            )
    known = {row.optional_text("id") for row, _ in rows if row.optional_text("memory_gib_usable")}
    return _with_estimated_memory(specs, known=known, file=file)


def _gpu(row: _Row) -> GpuSpec:
    memory_gb = row.number("memory_gb", _MEMORY_GB)
    usable_gib = row.optional_number(
        "memory_gib_usable", (_USABLE_SHARE[0] * memory_gb, _USABLE_SHARE[1] * memory_gb)
    )
    spec = GpuSpec(
        id=row.text("id"),
        name=row.text("name"),
        vendor=row.text("vendor"),
        architecture=row.text("architecture"),
        compute_capability=row.text("compute_capability_or_gfx"),
        memory_bytes=Bytes(round(memory_gb * GB)),
        usable_bytes=Bytes(round((usable_gib or 0) * GIB)),
        memory_type=row.text("memory_type"),
        memory_bytes_per_s=BytesPerSecond(row.number("bandwidth_gb_s", _BANDWIDTH_GB_S) * GB),
        dense_bf16_flop_per_s=_tera(row, "fp16_dense_tflops"),
        dense_fp8_flop_per_s=_tera(row, "fp8_dense_tflops"),
        dense_int8_flop_per_s=_tera(row, "int8_dense_tops"),
        dense_fp4_flop_per_s=_tera(row, "fp4_dense_tflops"),
        native_fp8=row.flag("fp8_support"),
        native_fp4=row.flag("fp4_support"),
        native_bf16=row.flag("bf16_support"),
        power_watts=row.optional_number("tdp_w", _WATTS),
        interconnect=row.text("interconnect"),
        link_bytes_per_s=_link(row),
        pcie_generation=(row.whole("pcie_gen", (3, 6)) if row.optional_text("pcie_gen") else None),
        mig_slices=row.whole("mig", (0, 7)),
        ecc=row.flag("ecc"),
        form_factor=row.text("form_factor"),
        release_year=row.whole("release_year", (2010, 2035)),
        source=Source(row.text("source"), row.day("read_on"), LICENCE),
        note=row.optional_text("notes"),
        verified=row.text("verified"),
        names=tuple(row.text("names").split("|")),
    )
    _check_against_itself(row, spec)
    return spec


def _tera(row: _Row, field: str) -> FlopPerSecond | None:
    value = row.optional_number(field, _TERA_PER_S)
    return None if value is None else FlopPerSecond(value * TERA)


def _link(row: _Row) -> BytesPerSecond:
    """Return one direction of the link: makers print both directions together."""
    kind = row.text("interconnect")
    both = row.optional_number("interconnect_gb_s", _LINK_GB_S)
    if (both is None) != (kind == "none"):
        raise row.wrong("interconnect_gb_s", f"{both} does not go with interconnect {kind!r}")
    return BytesPerSecond((both or 0) * GB / 2)


def _check_against_itself(row: _Row, spec: GpuSpec) -> None:
    """Refuse figures that contradict each other."""
    bf16 = spec.dense_bf16_flop_per_s
    for field, rate, supported, bounds in (
        ("fp8_dense_tflops", spec.dense_fp8_flop_per_s, spec.native_fp8, _FP8_OVER_BF16),
        ("fp4_dense_tflops", spec.dense_fp4_flop_per_s, spec.native_fp4, _FP4_OVER_BF16),
    ):
        if rate is None:
            continue
        if not supported:
            raise row.wrong(field, "has a figure, but the support flag is false")
        if bf16 is not None and not bounds[0] <= rate / bf16 <= bounds[1]:
            raise row.wrong(field, f"is {rate / bf16:.2f} times the 16-bit rate")
    if spec.native_fp4 and not spec.native_fp8:
        raise row.wrong("fp4_support", "is true without fp8_support")
    if spec.vendor == "NVIDIA":
        major, dot, minor = spec.compute_capability.partition(".")
        if not (dot and major.isdigit() and minor.isdigit()):
            raise row.wrong("compute_capability_or_gfx", "is not of the form 9.0")
        if spec.native_fp8 != ((int(major), int(minor)) >= _NATIVE_FP8_CAPABILITY):
            raise row.wrong("fp8_support", f"contradicts compute capability {major}.{minor}")


def _with_estimated_memory(
    specs: Sequence[GpuSpec], *, known: set[str], file: str
) -> tuple[GpuSpec, ...]:
    """Return `specs` with usable memory estimated where no driver figure is known.

    The lowest share of usable GiB in nominal GB among the maker's devices of the same kind
    (own or unified memory), of the same generation where there are such: low, so that a fit is
    not promised that fails. The note says so.
    """
    filled: list[GpuSpec] = []
    for spec in specs:
        if spec.id in known:
            filled.append(spec)
            continue
        kind = [
            other
            for other in specs
            if other.id in known
            and (other.vendor, other.unified_memory) == (spec.vendor, spec.unified_memory)
        ]
        siblings = [other for other in kind if other.architecture == spec.architecture] or kind
        if not siblings:
            raise InvalidFactError(
                f"{file} ({spec.id}), field memory_gib_usable: is empty, and there is no device "
                "of its kind to estimate it from.",
                remedy="Enter what the driver reports as total memory.",
            )
        share, like = min((s.usable_bytes / s.memory_bytes, s.name) for s in siblings)
        said = f"usable memory estimated: {share * GB / GIB:.1%} of the nominal GiB, as {like}"
        filled.append(
            replace(
                spec,
                usable_bytes=Bytes(int(share * spec.memory_bytes)),
                usable_is_estimate=True,
                note="; ".join(part for part in (spec.note, said) if part),
            )
        )
    return tuple(filled)
