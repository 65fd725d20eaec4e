"""Write the measured rows that ship with Caudal: `measured_rows.py ROWS MODELS_JSON`.

Kept are rows under Apache-2.0, BSD-3-Clause or MIT that were read without doubt (quality A).
Left out are figures whose source states no licence, those of web pages, and MLPerf's, which carry
rules of their own for quoting; rows with separate pools, whose layout has no columns here.
"""

import argparse
import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from caudal.calibrate.row_models import RowModels
from caudal.calibrate.speed_cases import engine_for, format_for, gpu_for
from caudal.calibrate.speed_rows import RowKind, SpeedRow, read_speed_rows
from caudal.facts.measured import COLUMNS
from caudal.vocabulary.errors import CaudalError

TARGET = Path(__file__).parent.parent / "src/caudal/facts/data/measured"
LICENCES = frozenset({"Apache-2.0", "BSD-3-Clause", "MIT"})
DRAWN_SHORTER = 0.9  # InferenceX draws lengths evenly between 0.8 and 1.0 of what it names


def main() -> int:
    """Read, choose and write; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="measured rows, .jsonl or .jsonl.gz")
    parser.add_argument("models", type=Path, help="the mapping of their model names")
    parser.add_argument("--output", type=Path, default=TARGET)
    chosen = parser.parse_args()
    mapping = json.loads(chosen.models.read_text("utf-8"))["models"]
    models = RowModels(chosen.models.parent, mapping, chosen.models.parent)
    lines = sorted(_lines(chosen.rows, models, mapping), key=lambda line: tuple(line.values()))
    chosen.output.mkdir(parents=True, exist_ok=True)
    for kind in RowKind:
        own = [line for line in lines if line["kind"] == kind.value]
        if own:
            (chosen.output / f"{kind.value}.csv.gz").write_bytes(_packed(own))
            print(f"{kind.value}: {len(own)} rows")
    return 0


def _packed(lines: list[dict[str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(lines)
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _lines(
    path: Path, models: RowModels, mapping: Mapping[str, Mapping[str, object]]
) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        entries = {entry["id"]: entry for entry in map(json.loads, file)}
    for row in read_speed_rows(path):
        if (
            row.licence not in LICENCES
            or row.source.startswith("mlperf")
            or row.quality != "A"
            or row.disaggregated
            or row.precision is None
        ):
            continue
        try:
            yield _line(row, entries[row.id], models, mapping)
        except CaudalError as error:
            print(f"{row.id} left out: {error.problem}", file=sys.stderr)


def _line(
    row: SpeedRow,
    entry: Mapping[str, object],
    models: RowModels,
    mapping: Mapping[str, Mapping[str, object]],
) -> dict[str, str]:
    gpu, model = gpu_for(row.gpu), models.model(row.model, row.precision)
    spec, era = engine_for(row)
    share = DRAWN_SHORTER if "0.8-1.0x" in row.notes else 1.0
    named = mapping.get(row.model, {})
    values: dict[str, object] = {
        "model": Path(str(named.get("file", row.model.replace("/", "__")))).stem,
        "checkpoint": _checkpoint(named, row.precision),
        "gpu": gpu.id,
        "engine": era.partition(":")[2] or spec.name,
        "engine_version": row.engine_version,
        "precision": format_for(row, model, gpu).name,
        "kv_precision": "bf16" if row.kv_format == "fp16" else row.kv_format,
        "tp": row.tensor,
        "pp": row.pipeline,
        "ep": row.expert,
        "dp": row.data,
        "n_gpus": row.gpus,
        "kind": row.kind.value,
        "speculative": "1" if row.speculative else "",
        "input_tokens": row.input_tokens and row.input_tokens * share,
        "output_tokens": row.output_tokens and row.output_tokens * share,
        "concurrency": row.concurrency,
        "request_rate": row.request_rate,
        "output_tok_s": entry.get("output_tok_s_total"),
        "prefill_tok_s": entry.get("prefill_tok_s"),
        "date": entry.get("date"),
        "licence": row.licence,
        "source": row.source,
        "source_ref": entry.get("source_ref"),
        "id": row.id,
    }
    for name in ("tpot_ms_p50", "tpot_ms_mean", "ttft_ms_p50", "ttft_ms_mean"):
        values[name] = entry.get(name)
    return {name: _written(values[name]) for name in (*COLUMNS, "kind")}


def _checkpoint(named: Mapping[str, object], precision: str | None) -> str:
    """Return the file of the quantised checkpoint where the mapping names one of its own."""
    special = named.get("by_precision")
    chosen = special.get(str(precision)) if isinstance(special, dict) else None
    if not isinstance(chosen, dict) or chosen["file"] == named.get("file"):
        return ""
    return Path(str(chosen["file"])).stem


def _written(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)


if __name__ == "__main__":
    sys.exit(main())
