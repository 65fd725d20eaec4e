"""`caudal gpus`: the catalogue as a list, one entry in full, or some side by side."""

from collections.abc import Sequence
from typing import Final

import click

from caudal.cli.figures import UNKNOWN, figure, gibibytes, gigabytes, tera
from caudal.cli.output import print_document, print_heading, print_text, terminal_width
from caudal.cli.quantity_types import BANDWIDTH, HOW_QUANTITIES_ARE_WRITTEN, SIZE
from caudal.cli.table import Column, render_pairs, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand, TaughtGroup
from caudal.documents.gpus import list_gpus, show_gpus
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import GpuSort, compare_gpus, gpu_catalogue
from caudal.vocabulary.units import GB, GIB, Bytes, BytesPerSecond

COLUMNS: Final = (
    Column(title="GPU"),
    Column(title="memory", unit="GB", numeric=True),
    Column(title="usable", unit="GiB", numeric=True, priority=60),
    Column(title="bandwidth", unit="GB/s", numeric=True),
    Column(title="BF16", unit="TFLOP/s", numeric=True, priority=90),
    Column(title="FP8", unit="TFLOP/s", numeric=True, priority=80),
    Column(title="INT8", unit="TOP/s", numeric=True, priority=20),
    Column(title="FP4", unit="TFLOP/s", numeric=True, priority=50),
    Column(title="link", unit="GB/s", numeric=True, priority=40),
    Column(title="power", unit="W", numeric=True, priority=30),
    Column(title="year", numeric=True, priority=25),
    Column(title="architecture", priority=15),
)
RATES_NOTE: Final = (
    "Makers' figures: dense rates with 32-bit accumulation (no sparsity); memory in GB as sold, "
    "usable in GiB as the driver reports it; link in one direction; – where no figure is published "
    "or the unit does not exist."
)


DOOR_UNITS: Final[dict[str, tuple[str, float]]] = {
    "bytes": ("GB", GB),
    "bytes/s": ("GB/s", GB),
    "FLOP/s": ("TFLOP/s", 1e12),
    "W": ("W", 1),
}
GIB_UNIT: Final = ("GiB", GIB)


@click.group(
    "gpus",
    cls=TaughtGroup,
    default="list",
    examples=(
        ("caudal gpus --fp8 --min-memory 80GB --sort bandwidth", "those that may serve a 70B"),
        ("caudal gpus show h100", "every variant of a name, with sources"),
        ("caudal gpus compare l40s rtx4090 a100-80gb", "side by side"),
    ),
    notes=(HOW_QUANTITIES_ARE_WRITTEN,),
)
def gpus_group() -> None:
    """List, show and compare GPUs by their makers' figures."""


@gpus_group.command(
    "list",
    cls=TaughtCommand,
    examples=(("caudal gpus list --vendor amd --sort memory", "AMD's, largest memory first"),),
    notes=(HOW_QUANTITIES_ARE_WRITTEN,),
)
@click.option("--fp8", is_flag=True, help="Only those that multiply FP8 natively.")
@click.option("--fp4", is_flag=True, help="Only those that multiply FP4 natively.")
@click.option("--bf16", is_flag=True, help="Only those that multiply BF16 natively.")
@click.option("--min-memory", type=SIZE, help="At least this memory: 80GB or 80GiB.")
@click.option("--min-bandwidth", type=BANDWIDTH, help="At least this bandwidth: 900GB/s.")
@click.option("--vendor", help="The maker, such as nvidia or amd.")
@click.option("--architecture", help="The generation, such as hopper or ada.")
@click.option("--fast-link", is_flag=True, help="Only those with a link faster than PCIe.")
@click.option(
    "--sort",
    type=click.Choice([sort.value for sort in GpuSort]),
    default=GpuSort.MEMORY.value,
    show_default=True,
    help="Order, largest first (power: smallest first; name: A to Z).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(
    *,
    fp8: bool,
    fp4: bool,
    bf16: bool,
    fast_link: bool,
    min_memory: Bytes | None,
    min_bandwidth: BytesPerSecond | None,
    vendor: str | None,
    architecture: str | None,
    sort: str,
    as_json: bool,
) -> None:
    """List the GPUs that have what is asked for."""
    document = list_gpus(
        fp8=fp8,
        fp4=fp4,
        bf16=bf16,
        fast_link=fast_link,
        min_memory=min_memory,
        min_bandwidth=min_bandwidth,
        vendor=vendor,
        architecture=architecture,
        sort=GpuSort(sort),
    )
    if as_json:
        print_document("gpus list", document)
        return
    found, known = document.gpus, len(gpu_catalogue().all)
    width = terminal_width()
    print_text(render_table(COLUMNS, [_row(gpu) for gpu in found], width=width))
    print_text("")
    print_text("\n".join(wrap_text(f"{len(found)} of {known} GPUs. {RATES_NOTE}", width)))


