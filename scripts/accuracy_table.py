"""Write the table of errors that the pages show.

Memory is as `caudal accuracy memory … --json` printed it; speed is what the calibration reached on
groups that were left out of its fit, which `caudal accuracy speed` cannot show for rows it knows.

Usage: python scripts/accuracy_table.py MEMORY.json YYYY-MM-DD
"""

import csv
import json
import sys
from pathlib import Path

TARGET = (
    Path(__file__).parents[1]
    / "src" / "caudal" / "facts" / "data" / "calibration" / "accuracy.csv"
)  # fmt: skip
FIGURES = {
    "weights_gib": "weights",
    "kv_bytes_per_token": "KV bytes per token",
    "kv_cache_gib": "KV cache",
    "kv_tokens": "KV tokens",
    "max_concurrency": "requests at once",
    "tpot": "TPOT",
    "ttft": "TTFT",
    "output_tok_s": "output tokens a second",
    "prefill_tok_s": "prefill tokens a second",
    "batch_1_tpot": "TPOT of a single sequence",
}


def main() -> None:
    """Write one line for each figure that was judged."""
    memory, day = sys.argv[1:3]
    constants = json.loads((TARGET.parent / "speed.json").read_text("utf-8"))
    groups = (
        ("caudal accuracy memory", json.loads(Path(memory).read_text("utf-8"))["fields"]),
        ("make calibrate", constants["errors"]["groups"]),
    )
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("figure", "rows", "median_percent", "p90_percent", "judged_on", "command"))
        for command, figures in groups:
            for name, judged in figures.items():
                out.writerow(
                    (
                        FIGURES[name],
                        judged["n"],
                        f"{judged['median_ape'] * 100:.2f}",
                        f"{judged['p90_ape'] * 100:.2f}",
                        day,
                        command,
                    )
                )


if __name__ == "__main__":
    main()
