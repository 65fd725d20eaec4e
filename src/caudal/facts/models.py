"""The model catalogue and the one door through which any name becomes a model.

Listing reads data/models/index.csv, which scripts/index_models.py makes from the 244 files
beside it; only the model that is asked for has its own file read.
"""

import csv
import json
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from io import StringIO
from pathlib import Path
from typing import Final

from caudal.facts.assumed import assumed_model
from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.model_names import NameIndex, short_name
from caudal.facts.readers.config import model_from_config
from caudal.facts.readers.files import (
    existing_path,
    has_config,
    is_explicit_path,
    modified_on,
    read_model_files,
)
from caudal.facts.readers.gguf_model import find_gguf, model_from_gguf
from caudal.facts.readers.hub_cache import cached_snapshot, is_hub_id, may_ask_hub
from caudal.facts.readers.reconcile import with_header
from caudal.facts.source import Source
from caudal.vocabulary.errors import (
    InvalidModelFileError,
    ModelNotDownloadedError,
    UnknownModelError,
    nearest_names,
)
from caudal.vocabulary.units import Tokens

__all__ = [
    "ModelCatalogue",
    "ModelEntry",
    "assumed_model",
    "hub_model",
    "model_catalogue",
    "resolve_model",
]

# Chosen: 1.58-bit weights take 0.2 bytes a parameter, 32-bit ones with MTP layers up to 4.6.
_BYTES_PER_PARAMETER: Final = (0.15, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A line of the catalogue: enough to list, to filter and to find a model."""

    id: str
    file: str  # in data/models/
    family: str
    total_parameters: int
    active_parameters: int
    max_context_tokens: Tokens | None
    weight_format: str  # of the published checkpoint; "" where it is not known
    licence: str
    confidence: ArchitectureConfidence
    aliases: tuple[str, ...]
    source: Source
    problem: str = ""  # why Caudal cannot plan it, "" where it can

    @property
    def short_name(self) -> str:
        """Return the name to type, such as "llama-3.1-70b"."""
        return short_name(self.id, self.aliases)


@dataclass(frozen=True)
class ModelCatalogue:
    """All models whose shape is bundled."""

    entries: tuple[ModelEntry, ...]

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex((n, (e.id, *e.aliases)) for n, e in enumerate(self.entries))

    def find(self, name: str) -> ModelEntry | None:
        """Return the entry that a short name, alias or hub id means, None if there is none."""
        position = self._index.find(name)
        return None if position is None else self.entries[position]

    def get(self, name: str) -> ModelEntry:
        """Return the entry that `name` means.

        Raises:
            UnknownModelError: there is none; the remedy lists the nearest names.
        """
        found = self.find(name)
        if found is None:
            hint = "List all with: caudal models."
            raise UnknownModelError(name, known=self._suggestions(), hint=hint)
        return found

    def select(
        self, *, family: str = "", most_parameters: int | None = None
    ) -> tuple[ModelEntry, ...]:
        """Return the entries whose id, family or alias contains `family`, in name order."""
        wanted = family.casefold()
        return tuple(
            entry
            for entry in self.entries
            if any(wanted in n.casefold() for n in (entry.id, entry.family, *entry.aliases))
            and (most_parameters is None or entry.total_parameters <= most_parameters)
        )

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return the short names that look most like `name`."""
        return nearest_names(name.rpartition("/")[2], self._suggestions())

    def load(self, model_id: str) -> ModelSpec:
        """Return the whole model of an entry, from its own file.

        Raises:
            UnknownModelError: no entry is named so.
            UnsupportedModelError: there is no rule for its architecture yet.
        """
        return _load(self.get(model_id))

    def _suggestions(self) -> list[str]:
        return [entry.short_name for entry in self.entries]


@cache
def model_catalogue() -> ModelCatalogue:
    """Return the bundled catalogue, its index read once a process."""
    return ModelCatalogue(read_index(_data("index.csv")))


def read_index(text: str) -> tuple[ModelEntry, ...]:
    """Return the entries of an index file, in its order."""
    return tuple(_entry(row) for row in csv.DictReader(StringIO(text)))


def resolve_model(text: str, *, online: bool = False) -> ModelSpec:
    """Return the model that `text` names: short name, alias, hub id, folder or model file.

    A folder or file may hold a config.json, with safetensors beside it whose headers give the
    exact bytes, or a GGUF model.

    A plain name is looked up in the catalogue first, then on disk, then (a hub id) in the cache
    that the hub's own client keeps; `./name` is always a path. With `online`, an id that is in
    none of these is asked of the hub, for metadata alone, if its client is installed and
    HF_HUB_OFFLINE is not set; a name of the catalogue never is.

    Raises:
        UnknownModelError: a short name that is not in the catalogue.
        ModelNotDownloadedError: a hub id whose files are not on this machine.
        InvalidModelFileError, UnavailableError, UnsupportedModelError: see the readers.
    """
    name = text.strip()
    if not name:
        raise InvalidModelFileError("No model is named.", remedy="Name one, or see: caudal models.")
    catalogue = model_catalogue()
    if not is_explicit_path(name):
        entry = catalogue.find(name)
        if entry is not None:
            return _load(entry)
    path = existing_path(name)
    if path is not None or is_explicit_path(name):
        return _from_disk(path or Path(name), name=name)
    snapshot = cached_snapshot(name)
    if snapshot is None and online and is_hub_id(name) and may_ask_hub():
        from caudal.facts.readers.hub_fetch import fetch_metadata  # noqa: PLC0415 - 20 ms, seldom

        snapshot = fetch_metadata(name)
    if snapshot is not None:
        return _from_disk(snapshot, name=name)
    if is_hub_id(name):
        raise _not_downloaded(name, catalogue.nearest(name))
    raise UnknownModelError(
        name,
        known=[entry.short_name for entry in catalogue.entries],
        hint="List all with: caudal models. A folder with a config.json is named as ./folder; "
        "if only the size is known, use --params 13B.",
    )


def hub_model(hub_id: str) -> ModelSpec:
    """Return the model of a hub id, from the hub client's cache or the hub; never from a path.

    For servers that strangers ask: `resolve_model` would look at a folder of that name first.

    Raises:
        UnknownModelError: it is no hub id.
        ModelNotDownloadedError: the hub does not have it, or may not be asked.
        InvalidModelFileError, UnavailableError, UnsupportedModelError: see the readers.
    """
    if not is_hub_id(hub_id):
        raise UnknownModelError(hub_id, known=(), hint="A hub id is organisation/name.")
    snapshot = cached_snapshot(hub_id)
    if snapshot is None and may_ask_hub():
        from caudal.facts.readers.hub_fetch import fetch_metadata  # noqa: PLC0415 - 20 ms, seldom

        snapshot = fetch_metadata(hub_id)
    if snapshot is None:
        raise _not_downloaded(hub_id, model_catalogue().nearest(hub_id))
    return _from_disk(snapshot, name=hub_id)


def _from_disk(path: Path, *, name: str) -> ModelSpec:
    gguf = None if has_config(path) else find_gguf(path)
    if gguf is not None:
        origin = Source(str(gguf), modified_on(gguf), "the user's own file")
        return model_from_gguf(gguf, source=origin, name=name)
    files = read_model_files(path)
    spec = model_from_config(
        files.config,
        name=files.config_file,
        source=Source(files.config_file, files.modified_on, "the user's own file"),
        confidence=ArchitectureConfidence.FILE,
    )
    note = "; ".join(filter(None, (spec.note, files.note)))
    spec = replace(spec, id=name, note=note)
    if files.header is not None:
        return with_header(spec, files.header, config_file=files.config_file)
    if files.checkpoint_bytes is None:
        return spec
    share = files.checkpoint_bytes / (spec.total_parameters + spec.mtp_parameters)
    low, high = _BYTES_PER_PARAMETER
    if not low <= share <= high:
        raise InvalidModelFileError(
            f"{files.config_file} makes {spec.total_parameters:,} parameters, but the index beside "
            f"it states {files.checkpoint_bytes:,} bytes in field metadata.total_size, "
            f"{share:.3g} bytes each.",
            remedy="Check that both files are of the same model.",
        )
    return replace(spec, checkpoint_bytes=files.checkpoint_bytes)


def _not_downloaded(hub_id: str, nearest: Iterable[str]) -> ModelNotDownloadedError:
    folder = hub_id.rpartition("/")[2]
    known = ", ".join(nearest)
    alike = f" Known without download: {known}." if known else ""
    return ModelNotDownloadedError(
        f"{hub_id} is neither in the catalogue nor on this machine.",
        remedy="Download its config.json (and model.safetensors.index.json if there is one) into "
        f"a folder: hf download {hub_id} --include config.json '*.safetensors.index.json' "
        f"--local-dir ./{folder}, then name the folder: ./{folder}. With caudal[hub] installed it "
        f"is looked up by itself.{alike}",
    )


@cache
def _load(entry: ModelEntry) -> ModelSpec:
    config = json.loads(_data(entry.file))
    assert isinstance(config, dict), f"data/models/{entry.file} is not an object"
    return model_from_config(
        config, name=entry.id, source=entry.source, confidence=entry.confidence
    )


def _entry(row: dict[str, str]) -> ModelEntry:
    context = row["max_context_tokens"]
    return ModelEntry(
        id=row["id"],
        file=row["file"],
        family=row["family"],
        total_parameters=int(row["total_parameters"]),
        active_parameters=int(row["active_parameters"]),
        max_context_tokens=Tokens(int(context)) if context else None,
        weight_format=row["weight_format"],
        licence=row["licence"],
        confidence=ArchitectureConfidence(row["confidence"]),
        aliases=tuple(row["aliases"].split("|")) if row["aliases"] else (),
        source=Source(row["source"], date.fromisoformat(row["read_on"])),
        problem=row["problem"],
    )


def _data(name: str) -> str:
    raw = pkgutil.get_data("caudal.facts", f"data/models/{name}")
    assert raw is not None, f"the wheel lacks data/models/{name}"
    return raw.decode("utf-8")
