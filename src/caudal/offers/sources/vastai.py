"""Vast.ai: offers of a marketplace of hosts, as its search (`/api/v0/bundles/`) answers.

Units (docs.vast.ai, `search offers`): dph_base and dph_total $/h of the whole offer, without and
with the disk asked for; min_bid $/h of the whole offer, interruptible; gpu_ram MiB of each GPU;
cpu_ram MB of the host; disk_space GB; storage_cost $/GB and month; inet_up_cost $/GB; inet_up
Mb/s; bw_nvlink GB/s; reliability2 0 to 1. The month of storage is taken as 720 h, as gpuhunt does.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError
from caudal.offers.sources.json_values import JsonRow, parse_reply, rows_of
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, More, Row
from caudal.vocabulary.units import GB, MB, MIB, Bytes, BytesPerSecond

_STORAGE_MONTH_H: Final = 720
_COUNTRY: Final = re.compile(r"(?:^|,)\s*([A-Z]{2})$")  # "Sweden, SE"
_BIT: Final = 8


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a reply, on demand and interruptible; rented ones are counted only."""
    reply = parse_reply(text, name=reading.name)
    listed = list(JsonRow(reply).rows("offers")) or list(rows_of(reply))
    for position, item in enumerate(listed, start=1):
        where = f"offer {position}"
        try:
            what = f"{item.text('num_gpus')} x {item.text('gpu_name')}, offer {item.text('id')}"
            if not item.text("gpu_name") or item.flag("rented"):
                yield None
                continue
            found = list(_offers(item))
        except CellError as broken:
            yield Row(where, f"offer {position}", str(broken))
            continue
        for one in found:
            yield Row(where, what, one)


def _offers(item: JsonRow) -> Iterator[Listed]:
    base = item.number("dph_base")
    bid = item.number("min_bid")
    on_demand = base if base is not None else item.needed("dph_total")
    for term, price in ((Term.HOURLY, on_demand), (Term.SPOT, bid)):
        if price is None:
            continue
        yield Listed(
            provider="vastai",
            instance=_instance(item),
            gpu_name=item.text("gpu_name"),
            gpu_count=item.needed("num_gpus"),
            gpu_memory_bytes=_bytes(item.number("gpu_ram"), MIB),
            term=term,
            price=price,
            region=item.text("geolocation"),
            country=_country(item.text("geolocation")),
            more=_more(item, with_disk=base is None and term is Term.HOURLY),
        )


def _instance(item: JsonRow) -> str:
    """Return a name that lasts: an offer gets a new number often, a machine keeps its own."""
    machine = item.text("machine_id")
    return f"machine {machine}" if machine else f"offer {item.text('id')}"


def _more(item: JsonRow, *, with_disk: bool) -> More:
    gpus = item.count("num_gpus")
    cores = item.number("cpu_cores_effective")
    storage, upload = item.number("storage_cost"), item.number("inet_up_cost")
    speed, score = item.number("inet_up"), item.number("reliability2")
    if score is None:
        score = item.number("reliability")
    bridge = item.number("bw_nvlink")
    verification = item.text("verification")
    return {
        "vcpus": int(cores) if cores else None,
        "ram_bytes": _host_memory(item),
        "stock": 0 if item.flag("rentable") is False else gpus,
        "egress_usd_per_byte": None if upload is None else upload / GB,
        "interconnect": None if bridge is None else ("NVLink" if bridge else "PCIe"),
        "local_disk_bytes": None,  # disk_space is what may be bought, not what is included
        "storage_usd_per_byte_hour": None if storage is None else storage / GB / _STORAGE_MONTH_H,
        "stopped_usd_per_hour": None,
        "network_bytes_per_s": BytesPerSecond(float(speed) * MB / _BIT) if speed else None,
        "reliability": None if score is None else float(score),
        "verified": verification == "verified" if verification else None,
        "note": "price with the disk asked for" if with_disk else "",
    }


def _host_memory(item: JsonRow) -> Bytes | None:
    """Return the part of the host's memory that goes with the offer: by its part of the cores."""
    memory, mine, cores = (
        item.number(key) for key in ("cpu_ram", "cpu_cores_effective", "cpu_cores")
    )
    if not memory or not mine or not cores:
        return None
    return Bytes(int(memory * MB * min(mine / cores, Decimal(1))))


def _bytes(value: Decimal | None, unit: int) -> Bytes | None:
    return Bytes(int(value * unit)) if value else None


def _country(place: str) -> str | None:
    found = _COUNTRY.search(place)
    return found[1] if found else None
