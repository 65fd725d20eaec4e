"""What makes a row impossible: facts that contradict the GPU catalogue."""

from decimal import Decimal
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.offers.batch import UsualPrice
from caudal.vocabulary.units import GB

# Lists print a GPU's memory as nominal GB, as GiB or as what the driver reports: up to 7.4 %
# below nominal. Chosen: a tenth, which no confusion of two cards of one name stays within.
_MEMORY_TOLERANCE: Final = Decimal("0.10")

# Boards that carry more than eight in one node: a2-megagpu-16g (Google Cloud, A100 40 GB),
# DGX-2 (V100 32 GB), trn1.32xlarge (16 Trainium), inf2.48xlarge (12 Inferentia2).
_LARGEST_NODES: Final = {
    "a100-40g-sxm": 16,
    "v100-32g": 16,
    "trainium1": 16,
    "trainium2": 16,
    "inferentia2": 12,
}
# HGX and OAM boards carry eight; PCIe servers are built with up to ten double-width cards and,
# single-width or on risers, sixteen (chosen: the largest that vendors list).
_LARGEST_BOARD: Final = 8
_LARGEST_PCIE: Final = 16
# Chosen: a tenth of the cheapest and ten times the dearest GPU-hour of our lists (T4 spot at $0.15,
# GB200 at $54). What lies outside is a price in cents, of a month, or of a whole cluster.
_LEAST_USD: Final = Decimal("0.015")
_MOST_USD: Final = Decimal(540)


def price_problem(usd_per_gpu_hour: Decimal) -> str | None:
    """Return why a price cannot be that of a GPU-hour, None where it can."""
    if not usd_per_gpu_hour.is_finite() or usd_per_gpu_hour <= 0:
        return "it has no price above zero"
    if _LEAST_USD <= usd_per_gpu_hour <= _MOST_USD:
        return None
    return f"${usd_per_gpu_hour:.4g} per GPU-hour is not credible: the unit may be another"


# Chosen: over the bundled offers of 2026-11-30 the dearest of a GPU is at most 9.3 times its median
# and the cheapest at least 1/11 of it; cents are a hundredfold, a month is 720. Cents of a cheap
# offer are near the median of dear ones, so the dearest counts too.
_FAR_ABOVE_MEDIAN: Final = 15
_FAR_ABOVE_DEAREST: Final = 5
_FAR_BELOW_MEDIAN: Final = 40


def unusual_price(usd_per_gpu_hour: Decimal, usual: UsualPrice | None) -> str | None:
    """Return why a price cannot be in the stated unit, given what others ask for the GPU."""
    if usual is None:
        return None
    ratio = usd_per_gpu_hour / usual.median
    if ratio > _FAR_ABOVE_MEDIAN or usd_per_gpu_hour > _FAR_ABOVE_DEAREST * usual.dearest:
        return (
            f"${usd_per_gpu_hour:.4g} per GPU-hour is {ratio:.0f} times what others ask: is it in"
            " cents, or of a month?"
        )
    if ratio * _FAR_BELOW_MEDIAN < 1:
        return f"${usd_per_gpu_hour:.4g} per GPU-hour is 1/{1 / ratio:.0f} of what others ask"
    return None


def largest_node(gpu: GpuSpec) -> int:
    """Return the most GPUs of this kind that one machine holds."""
    if gpu.id in _LARGEST_NODES:
        return _LARGEST_NODES[gpu.id]
    return _LARGEST_PCIE if gpu.form_factor.startswith("PCIe") else _LARGEST_BOARD


def impossibility(
    gpu: GpuSpec, *, count: int, fraction: Decimal, memory_gb_each: Decimal | None
) -> str | None:
    """Return why such an instance cannot exist, None where nothing speaks against it.

    `memory_gb_each` is what the list says of each (part of a) GPU; None skips that check.
    """
    if count < 1:
        return f"it holds {count} GPUs"
    if not fraction.is_finite() or not 0 < fraction <= 1:
        return f"the part of a GPU is {fraction}, not within 0 and 1"
    most = largest_node(gpu)
    if count > most:
        return f"one machine holds at most {most} {gpu.name}, the row says {count}"
    return None if memory_gb_each is None else _memory_conflict(gpu, fraction, memory_gb_each)


def _memory_conflict(gpu: GpuSpec, fraction: Decimal, memory_gb_each: Decimal) -> str | None:
    expected = fraction * gpu.memory_bytes / GB
    near = _MEMORY_TOLERANCE * expected
    if memory_gb_each.is_finite() and abs(memory_gb_each - expected) <= near:
        return None
    part = "" if fraction == 1 else f"{fraction} of a "
    return f"{part}{gpu.name} has {expected.normalize():f} GB, the row says {memory_gb_each} GB"
