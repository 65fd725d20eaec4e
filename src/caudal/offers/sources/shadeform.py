"""Shadeform: one API over many clouds, as its `/v1/instances/types` answers.

Units (docs.shadeform.ai, API reference): hourly_price is in US cents of the whole instance;
memory_in_gb, storage_in_gb and vram_per_gpu_in_gb in GB; boot_time in seconds. An instance has an
offer in every region; where it is not available the stock is zero.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError
from caudal.offers.sources.json_values import JsonRow, parse_reply
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, More, Row
from caudal.vocabulary.units import GB, Bytes, Seconds

_CENTS: Final = 100


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a reply."""
    reply = JsonRow(parse_reply(text, name=reading.name))
    for position, item in enumerate(reply.rows("instance_types"), start=1):
        where = f"instance_types {position}"
        what = where
        try:
            what = f"{item.text('cloud')} {item.text('shade_instance_type')}"
            found = list(_offers(item))
        except CellError as broken:
            yield Row(where, what, str(broken))
            continue
        if not found:
            yield Row(where, what, "it is sold in no region")
        for one in found:
            yield Row(where, what, one)


def _offers(item: JsonRow) -> Iterator[Listed]:
    machine = item.inner("configuration")
    memory = machine.number("vram_per_gpu_in_gb")
    price = item.needed("hourly_price") / _CENTS
    if not machine.text("gpu_type"):
        raise CellError("it names no gpu_type")
    for place in item.rows("availability"):
        yield Listed(
            provider=item.text("cloud"),
            via="shadeform",
            instance=item.text("cloud_instance_type") or item.text("shade_instance_type"),
            gpu_name=machine.text("gpu_type"),
            gpu_count=machine.needed("num_gpus"),
            gpu_memory_bytes=Bytes(int(memory * GB)) if memory else None,
            hints=(machine.text("interconnect"), item.text("shade_instance_type")),
            term=Term.HOURLY,
            price=price,
            region=place.text("region"),
            more=_more(item, machine, available=place.flag("available")),
        )


def _more(item: JsonRow, machine: JsonRow, *, available: bool | None) -> More:
    ram, disk = machine.number("memory_in_gb"), machine.number("storage_in_gb")
    start = item.inner("boot_time").number("max_boot_in_sec")
    return {
        "vcpus": machine.count("vcpus"),
        "ram_bytes": Bytes(int(ram * GB)) if ram else None,
        "local_disk_bytes": Bytes(int(disk * GB)) if disk else None,
        "cold_start_s": Seconds(float(start)) if start else None,
        "stock": 0 if available is False else None,
        "interconnect": _interconnect(machine),
    }


def _interconnect(machine: JsonRow) -> str | None:
    """Return what joins the GPUs: NVLink where it is said, PCIe where it is said so of several."""
    if machine.flag("nvlink"):
        return "NVLink"
    said = machine.text("interconnect")
    if not said:
        return None
    several = machine.needed("num_gpus") > Decimal(1)
    return "PCIe" if "pci" in said.casefold() and several else None
