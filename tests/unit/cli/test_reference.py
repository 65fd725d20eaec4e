import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_reference_pages_and_schemas_agree_with_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stdout)
