"""Refit the constants of the speed model: `make calibrate ROWS=… MODELS=…`."""

import argparse
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from caudal.calibrate.speed_calibrate import calibrate_speed, written
from caudal.vocabulary.errors import CaudalError

TARGET = Path(__file__).parent.parent / "src/caudal/facts/data/calibration/speed.json"


def main() -> int:
    """Fit, judge and write; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="measured rows, .jsonl or .jsonl.gz")
    parser.add_argument("models", type=Path, help="folder of architecture files")
    parser.add_argument("--date", help="the day to write, YYYY-MM-DD; today by default")
    parser.add_argument("--judge", default="groups,gpus,models,generations")
    parser.add_argument("--output", type=Path, default=TARGET)
    chosen = parser.parse_args()
    today = datetime.now(UTC).date() if chosen.date is None else _day(chosen.date)
    try:
        document = calibrate_speed(
            chosen.rows,
            models=chosen.models,
            today=today,
            report=lambda line: print(line, flush=True),
            judged_by=chosen.judge.split(","),
        )
    except CaudalError as error:
        print(f"{error.problem} {error.remedy}", file=sys.stderr)
        return 1
    chosen.output.write_text(written(document), encoding="utf-8")
    print(f"wrote {chosen.output}")
    return 0


def _day(text: str) -> date:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()


if __name__ == "__main__":
    sys.exit(main())
