"""What one GPU can do at best, by its maker's figures."""

from dataclasses import dataclass

from caudal.facts.source import Source
from caudal.vocabulary.units import Bytes, BytesPerSecond, FlopPerSecond


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """What one GPU can do at best, by its maker's figures; calibration says what it reaches.

    Rates are dense (makers print twice these, with sparsity) with 32-bit accumulation.
    None means that the maker publishes no figure or the unit does not exist.
    """

    id: str  # the catalogue's key, such as "h100-sxm"
    name: str  # as people read it, such as "NVIDIA H100 SXM 80GB"
    vendor: str
    architecture: str  # the generation, such as "Hopper"
    compute_capability: str  # "9.0" for NVIDIA, "gfx942" for AMD, "" where there is none
    memory_bytes: Bytes  # nominal, for show: a vendor's 80 GB as 80e9
    usable_bytes: Bytes  # what the driver reports as total: for fit
    memory_type: str
    memory_bytes_per_s: BytesPerSecond
    dense_bf16_flop_per_s: FlopPerSecond | None
    dense_fp8_flop_per_s: FlopPerSecond | None
    dense_int8_flop_per_s: FlopPerSecond | None
    dense_fp4_flop_per_s: FlopPerSecond | None
    native_fp8: bool
    native_fp4: bool
    native_bf16: bool
    power_watts: int | None
    interconnect: str  # "NVLink4", "PCIe", "Infinity Fabric" ...
    link_bytes_per_s: BytesPerSecond  # to its peers, one direction
    pcie_generation: int | None
    mig_slices: int
    ecc: bool
    form_factor: str
    release_year: int
    source: Source
    note: str = ""
    verified: str = ""  # whether the figures were re-read in the maker's document

    @property
    def has_fast_link(self) -> bool:
        """Whether peers are joined by something faster than PCIe."""
        return self.interconnect != "" and not self.interconnect.lower().startswith("pcie")
