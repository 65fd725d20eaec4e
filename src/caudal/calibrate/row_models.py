"""Which architecture a measured row's model name stands for: a mapping file and a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.models import model_catalogue
from caudal.facts.readers.config import model_from_config
from caudal.facts.source import Source
from caudal.vocabulary.errors import (
    InvalidFactError,
    InvalidModelFileError,
    UnavailableError,
    UnknownModelError,
)

MOST_BYTES: Final = 16 * 2**20  # chosen: the largest architecture file is under 100 kB


@dataclass(frozen=True, slots=True)
class RowModels:
    """Architectures by the names that rows use.

    A name is looked up in the mapping (by precision where that has a file of its own), then as
    `<org>__<name>.json` in the folder, then in the bundled catalogue.
    """

    folder: Path
    mapping: Mapping[str, Mapping[str, object]]
    mapping_folder: Path
    _loaded: dict[Path, ModelSpec] = field(default_factory=dict)

    def model(self, name: str, precision: str | None = None) -> ModelSpec:
        """Return the model of a row.

        Raises:
            UnknownModelError: no file is known for the name.
            InvalidModelFileError: the file is not a model's.
        """
        entry = self.mapping.get(name)
        path = self._mapped(entry, precision) if entry is not None else None
        path = path or self._existing(self.folder / f"{name.replace('/', '__')}.json")
        if path is not None:
            return self._load(path, name=name)
        found = model_catalogue().find(name)
        if found is None:
            raise UnknownModelError(
                name,
                known=self.mapping,
                hint=f"Map it in a *_models.json, or put its file into {self.folder}.",
            )
        return model_catalogue().load(found.id)

    def _mapped(self, entry: Mapping[str, object], precision: str | None) -> Path | None:
        special = entry.get("by_precision")
        chosen: object = entry
        if isinstance(special, Mapping):
            chosen = special.get(str(precision), entry)
        name = chosen.get("file") if isinstance(chosen, Mapping) else None
        if not isinstance(name, str):
            return None
        places = (self.mapping_folder / name, self.folder / name, self.folder / Path(name).name)
        return next((place for place in places if place.is_file()), None)

    @staticmethod
    def _existing(path: Path) -> Path | None:
        return path if path.is_file() else None

    def _load(self, path: Path, *, name: str) -> ModelSpec:
        if path not in self._loaded:
            config = _read_object(path)
            model_id = config.get("_id")
            self._loaded[path] = model_from_config(
                config,
                name=model_id if isinstance(model_id, str) else name,
                source=Source(str(path), datetime.fromtimestamp(path.stat().st_mtime, UTC).date()),
                confidence=ArchitectureConfidence.COPY,
            )
        return self._loaded[path]


def read_row_models(folder: Path, *, rows: Path) -> RowModels:
    """Return the architectures for a file of rows.

    The mapping is `<kind>_models.json` (memory.jsonl: memory_models.json), searched for in the
    folder, in the one above, and beside the rows; without one, names are file names.

    Raises:
        UnavailableError: the folder is none.
        InvalidFactError: the mapping is damaged.
    """
    if not folder.is_dir():
        raise UnavailableError(
            f"{folder} is no folder.", remedy="Give the folder that holds the architecture files."
        )
    kind = rows.name.partition(".")[0]
    names = (f"{kind}_models.json", "memory_models.json", "perf_models.json")
    for name in names:
        for place in (folder, folder.parent, rows.parent):
            path = place / name
            if path.is_file():
                return RowModels(folder, _mapping(path), place)
    return RowModels(folder, {}, folder)


def _mapping(path: Path) -> Mapping[str, Mapping[str, object]]:
    models = _read_object(path).get("models")
    if not isinstance(models, dict) or not all(isinstance(item, dict) for item in models.values()):
        raise InvalidFactError(
            f"{path} has no object 'models' of objects.",
            remedy='Write {"models": {"<name of the row>": {"file": "<path>"}}}.',
        )
    return models


def _read_object(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be read: {error.strerror}.", remedy="Check the file."
        ) from error
    if len(raw) > MOST_BYTES:
        raise InvalidModelFileError(
            f"{path} has more than {MOST_BYTES:,} bytes.", remedy="Give a config.json."
        )
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidModelFileError(
            f"{path} is no JSON: {error}.", remedy="Check that the file is complete."
        ) from error
    if not isinstance(found, dict):
        raise InvalidModelFileError(f"{path} is no JSON object.", remedy="Give a config.json.")
    return found
