"""Build the simulator's compiled engine where there is a C compiler; install without it elsewhere.

Without the library the plain engine does the same work more slowly, so a missing or failing
compiler is a warning, not an error.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "src/caudal/simulate/engine/engine.c"
# No ending of an extension module: it is none, and what walks packages would try to import it.
LIBRARY = "src/caudal/simulate/_engine.bin"
# -ffp-contract=off: the same sums on every processor.
FLAGS = ("-O2", "-std=gnu11", "-ffp-contract=off", "-shared", "-fPIC")


class EngineBuildHook(BuildHookInterface):
    """Compile `engine.c` into a library that ctypes loads."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build the library and put it into the wheel, or say why not."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        if not build(root):
            return
        if version == "editable":  # the library lies in the source tree, where it is looked for
            return
        build_data["force_include"][str(root / LIBRARY)] = "caudal/simulate/_engine.bin"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def build(root: Path) -> bool:
    """Return whether the library could be built."""
    compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
    if compiler is None:
        say("no C compiler: the simulator will use its plain engine")
        return False
    # Written beside and then moved: a process that has the old library loaded keeps it.
    fresh = root / f"{LIBRARY}.{os.getpid()}"
    told = f'-DCAUDAL_SOURCES="{digest(root)}"'
    command = [compiler, *FLAGS, told, str(root / SOURCE), "-o", str(fresh), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode != 0:
        fresh.unlink(missing_ok=True)
        say(f"{' '.join(command)} failed: {done.stderr}")
        say("the simulator will use its plain engine")
        return False
    fresh.replace(root / LIBRARY)
    return True


def digest(root: Path) -> str:
    """Return what the library says it was built from; a test compares it with the sources."""
    files = sorted((root / SOURCE).parent.iterdir())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def say(text: str) -> None:
    """Tell whoever installs with `pip install -v`."""
    sys.stderr.write(f"{text}\n")
