"""What runs on what: GPU generation × engine and version × format, read from `data/support.csv`.

The first row that matches answers. A combination without a row is unknown, which is not a no;
only a format that the engine cannot read at all is refused without a row.
"""

import csv
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from caudal.facts.engine import EngineSpec
from caudal.facts.engines import version_within
from caudal.facts.gpu import GpuSpec
from caudal.facts.precision import KvFormat, Support, SupportAnswer, WeightFormat
from caudal.facts.precisions import weight_formats
from caudal.vocabulary.errors import InvalidFactError

GENERATIONS: Final = (
    "pascal",
    "volta",
    "turing",
    "ampere",
    "ada",
    "hopper",
    "blackwell",  # compute capability 10.x
    "thor",  # 11.0
    "blackwell-rtx",  # 12.x
    "cdna2",
    "cdna3",
    "cdna4",
    "rdna3",
    "rdna3.5",
    "rdna4",
    "apple",
    "xe",
    "gaudi",
    "tpu",
    "neuron",
)
_FILE: Final = "support.csv"
_NVIDIA: Final = {
    6: "pascal",
    7: "volta",
    8: "ampere",
    9: "hopper",
    10: "blackwell",
    11: "thor",
    12: "blackwell-rtx",
}
_NVIDIA_EXCEPTIONS: Final = {"7.5": "turing", "8.9": "ada"}
_BY_VENDOR: Final = {"apple": "apple", "google": "tpu", "aws": "neuron"}
_INTEL: Final = {"gaudi2": "gaudi", "gaudi3": "gaudi"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportRow:
    """One row of the table: versions and generations that give one answer."""

    kind: str  # "weight" or "kv"
    engine: str
    first_version: str  # inclusive, "" for the oldest
    last_version: str  # inclusive, "" for the newest
    formats: frozenset[str]
    generations: frozenset[str]
    answer: SupportAnswer

    def holds(self, version: str) -> bool:
        """Return whether the row speaks of `version`; "" is the newest."""
        if not version:
            return not self.last_version
        return version_within(version, first=self.first_version, last=self.last_version)


def weight_support(
    gpu: GpuSpec, weight_format: WeightFormat, engine: EngineSpec, *, version: str | None = None
) -> SupportAnswer:
    """Return what `engine` on `gpu` makes of a weight format.

    Without `version` the newest of the engine's range is meant. Shapes are left out: a supported
    format may still be refused for a matrix that does not fit its kernel's tiles.
    """
    newest = engine.last_version if version is None else version
    return _answer("weight", gpu, weight_format.name, engine, newest)


def kv_support(
    gpu: GpuSpec, kv_format: KvFormat, engine: EngineSpec, *, version: str | None = None
) -> SupportAnswer:
    """Return what `engine` on `gpu` makes of a KV format; see `weight_support`."""
    newest = engine.last_version if version is None else version
    return _answer("kv", gpu, kv_format.name, engine, newest)


def generation_of(gpu: GpuSpec) -> str:
    """Return the generation that the table knows a GPU by, "" where it knows none."""
    capability = gpu.compute_capability.strip().casefold()
    major = capability.split(".", maxsplit=1)[0]
    vendor = gpu.vendor.strip().casefold()
    if vendor == "nvidia" and major.isdigit():
        return _NVIDIA_EXCEPTIONS.get(capability) or _NVIDIA.get(int(major), "")
    if vendor == "amd":
        return gpu.architecture.strip().casefold()
    if vendor == "intel":
        return _INTEL.get(capability, "xe")
    return _BY_VENDOR.get(vendor, "")


@cache
def support_rows() -> tuple[SupportRow, ...]:
    """Return the whole table, in the order in which it answers."""
    raw = pkgutil.get_data("caudal.facts", f"data/{_FILE}")
    assert raw is not None, f"{_FILE} is not part of the installation"
    gguf = frozenset(entry.name for entry in weight_formats() if entry.is_gguf)
    reader = csv.DictReader(raw.decode("utf-8").splitlines())
    return tuple(_row(row, gguf, line) for line, row in enumerate(reader, start=2))


def _answer(kind: str, gpu: GpuSpec, name: str, engine: EngineSpec, version: str) -> SupportAnswer:
    found = _answer_of_table(kind, generation_of(gpu), name, engine.name, version)
    if found is not None:
        return found
    running = f"{engine.title} {version or 'in its newest version'}"
    if name not in (engine.weight_formats if kind == "weight" else engine.kv_formats):
        return SupportAnswer(
            Support.UNSUPPORTED, f"{running} does not read {name}.", engine.source.where
        )
    return SupportAnswer(
        Support.UNKNOWN, f"No source was found on {name} with {running} on {gpu.architecture}."
    )


@cache
def _answer_of_table(
    kind: str, generation: str, name: str, engine_name: str, version: str
) -> SupportAnswer | None:
    for row in _index().get((kind, engine_name, name), ()):
        if generation in row.generations and row.holds(version):
            return row.answer
    return None


@cache
def _index() -> Mapping[tuple[str, str, str], list[SupportRow]]:
    index: dict[tuple[str, str, str], list[SupportRow]] = {}
    for row in support_rows():
        for name in row.formats:
            index.setdefault((row.kind, row.engine, name), []).append(row)
    return index


def _row(row: Mapping[str, str], gguf: frozenset[str], line: int) -> SupportRow:
    formats = frozenset(row["formats"].split())
    generations = frozenset(row["generations"].split())
    strange = generations - set(GENERATIONS)
    if strange or row["kind"] not in {"weight", "kv"} or not row["source"]:
        raise InvalidFactError(
            f"{_FILE}: line {line} has an unknown generation or kind, or no source: "
            f"{', '.join(sorted(strange)) or row['kind']}.",
            remedy=f"Generations are {', '.join(GENERATIONS)}.",
        )
    return SupportRow(
        kind=row["kind"],
        engine=row["engine"],
        first_version=row["first_version"],
        last_version=row["last_version"],
        formats=(formats - {"gguf"}) | gguf if "gguf" in formats else formats,
        generations=generations,
        answer=SupportAnswer(Support(row["support"]), row["reason"], row["source"]),
    )
