"""Models that the hub's own client has downloaded: found in its cache, never fetched."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from caudal.facts.readers.json_file import read_bytes
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
    root = _hub_cache(settings) / f"models--{hub_id.replace('/', '--')}"
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


def _hub_cache(settings: Mapping[str, str]) -> Path:
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
