"""What one GPU can do at best, by its maker's figures."""

from dataclasses import dataclass
from typing import Final

from caudal.facts.source import Source
from caudal.vocabulary.units import Bytes, BytesPerSecond, FlopPerSecond

# One direction of a 16-lane slot, by PCIe generation, as makers round it (half of 32 GB/s, ...).
_SLOT_BYTES_PER_S: Final = {3: 16e9, 4: 32e9, 5: 64e9, 6: 128e9}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """What one GPU can do at best, by its maker's figures; calibration says what it reaches.

    Rates are dense (makers print twice these, with sparsity) with 32-bit accumulation.
    None means that the maker publishes no figure or the unit does not exist.
    """

    id: str  # the catalogue's key, such as "h100-sxm"
    name: str  # as people read it, such as "NVIDIA H100 SXM5 80GB"
    vendor: str
    architecture: str  # the generation, such as "Hopper"
    compute_capability: str  # "9.0" for NVIDIA, "gfx942" for AMD, the maker's word elsewhere
    memory_bytes: Bytes  # nominal, for show: a vendor's 80 GB as 80e9
    usable_bytes: Bytes  # what the driver reports as total: for fit
    memory_type: str
    memory_bytes_per_s: BytesPerSecond
    dense_bf16_flop_per_s: FlopPerSecond | None  # of FP16 where `native_bf16` is false
    dense_fp8_flop_per_s: FlopPerSecond | None
    dense_int8_flop_per_s: FlopPerSecond | None
    dense_fp4_flop_per_s: FlopPerSecond | None
    native_fp8: bool
    native_fp4: bool
    native_bf16: bool
    power_watts: float | None
    interconnect: str  # "NVLink 4", "PCIe", "Infinity Fabric" ..., "none"
    link_bytes_per_s: BytesPerSecond  # to its peers, one direction; 0 where there is no link
    pcie_generation: int | None
    mig_slices: int
    ecc: bool
    form_factor: str
    release_year: int
    source: Source
    note: str = ""
    verified: str = ""  # whether the figures were re-read in the maker's document
    names: tuple[str, ...] = ()  # patterns of `gpu_names`: how people write it
    mig_profile: str = ""  # such as "3g.40gb" where this is a slice of a card
    usable_is_estimate: bool = False  # no driver figure is known; `note` says how it was derived

    @property
    def has_fast_link(self) -> bool:
        """Whether peers are joined by something faster than a PCIe slot of 16 lanes."""
        return self.link_bytes_per_s > _SLOT_BYTES_PER_S[self.pcie_generation or 4]

    @property
    def unified_memory(self) -> bool:
        """Whether the memory is shared with the host's processor."""
        return "unified memory" in self.form_factor
