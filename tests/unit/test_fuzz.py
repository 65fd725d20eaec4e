"""A short run of the fuzz target: only our own errors, no hang, little memory."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz.py"


def test_broken_inputs_are_answered_or_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            SCRIPT,
            "--together",
            "--inputs",
            "1200",
            "--seed",
            "7",
            "--keep",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1,200 inputs" in done.stdout
