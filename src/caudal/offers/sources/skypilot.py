"""SkyPilot's catalogue: `<cloud>/vms.csv`, a row an instance and zone, prices per hour.

Columns (schema of skypilot-org/skypilot-catalog, README): InstanceType, vCPUs, MemoryGiB,
AcceleratorName, AcceleratorCount, GpuInfo, Price, SpotPrice, Region, AvailabilityZone. The file
does not name its cloud: it is taken from the folder, or told with --provider.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError, clean, number
from caudal.offers.sources.csv_rows import CsvRow, csv_rows
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, More, Row, without_repeats
from caudal.vocabulary.units import GIB, MIB, Bytes

COLUMNS: Final = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region")
_SIZE: Final = re.compile(r"SizeInMiB['\"]?:\s*(\d+)")
_NAME: Final = re.compile(r"['\"]Name['\"]:\s*['\"]([^'\"]{1,80})")


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers: on demand once a region, spot once a price."""
    return without_repeats(_rows(text, reading))


def _rows(text: str, reading: Reading) -> Iterator[Row | None]:
    for line in csv_rows(text, name=reading.name, required=COLUMNS):
        where = f"line {line.line}"
        what = " ".join(
            line.get(c) for c in ("InstanceType", "AcceleratorName", "Region") if line.get(c)
        )
        if line.problem:
            yield Row(where, what, line.problem)
            continue
        if not line.get("AcceleratorName").strip():
            yield None
            continue
        try:
            found = list(_offers(line, reading))
        except CellError as broken:
            yield Row(where, what, str(broken))
            continue
        for listed in found:
            yield Row(where, what, listed)
        if not found:
            yield Row(where, what, "it has no price above zero")


def _offers(line: CsvRow, reading: Reading) -> Iterator[Listed]:
    info = line.get("GpuInfo") or line.get("GPUInfo")
    size, name = _SIZE.search(info), _NAME.search(info)
    count = number(line.get("AcceleratorCount"), what="number of GPUs") or Decimal(0)
    for term, column in ((Term.HOURLY, "Price"), (Term.SPOT, "SpotPrice")):
        price = number(line.get(column), what="price")
        if price is not None and price > 0:
            yield Listed(
                provider=reading.provider,
                instance=clean(line.get("InstanceType")),
                gpu_name=clean(line.get("AcceleratorName")),
                gpu_count=count,
                gpu_memory_bytes=Bytes(int(size[1]) * MIB) if size else None,
                hints=(name[1],) if name else (),
                term=term,
                price=price,
                region=clean(line.get("Region")),
                more=_more(line),
            )


def _more(line: CsvRow) -> More:
    cores = number(line.get("vCPUs"), what="number of vCPUs")
    memory = number(line.get("MemoryGiB"), what="memory")
    return {
        "vcpus": int(cores) if cores else None,
        "ram_bytes": Bytes(int(memory * GIB)) if memory else None,
    }
