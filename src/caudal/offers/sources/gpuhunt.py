"""gpuhunt's catalogue: its CSV files, one a provider, and live through its library.

Columns (dstackai/gpuhunt, `RawCatalogItem`): instance_name, location, price in $/h of the whole
instance, cpu, memory in GB, gpu_count, gpu_name, gpu_memory in GB each, spot, disk_size in GB.
gpuhunt calls SXM and PCIe cards by one name: what the instance does not tell apart is set aside.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from importlib import import_module
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError, clean, count, flag, number
from caudal.offers.sources.csv_rows import CsvRow, csv_rows
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, Row
from caudal.vocabulary.errors import UnavailableError
from caudal.vocabulary.units import GB, GIB, Bytes

COLUMNS: Final = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
_WRITTEN: Final = (
    *("provider", "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name"),
    *("gpu_memory", "spot", "disk_size"),
)


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a file."""
    for line in csv_rows(text, name=reading.name, required=COLUMNS):
        where = f"line {line.line}"
        named = ("provider", "instance_name", "gpu_name", "location")
        what = " ".join(filter(None, map(line.get, named)))
        if line.problem:
            yield Row(where, what, line.problem)
            continue
        try:
            yield _row(line, reading, where=where, what=what)
        except CellError as broken:
            yield Row(where, what, str(broken))


def _row(line: CsvRow, reading: Reading, *, where: str, what: str) -> Row | None:
    gpus = count(line.get("gpu_count"), what="number of GPUs") or 0
    if gpus == 0 and not line.get("gpu_name").strip():
        return None
    price = number(line.get("price"), what="price")
    if price is None:
        return Row(where, what, "it has no price above zero")
    memory = number(line.get("gpu_memory"), what="GPU memory")
    ram = number(line.get("memory"), what="memory")
    disk = number(line.get("disk_size"), what="disk")
    cores = number(line.get("cpu"), what="number of CPUs")
    listed = Listed(
        provider=clean(line.get("provider")) or reading.provider,
        instance=clean(line.get("instance_name")),
        gpu_name=clean(line.get("gpu_name")),
        gpu_count=Decimal(gpus),
        gpu_memory_bytes=Bytes(int(memory * GIB)) if memory else None,
        term=Term.SPOT if flag(line.get("spot"), what="spot") else Term.HOURLY,
        price=price,
        region=clean(line.get("location")),
        more={
            "vcpus": int(cores) if cores else None,
            "ram_bytes": Bytes(int(ram * GB)) if ram else None,
            "local_disk_bytes": Bytes(int(disk * GB)) if disk else None,
        },
    )
    return Row(where, what, listed)


def live_catalogue(query: Callable[[], Iterable[object]] | None = None) -> str:
    """Return what the gpuhunt library answers now, as the text of a file with a provider column.

    Raises:
        UnavailableError: the library is not installed, or its download failed.
    """
    items = (query or _library())()
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=_WRITTEN, extrasaction="ignore")
    writer.writeheader()
    for item in items:
        values = asdict(item) if is_dataclass(item) and not isinstance(item, type) else {}
        writer.writerow({k: "" if v is None else v for k, v in values.items()})
    return out.getvalue()


def _library() -> Callable[[], Iterable[object]]:
    try:
        ask = import_module("gpuhunt").query
    except ImportError as missing:
        raise UnavailableError(
            "The library gpuhunt is not installed.", remedy="pip install 'caudal[gpuhunt]'"
        ) from missing

    def query() -> Iterable[object]:
        try:
            found: Iterable[object] = ask(min_gpu_count=1)
        except Exception as broken:
            raise UnavailableError(
                f"gpuhunt did not answer: {type(broken).__name__}.", remedy="Try again later."
            ) from broken
        return found

    return query
