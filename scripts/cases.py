"""Write docs/cases.md: what people asked about memory, the truth, and Caudal's answer."""

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fit_answers import page  # noqa: E402 - the cases are the tests' own

if __name__ == "__main__":
    (ROOT / "docs/cases.md").write_text(page(), encoding="utf-8")
