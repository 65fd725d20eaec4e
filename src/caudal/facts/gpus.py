"""The GPU catalogue: look-up by any name, choice by properties, neighbours, comparison."""

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from math import log

from caudal.facts.gpu import GpuSpec
from caudal.facts.gpu_names import GpuNames, short_name, sizes_in, split_count
from caudal.facts.gpu_rows import read_gpu_rows
from caudal.facts.mig import profiles_of, sliced, split_profile
from caudal.vocabulary.errors import UnknownGpuError
from caudal.vocabulary.quantities import format_bytes_gb, parse_gpu_counts
from caudal.vocabulary.units import Bytes, BytesPerSecond


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuChoice:
    """What a user's GPU option means: one or more GPUs, and how many of them if that was said."""

    specs: tuple[GpuSpec, ...]
    counts: tuple[int, ...] | None
    note: str  # how an ambiguous name was read; "" where there was no doubt


@dataclass(frozen=True)
class GpuCatalogue:
    """All known GPUs in the order of the data file."""

    all: tuple[GpuSpec, ...]

    @cached_property
    def _by_id(self) -> dict[str, GpuSpec]:
        return {spec.id: spec for spec in self.all}

    @cached_property
    def _names(self) -> GpuNames:
        return GpuNames(self.all)

    def get(self, gpu_id: str) -> GpuSpec:
        """Return the GPU with this id.

        Raises:
            UnknownGpuError: there is none; the remedy lists the nearest.
        """
        found = self._by_id.get(gpu_id)
        if found is None:
            raise UnknownGpuError(gpu_id, known=self._by_id)
        return found

    def resolve(self, text: str) -> GpuChoice:
        """Return every GPU that `text` may mean, with counts such as `H100:1..8` or `8x H100`.

        `H100/3g.40gb` is a slice of one (Multi-Instance GPU).

        Raises:
            UnknownGpuError: no GPU is written so; the remedy lists the nearest names, and the
                sizes that exist where only the memory or the slice differs.
            InvalidQuantityError: the number of GPUs makes no sense.
        """
        name, counts = split_count(text)
        name, profile = split_profile(name)
        specs = self._names.meant(name)
        if not specs:
            raise self._unknown(name or text)
        if profile is not None:
            whole, specs = specs, sliced(specs, profile)
            if not specs:
                raise UnknownGpuError(text, known=(), hint=_slices_hint(whole))
        return GpuChoice(
            specs=specs,
            counts=parse_gpu_counts(counts, name=name) if counts or ":" in text else None,
            note=_reading(name, specs),
        )

    def _unknown(self, name: str) -> UnknownGpuError:
        others = self._names.of_any_size(name) if sizes_in(name) else ()
        if others:
            listed = ", ".join(spec.name for spec in others)
            return UnknownGpuError(name, known=(), hint=f"No such size; there is {listed}.")
        known = [short_name(spec) for spec in self.all]
        return UnknownGpuError(name, known=known, hint="List all with: caudal gpus.")


class GpuSort(StrEnum):
    """What a list of GPUs is ordered by, largest first, save name (A to Z) and power."""

    NAME = "name"
    MEMORY = "memory"
    BANDWIDTH = "bandwidth"
    BF16 = "bf16"
    FP8 = "fp8"
    LINK = "link"
    POWER = "power"
    YEAR = "year"


@cache
def gpu_catalogue() -> GpuCatalogue:
    """Return the bundled catalogue, read and checked once a process."""
    raw = pkgutil.get_data("caudal.facts", "data/gpus.csv")
    assert raw is not None, "the wheel lacks data/gpus.csv"
    return GpuCatalogue(read_gpu_rows(raw.decode("utf-8").splitlines(), file="gpus.csv"))


def select_gpus(
    specs: Sequence[GpuSpec],
    *,
    native_fp8: bool | None = None,
    native_fp4: bool | None = None,
    native_bf16: bool | None = None,
    fast_link: bool | None = None,
    min_memory: Bytes | None = None,
    min_bandwidth: BytesPerSecond | None = None,
    vendor: str | None = None,
    architecture: str | None = None,
    sort: GpuSort = GpuSort.NAME,
) -> tuple[GpuSpec, ...]:
    """Return the GPUs that have all the properties asked for, in the order of `sort`.

    Memory counts as its nominal or its usable size, whichever is more, so that both `80GB` and
    `80GiB` find an A100 80GB; memory shared with the host counts as what is usable. An unknown
    figure sorts last.
    """
    wishes: tuple[tuple[bool | None, Callable[[GpuSpec], bool]], ...] = (
        (native_fp8, lambda spec: spec.native_fp8),
        (native_fp4, lambda spec: spec.native_fp4),
        (native_bf16, lambda spec: spec.native_bf16),
        (fast_link, lambda spec: spec.has_fast_link),
    )
    chosen = [
        spec
        for spec in specs
        if all(wish is None or has(spec) == wish for wish, has in wishes)
        and (min_memory is None or _memory_for_choice(spec) >= min_memory)
        and (min_bandwidth is None or spec.memory_bytes_per_s >= min_bandwidth)
        and (vendor is None or spec.vendor.casefold() == vendor.casefold())
        and (architecture is None or spec.architecture.casefold() == architecture.casefold())
    ]
    return tuple(sorted(chosen, key=_sort_key(sort)))


