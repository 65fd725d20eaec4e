"""Slices of a GPU (Multi-Instance GPU): `A100-80GB/3g.40gb` is a GPU of its own, without peers."""

import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import floor
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.vocabulary.units import GB, GIB, Bytes, BytesPerSecond, FlopPerSecond

# `H100/1g.10gb`, `H100 MIG 1g.10gb`, `H100-1g.10gb`; +me adds media engines, no memory.
_PROFILE: Final = re.compile(
    r"[\s/:@_-]+(?:mig[\s:_-]*)?(\d)g\.(\d{1,3})gb(?:\+me(?:\.all)?)?\s*$", re.IGNORECASE
)
# `nvidia-smi mig -lgip` shows 9.75, 19.62, 39.50 and 79.25 GiB on an H100 of 79.65: 0.2 to 0.4 less
# than the share. Source: jbarrow.ai/field_notes/nvidia-mig (2026-06-11), read 2026-11-30.
_SLICE_RESERVE: Final = 0.3 * GIB
_NEARLY_GB: Final = 1.5  # profile names round, and count GB on some cards and GiB on others


@dataclass(frozen=True, slots=True, kw_only=True)
class MigShare:
    """One size of slice: of which cards, and which part of one it is."""

    instances: int  # the most slices of the card that it belongs to
    compute_slices: int
    memory: Fraction

    @property
    def compute(self) -> Fraction:
        """Return the part of the card's multiprocessors."""
        return Fraction(self.compute_slices, self.instances)


@cache
def mig_shares() -> tuple[MigShare, ...]:
    """Return the bundled sizes of slices, read once a process."""
    raw = pkgutil.get_data("caudal.facts", "data/mig.csv")
    assert raw is not None, "the wheel lacks data/mig.csv"
    rows = [line.split(",") for line in raw.decode("utf-8").splitlines()[1:]]
    return tuple(
        MigShare(instances=int(row[0]), compute_slices=int(row[1]), memory=Fraction(row[2]))
        for row in rows
    )


def split_profile(text: str) -> tuple[str, tuple[int, int] | None]:
    """Return a GPU's name and the slice behind it as (compute slices, GB), None without one."""
    found = _PROFILE.search(text)
    if found is None:
        return text, None
    return text[: found.start()], (int(found[1]), int(found[2]))


def profiles_of(spec: GpuSpec) -> tuple[str, ...]:
    """Return the names of a card's slices, smallest first; none where it cannot be sliced."""
    return tuple(_name(spec, share) for share in mig_shares() if share.instances == spec.mig_slices)


def sliced(specs: Sequence[GpuSpec], profile: tuple[int, int]) -> tuple[GpuSpec, ...]:
    """Return the slice of each card that has one of this size, as a GPU of its own.

    Memory and its bandwidth are the memory share, rates the share of multiprocessors. Slices have
    no way to reach each other, whatever joins the cards.
    """
    slices, size_gb = profile
    return tuple(
        _slice(spec, share)
        for spec in specs
        for share in mig_shares()
        if share.instances == spec.mig_slices
        and share.compute_slices == slices
        and _is_nearly(spec, share, size_gb)
    )


def _is_nearly(spec: GpuSpec, share: MigShare, size_gb: int) -> bool:
    sizes = (spec.memory_bytes / GB, spec.usable_bytes / GIB)
    return any(abs(float(share.memory) * size - size_gb) < _NEARLY_GB for size in sizes)


def _name(spec: GpuSpec, share: MigShare) -> str:
    return f"{share.compute_slices}g.{floor(share.memory * spec.memory_bytes / GB + 0.5)}gb"


def _slice(spec: GpuSpec, share: MigShare) -> GpuSpec:
    part = float(share.compute)

    def rate(whole: FlopPerSecond | None) -> FlopPerSecond | None:
        return None if whole is None else FlopPerSecond(whole * part)

    profile = _name(spec, share)
    return replace(
        spec,
        id=f"{spec.id}/{profile}",
        name=f"{spec.name} MIG {profile}",
        memory_bytes=Bytes(round(spec.memory_bytes * share.memory)),
        usable_bytes=Bytes(round(spec.usable_bytes * share.memory - _SLICE_RESERVE)),
        usable_is_estimate=True,
        memory_bytes_per_s=BytesPerSecond(spec.memory_bytes_per_s * float(share.memory)),
        dense_bf16_flop_per_s=rate(spec.dense_bf16_flop_per_s),
        dense_fp8_flop_per_s=rate(spec.dense_fp8_flop_per_s),
        dense_int8_flop_per_s=rate(spec.dense_int8_flop_per_s),
        dense_fp4_flop_per_s=rate(spec.dense_fp4_flop_per_s),
        interconnect="none",
        link_bytes_per_s=BytesPerSecond(0.0),
        mig_slices=0,
        mig_profile=profile,
    )
