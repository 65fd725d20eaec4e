"""Models in the cache of the hub's own client: found and read, never fetched."""

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from caudal.facts.readers.json_file import read_bytes
from caudal.facts.readers.safetensors import HEADER_MOST_BYTES, read_safetensors_stream
from caudal.facts.readers.weight_file import WeightHeader, joined
from caudal.vocabulary.errors import CaudalError

_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_CONFIG_NAME: Final = "config.json"


def is_hub_id(text: str) -> bool:
    """Return whether `text` has the form of a hub id, `organisation/name`."""
    return _HUB_ID.fullmatch(text) is not None


def cached_snapshot(hub_id: str, *, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder in which the hub's own client keeps a downloaded model, None if none.

    Read only. The cache is `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`;
    the snapshot is the one that `refs/main` names, else the newest that has a configuration.
    """
    if not is_hub_id(hub_id):
        return None
    settings = os.environ if environment is None else environment
    root = hub_cache(settings) / f"models--{hub_id.replace('/', '--')}"
    snapshots = [root / "snapshots" / name for name in names_in(root / "snapshots")]
    having = [folder for folder in snapshots if os.path.lexists(folder / _CONFIG_NAME)]
    main = _main_revision(root / "refs" / "main") if having else ""
    if main in {folder.name for folder in having}:
        return root / "snapshots" / main
    return max(having, key=lambda folder: (folder.lstat().st_mtime, folder.name), default=None)


def _main_revision(path: Path) -> str:
    """Return the revision that a branch file of the cache names, "" if it names none."""
    try:
        raw, _ = read_bytes(path, shown=path, most_bytes=1024)
    except CaudalError:
        return ""
    text = raw.decode("ascii", errors="replace").strip()
    return text if _REVISION.fullmatch(text) else ""


def hub_cache(settings: Mapping[str, str]) -> Path:
    """Return the folder of downloaded models, as the hub's client finds it."""
    if settings.get("HF_HUB_CACHE"):
        return Path(settings["HF_HUB_CACHE"])
    if settings.get("HF_HOME"):
        return Path(settings["HF_HOME"]) / "hub"
    home = settings.get("HOME") or str(Path("~").expanduser())
    return Path(settings.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "huggingface" / "hub"


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, none where it cannot be listed."""
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def may_ask_hub(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the hub's client is installed and HF_HUB_OFFLINE does not forbid its use."""
    settings = os.environ if environment is None else environment
    offline = settings.get("HF_HUB_OFFLINE", "").casefold() in {"1", "true", "yes", "on"}
    return not offline and importlib.util.find_spec("huggingface_hub") is not None


def is_snapshot(folder: Path) -> bool:
    """Return whether a folder is one of those that the hub's client makes of a revision."""
    return folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--")


def header_path(snapshot: Path, name: str, *, environment: Mapping[str, str] | None = None) -> Path:
    """Return where the header of a weight file is kept: the client's folder for others' assets.

    Eight bytes with the file's size, then its beginning.
    """
    settings = os.environ if environment is None else environment
    if settings.get("HF_ASSETS_CACHE"):
        assets = Path(settings["HF_ASSETS_CACHE"])
    elif settings.get("HF_HOME"):
        assets = Path(settings["HF_HOME"]) / "assets"
    else:
        assets = hub_cache({**settings, "HF_HUB_CACHE": ""}).parent / "assets"
    repository = snapshot.parent.parent.name.removeprefix("models--")
    return assets / "caudal" / repository / snapshot.name / f"{name}.header"


def cached_header(snapshot: Path, names: Iterable[str]) -> WeightHeader | None:
    """Return the headers that were fetched of a snapshot's files, None unless all were.

    Raises:
        InvalidModelFileError: one is damaged; the message names its file.
    """
    if not is_snapshot(snapshot):
        return None
    parts = []
    for name in names:
        path = header_path(snapshot, name)
        try:
            raw, _ = read_bytes(path, shown=path, most_bytes=HEADER_MOST_BYTES + 16)
        except CaudalError:
            return None
        size = int.from_bytes(raw[:8], "little")
        parts.append(read_safetensors_stream(BytesIO(raw[8:]), size=size, file=name))
    return joined(parts) if parts else None