def nearest_alternatives(
    gpu: GpuSpec, specs: Sequence[GpuSpec], *, most: int = 5
) -> tuple[GpuSpec, ...]:
    """Return the GPUs most like `gpu`, nearest first.

    The distance is the sum over usable memory, bandwidth and 16-bit rate of |ln(a / b)|: what
    decides fit, decode and prefill. A rate that either side does not publish counts as ln 2
    (chosen: as far as a factor of two).
    """
    others = [spec for spec in specs if spec.id != gpu.id]
    return tuple(sorted(others, key=lambda other: (_distance(gpu, other), other.id))[:most])


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigure:
    """One line of a comparison: a figure of each GPU in base units, and which are best."""

    label: str
    unit: str  # "bytes", "bytes/s", "FLOP/s", "W"
    values: tuple[float | None, ...]  # in the order of the GPUs compared
    best: tuple[int, ...]  # positions of the best value; none where fewer than two are known


def compare_gpus(specs: Sequence[GpuSpec]) -> tuple[ComparedFigure, ...]:
    """Return the figures of `specs` line by line, for a table with a column a GPU."""
    lines: tuple[tuple[str, str, Callable[[GpuSpec], float | None], bool], ...] = (
        ("memory, nominal", "bytes", lambda spec: spec.memory_bytes, True),
        ("memory, usable", "bytes", lambda spec: spec.usable_bytes, True),
        ("bandwidth", "bytes/s", lambda spec: spec.memory_bytes_per_s, True),
        ("16 bit, dense", "FLOP/s", lambda spec: spec.dense_bf16_flop_per_s, True),
        ("FP8, dense", "FLOP/s", lambda spec: spec.dense_fp8_flop_per_s, True),
        ("INT8, dense", "FLOP/s", lambda spec: spec.dense_int8_flop_per_s, True),
        ("FP4, dense", "FLOP/s", lambda spec: spec.dense_fp4_flop_per_s, True),
        ("link, one direction", "bytes/s", lambda spec: spec.link_bytes_per_s, True),
        ("power", "W", lambda spec: spec.power_watts, False),
    )
    return tuple(
        _compared(label, unit, tuple(figure(spec) for spec in specs), larger_is_better=larger)
        for label, unit, figure, larger in lines
    )


def _slices_hint(specs: Sequence[GpuSpec]) -> str:
    """Return which slices there are of the cards that a name may mean."""
    known = {spec.name: profiles_of(spec) for spec in specs}
    if not any(known.values()):
        return f"{' and '.join(known)} cannot be sliced."
    listed = (f"{name}: {', '.join(slices)}" for name, slices in known.items() if slices)
    return f"Slices of {'; '.join(listed)}."


def _compared(
    label: str, unit: str, values: tuple[float | None, ...], *, larger_is_better: bool
) -> ComparedFigure:
    known = [value for value in values if value is not None]
    best: tuple[int, ...] = ()
    if len(known) > 1:
        goal = max(known) if larger_is_better else min(known)
        best = tuple(place for place, value in enumerate(values) if value == goal)
    return ComparedFigure(label=label, unit=unit, values=values, best=best)


def _memory_for_choice(spec: GpuSpec) -> int:
    if spec.unified_memory:
        return spec.usable_bytes
    return max(spec.memory_bytes, spec.usable_bytes)


def _sort_key(sort: GpuSort) -> Callable[[GpuSpec], tuple[float, str]]:
    figures: dict[GpuSort, Callable[[GpuSpec], float | None]] = {
        GpuSort.NAME: lambda _: 0.0,
        GpuSort.MEMORY: lambda spec: spec.usable_bytes,
        GpuSort.BANDWIDTH: lambda spec: spec.memory_bytes_per_s,
        GpuSort.BF16: lambda spec: spec.dense_bf16_flop_per_s,
        GpuSort.FP8: lambda spec: spec.dense_fp8_flop_per_s,
        GpuSort.LINK: lambda spec: spec.link_bytes_per_s,
        GpuSort.POWER: lambda spec: None if spec.power_watts is None else -spec.power_watts,
        GpuSort.YEAR: lambda spec: spec.release_year,
    }
    figure = figures[sort]

    def key(spec: GpuSpec) -> tuple[float, str]:
        value = figure(spec)
        return (float("inf") if value is None else -value, spec.name.casefold())

    return key


def _distance(gpu: GpuSpec, other: GpuSpec) -> float:
    distance = abs(log(gpu.usable_bytes / other.usable_bytes))
    distance += abs(log(gpu.memory_bytes_per_s / other.memory_bytes_per_s))
    mine, its = gpu.dense_bf16_flop_per_s, other.dense_bf16_flop_per_s
    return distance + (log(2) if mine is None or its is None else abs(log(mine / its)))


def _reading(name: str, specs: Sequence[GpuSpec]) -> str:
    """Return how a name was read where it left something open, "" where it did not."""
    if len(specs) > 1:
        listed = ", ".join(spec.name for spec in specs[:-1])
        return f"{name} may be {listed} or {specs[-1].name}: all are considered."
    (spec,) = specs
    if spec.vendor == "Apple" and not sizes_in(name) and name != spec.id:
        size = format_bytes_gb(spec.memory_bytes)
        return f"{name} is sold with several memory sizes: {size} is assumed."
    return ""