@gpus_group.command(
    "show",
    cls=TaughtCommand,
    examples=(
        ("caudal gpus show h100", "PCIe, SXM and NVL"),
        ('caudal gpus show "NVIDIA H100 80GB HBM3"', "the name that nvidia-smi prints"),
    ),
)
@click.argument("gpu")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show_command(*, gpu: str, as_json: bool) -> None:
    """Show all that is known about GPU, and where it was read."""
    document = show_gpus([gpu])
    if as_json:
        print_document("gpus show", document)
        return
    _print_side_by_side(document.gpus, document.notes)
    for spec in document.gpus:
        print_text("")
        _print_origin(spec)


@gpus_group.command(
    "compare",
    cls=TaughtCommand,
    examples=(("caudal gpus compare l40s rtx4090 a100-80gb", "three cards side by side"),),
)
@click.argument("gpus", nargs=-1, required=True, metavar="GPU...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare_command(*, gpus: tuple[str, ...], as_json: bool) -> None:
    """Lay the GPUs side by side; a name with several variants brings all of them."""
    document = show_gpus(gpus)
    if as_json:
        print_document("gpus compare", document)
        return
    _print_side_by_side(document.gpus, document.notes)


def _row(gpu: GpuSpec) -> list[str]:
    return [
        gpu.id,
        gigabytes(gpu.memory_bytes),
        gibibytes(gpu.usable_bytes),
        figure(gpu.memory_bytes_per_s / GB),
        tera(gpu.dense_bf16_flop_per_s),
        tera(gpu.dense_fp8_flop_per_s),
        tera(gpu.dense_int8_flop_per_s),
        tera(gpu.dense_fp4_flop_per_s),
        figure(gpu.link_bytes_per_s / GB),
        figure(gpu.power_watts),
        str(gpu.release_year),
        gpu.architecture,
    ]


def _figure_rows(specs: Sequence[GpuSpec]) -> list[list[str]]:
    """Return the compared figures, the best of each line with a star."""
    rows = []
    for line in compare_gpus(specs):
        unit, factor = GIB_UNIT if "usable" in line.label else DOOR_UNITS[line.unit]
        cells = [
            figure(None if value is None else value / factor) + (" *" if at in line.best else "")
            for at, value in enumerate(line.values)
        ]
        rows.append([f"{line.label} [{unit}]", *cells])
    return rows


def _properties(gpu: GpuSpec) -> dict[str, str]:
    """Return what is not a matter of more or less, by the name of its row."""
    bf16 = gpu.dense_bf16_flop_per_s
    return {
        "name": gpu.name,
        "architecture": f"{gpu.architecture} {gpu.compute_capability}".strip(),
        "memory": gpu.memory_type,
        "16-bit FLOP per byte": figure(bf16 / gpu.memory_bytes_per_s if bf16 else None),
        "multiplies natively": _native(gpu),
        "link": gpu.interconnect or UNKNOWN,
        "PCIe generation": figure(gpu.pcie_generation),
        "form": gpu.form_factor or UNKNOWN,
        "MIG slices": figure(gpu.mig_slices),
        "ECC": "yes" if gpu.ecc else "no",
        "released": str(gpu.release_year),
    }


def _native(gpu: GpuSpec) -> str:
    formats = {"BF16": gpu.native_bf16, "FP8": gpu.native_fp8, "FP4": gpu.native_fp4}
    return ", ".join(name for name, native in formats.items() if native) or UNKNOWN


def _print_side_by_side(specs: Sequence[GpuSpec], notes: Sequence[str]) -> None:
    width = terminal_width()
    columns = [Column(title="", wraps=True), *(Column(title=spec.id, wraps=True) for spec in specs)]
    values = [_properties(spec) for spec in specs]
    rows = _figure_rows(specs)
    rows += [[name, *(value[name] for value in values)] for name in values[0]]
    print_text(render_table(columns, rows, width=width))
    star = "* marks the best of a line. " if len(specs) > 1 else ""
    for note in (*notes, star + RATES_NOTE):
        print_text("")
        print_text("\n".join(wrap_text(note, width)))


def _print_origin(gpu: GpuSpec) -> None:
    pairs = [("source", f"{gpu.source.where} (read {gpu.source.read_on})")]
    pairs += [("checked", gpu.verified)] if gpu.verified else []
    pairs += [("note", gpu.note)] if gpu.note else []
    print_heading(gpu.id)
    print_text(render_pairs(pairs, width=terminal_width()))
