"""Which GPU a list means: by name, by memory, by form factor, else by the instance.

A name that several cards share (`H100`: SXM, PCIe or NVL) is decided only by what the list itself
says; where it says nothing, the row is set aside with the candidates, never guessed.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.offers.batch import ReadingFacts
from caudal.vocabulary.errors import InvalidQuantityError, UnknownGpuError
from caudal.vocabulary.units import GIB, MIB, Bytes

# As in `checks`: lists print nominal GB, GiB or what the driver reports.
_MEMORY_TOLERANCE: Final = 0.10
_MIG: Final = re.compile(r"(?:\bMIG\b[\s_-]*)?\b(\d)g[._](\d{1,3})gb\b", re.IGNORECASE)
_FORMS: Final = {
    "sxm": re.compile(r"sxm|hgx|dgx|nvlink", re.IGNORECASE),
    "pcie": re.compile(r"pci", re.IGNORECASE),
    "nvl": re.compile(r"nvl(?!ink)", re.IGNORECASE),
}


class Identity(NamedTuple):
    """The GPU of a row, and the part of it that is sold."""

    gpu: GpuSpec
    fraction: Decimal
    mig_slice: str | None


def identify(
    name: str,
    *,
    memory_bytes: Bytes | None,
    hints: Sequence[str],
    instance: tuple[str, str],
    facts: ReadingFacts,
) -> Identity | str:
    """Return the GPU that a list calls `name`, or why it cannot be told.

    `memory_bytes` is of each GPU as the list says it, `hints` are other texts of the row that may
    name a form factor, `instance` the provider and its name for the machine.
    """
    own = facts.own_names.get(name.casefold())
    if own is not None:
        return Identity(facts.gpus[own], Decimal(1), None)
    slice_name, whole_name = _cut_mig(name)
    candidates = _named(whole_name)
    if isinstance(candidates, str):
        return candidates
    if slice_name is not None:
        return _sliced(slice_name, candidates, hints)
    fitting = _of_memory(candidates, memory_bytes)
    if not fitting:
        listed = ", ".join(f"{spec.id} {spec.memory_bytes / 1e9:.0f} GB" for spec in candidates)
        return f"{name!r} is {listed}; the row says {(memory_bytes or 0) / GIB:.1f} GiB"
    chosen = _narrowed(fitting, (name, *hints), facts.instances.get(instance))
    if len(chosen) == 1:
        return Identity(chosen[0], Decimal(1), None)
    listed = ", ".join(spec.id for spec in chosen)
    return f"{name!r} may be any of {listed}; say which with --gpu-name"


@lru_cache(maxsize=4096)
def _named(name: str) -> Sequence[GpuSpec] | str:
    try:
        return gpu_catalogue().resolve(re.sub(r"[:_/]+", " ", name).strip()).specs
    except (UnknownGpuError, InvalidQuantityError) as unknown:
        nearest = getattr(unknown, "nearest", ())
        near = f"; the nearest names are {', '.join(nearest[:3])}" if nearest else ""
        return f"the GPU {name!r} is not in the catalogue{near}"


def _cut_mig(name: str) -> tuple[str | None, str]:
    found = _MIG.search(name)
    if found is None:
        return None, name
    rest = (name[: found.start()] + " " + name[found.end() :]).replace("()", " ")
    return f"{found[1]}g.{found[2]}gb", re.sub(r"\bMIG\b", " ", rest, flags=re.IGNORECASE)


def _sliced(slice_name: str, specs: Sequence[GpuSpec], hints: Iterable[str]) -> Identity | str:
    """Return the identity of a MIG slice: its share of the memory, by the slice's own name.

    `3g.40gb` is 3 of 7 compute slices and 40 GB; the fraction is that of the memory.
    """
    size = Decimal(slice_name.partition(".")[2].removesuffix("gb"))
    able = [spec for spec in specs if spec.mig_slices and size < spec.memory_bytes / Decimal(10**9)]
    chosen = _narrowed(able, hints, None)
    if len(chosen) != 1:
        listed = ", ".join(spec.id for spec in chosen) or "no GPU"
        return f"the slice {slice_name} may be of {listed}"
    spec = chosen[0]
    return Identity(spec, round(size * 10**9 / spec.memory_bytes, 4), slice_name)


def _of_memory(specs: Sequence[GpuSpec], memory_bytes: Bytes | None) -> list[GpuSpec]:
    """Return the GPUs of this memory, the closest alone if one is within a MiB; all if unknown."""
    if memory_bytes is None:
        return list(specs)

    def distance(spec: GpuSpec) -> float:
        sizes = (spec.memory_bytes, spec.usable_bytes, spec.memory_bytes / 1e9 * GIB)
        return min(abs(memory_bytes - size) for size in sizes)

    near = [s for s in specs if distance(s) <= _MEMORY_TOLERANCE * s.memory_bytes]
    exact = [spec for spec in near if distance(spec) <= MIB]
    return exact or near


def _narrowed(
    specs: Sequence[GpuSpec], hints: Iterable[str], known_id: str | None
) -> Sequence[GpuSpec]:
    """Return the candidates left after the form factors that the row names, and the instance."""
    if len(specs) < 2:
        return specs
    text = " ".join(hints)
    for form, pattern in _FORMS.items():
        if pattern.search(text):
            narrowed = [spec for spec in specs if spec.id.endswith(form) or f"-{form}" in spec.id]
            if narrowed:
                return narrowed
    same = [spec for spec in specs if spec.id == known_id]
    return same or specs
