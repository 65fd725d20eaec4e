"""Make src/caudal/facts/data/models/index.csv from the model files beside it.

    python scripts/index_models.py          writes it
    python scripts/index_models.py --check  fails if it would change

Run it after adding or changing a model file, or a reader that changes what is read from one.
"""

import argparse
import csv
import json
import sys
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Final

from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.readers.config import model_from_config
from caudal.facts.source import Source
from caudal.vocabulary.errors import CaudalError

FOLDER: Final = Path(__file__).parent.parent / "src/caudal/facts/data/models"
READ_ON: Final = "2026-11-30"  # the day on which the collection was closed
COLUMNS: Final = (
    "id", "file", "family", "total_parameters", "active_parameters", "max_context_tokens",
    "weight_format", "licence", "confidence", "aliases", "source", "read_on", "problem",
)  # fmt: skip


def index_text(folder: Path = FOLDER) -> str:
    """Return the whole index, one line a model file, by file name without regard to case."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for path in sorted(folder.glob("*.json"), key=lambda path: path.name.casefold()):
        writer.writerow(_row(path))
    return out.getvalue()


def _row(path: Path) -> dict[str, str | int]:
    config = json.loads(path.read_text("utf-8"))
    confidence = ArchitectureConfidence(config["_confidence"])
    spec: ModelSpec | None = None
    problem = ""
    try:
        spec = model_from_config(
            config, name=config["_id"], source=_source(config), confidence=confidence
        )
    except CaudalError as error:
        problem = error.problem
    total = config["_total_params"]
    return {
        "id": config["_id"],
        "file": path.name,
        "family": spec.family if spec else config.get("model_type", ""),
        "total_parameters": spec.total_parameters if spec else total,
        "active_parameters": spec.active_parameters if spec else config["_active_params"],
        "max_context_tokens": spec.max_context_tokens if spec else "",
        "weight_format": spec.checkpoint.weight_format if spec else "",
        "licence": config["_license"],
        "confidence": str(confidence),
        "aliases": "|".join(config["_aliases"]),
        "source": config["_source"],
        "read_on": READ_ON,
        "problem": problem,
    }


def _source(config: dict[str, str]) -> Source:
    return Source(config["_source"], date.fromisoformat(READ_ON))


def main() -> int:
    """Write or check the index; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file would change")
    check = parser.parse_args().check
    target, text = FOLDER / "index.csv", index_text()
    if check:
        return 0 if target.exists() and target.read_text("utf-8") == text else 1
    target.write_text(text, encoding="utf-8")
    print(f"{target.name}: {text.count(chr(10)) - 1} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
