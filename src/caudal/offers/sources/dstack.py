"""dstack: what a project's backends offer, from `dstack offer --json` or the server's `get_plan`.

Both name backend, region, instance, resources (cpus, memory_mib, one entry a GPU with name and
memory_mib, disk.size_mib, spot) and the price in $/h of the whole instance. `get_plan` answers
`POST /api/project/PROJECT/runs/get_plan`; the offers stand under `job_plans`.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError
from caudal.offers.sources.json_values import JsonRow, parse_reply
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import Listed, Row
from caudal.vocabulary.units import MIB, Bytes

_NOT_TO_BE_HAD: Final = frozenset({"not_available", "no_quota", "busy"})
PLAN_REQUEST: Final = json.dumps(
    {
        "run_spec": {
            "configuration": {
                "type": "task",
                "commands": [":"],
                "image": "scratch",
                "user": "root",
                "resources": {"gpu": "1.."},
            },
            "profile": {"name": "default", "spot_policy": "auto"},
            "ssh_key_pub": "",
        },
        "max_offers": 10_000,
    }
)


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a reply."""
    reply = JsonRow(parse_reply(text, name=reading.name))
    planned = [offer for job in reply.rows("job_plans") for offer in job.rows("offers")]
    found = [*reply.rows("offers"), *planned]
    for position, item in enumerate(found, start=1):
        where, what = f"offer {position}", f"offer {position}"
        try:
            what = f"{item.text('backend')} {_name(item)} {item.text('region')}"
            yield _row(item, where=where, what=what)
        except CellError as broken:
            yield Row(where, what, str(broken))


def _name(item: JsonRow) -> str:
    return item.text("instance_type") or item.inner("instance").text("name")


def _row(item: JsonRow, *, where: str, what: str) -> Row | None:
    resources = item.inner("resources") if item.has("resources") else None
    if resources is None:
        resources = item.inner("instance").inner("resources")
    gpus = list(resources.rows("gpus"))
    if not gpus:
        return None
    names = {gpu.text("name") for gpu in gpus}
    if len(names) > 1:
        return Row(where, what, f"it holds different GPUs: {', '.join(sorted(names))}")
    memory = gpus[0].number("memory_mib")
    ram, disk = resources.number("memory_mib"), resources.inner("disk").number("size_mib")
    spot = resources.flag("spot") or item.flag("spot")
    listed = Listed(
        provider=item.text("backend"),
        instance=_name(item),
        gpu_name=gpus[0].text("name"),
        gpu_count=Decimal(len(gpus)),
        gpu_memory_bytes=Bytes(int(memory * MIB)) if memory else None,
        term=Term.SPOT if spot else Term.HOURLY,
        price=item.needed("price"),
        region=item.text("region"),
        more={
            "vcpus": resources.count("cpus"),
            "ram_bytes": Bytes(int(ram * MIB)) if ram else None,
            "local_disk_bytes": Bytes(int(disk * MIB)) if disk else None,
            "stock": 0 if item.text("availability") in _NOT_TO_BE_HAD else None,
        },
    )
    return Row(where, what, listed)
