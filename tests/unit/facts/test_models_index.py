"""The generated index matches the model files it was made from."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent


def test_the_index_is_what_the_script_makes() -> None:
    script = ROOT / "scripts" / "index_models.py"

    run = subprocess.run([sys.executable, str(script), "--check"], cwd=ROOT, check=False)

    assert 0 == run.returncode, "run: python scripts/index_models.py"
