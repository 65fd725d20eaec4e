"""Measured rows of serving speed, as they stand in a JSON-lines file."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

from caudal.vocabulary.errors import InvalidFactError, UnavailableError


class RowKind(StrEnum):
    """What was measured."""

    DECODE = "decode_b1"
    PREFILL = "prefill_b1"
    STATIC = "static_batch"
    SERVING = "serving"
    SERVER = "server"
    OFFLINE = "offline"


class Metric(StrEnum):
    """What a row says and Caudal predicts."""

    TPOT = "tpot"
    TTFT = "ttft"
    OUTPUT = "output_tok_s"
    PREFILL = "prefill_tok_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One measured row. None where the source does not say."""

    id: str
    kind: RowKind
    model: str
    gpu: str
    gpus: int
    engine: str | None
    engine_version: str | None
    year: int | None
    precision: str | None
    kv_format: str | None
    tensor: int | None
    pipeline: int | None
    expert: int | None
    data: int | None
    disaggregated: bool
    input_tokens: float | None
    output_tokens: float | None
    concurrency: float | None
    request_rate: float | None
    speculative: bool
    scenario: str
    notes: str
    source: str
    licence: str
    quality: str
    measured: Mapping[Metric, float]

    @property
    def group(self) -> str:
        """Return what is left out together in cross-validation."""
        return f"{self.model}|{self.gpu}|{self.engine}|{self.precision}|{self.gpus}"

    @property
    def shippable(self) -> bool:
        """Return whether the row's licence allows naming it in the product."""
        return "figures only" not in self.licence


def read_speed_rows(path: Path) -> tuple[SpeedRow, ...]:
    """Return the rows of a `.jsonl` or `.jsonl.gz` file.

    Raises:
        UnavailableError: the file cannot be read.
        InvalidFactError: a line is not a row; the message names the line.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{path} cannot be read: {error}.", remedy="Give a .jsonl or .jsonl.gz file of rows."
        ) from error
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            rows.append(_row(line, where=f"{path.name}, line {number}"))
    return tuple(rows)


def _row(line: str, *, where: str) -> SpeedRow:
    try:
        return _from_entry(cast("dict[str, object]", json.loads(line)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidFactError(
            f"{where} is not a measured row: {error}.",
            remedy="A row needs at least id, kind, model, gpu and n_gpus.",
        ) from error


def _from_entry(entry: Mapping[str, object]) -> SpeedRow:
    date = _text(entry, "date") or ""
    return SpeedRow(
        id=str(entry["id"]),
        kind=RowKind(str(entry["kind"])),
        model=str(entry["model"]),
        gpu=str(entry["gpu"]),
        gpus=_count(entry, "n_gpus") or 1,
        engine=_text(entry, "engine"),
        engine_version=_text(entry, "engine_version"),
        year=int(date[:4]) if date[:4].isdigit() else None,
        precision=_text(entry, "precision"),
        kv_format=_text(entry, "kv_dtype"),
        tensor=_count(entry, "tp"),
        pipeline=_count(entry, "pp"),
        expert=_count(entry, "ep"),
        data=_count(entry, "dp"),
        disaggregated=entry.get("disagg") is True,
        input_tokens=_number(entry, "isl"),
        output_tokens=_number(entry, "osl"),
        concurrency=_number(entry, "concurrency"),
        request_rate=_number(entry, "request_rate"),
        speculative=entry.get("spec_decode") is True,
        scenario=_text(entry, "scenario") or "",
        notes=_text(entry, "notes") or "",
        source=_text(entry, "source") or "",
        licence=_text(entry, "license") or "none stated (figures only)",
        quality=_text(entry, "quality") or "B",
        measured=_measured(entry),
    )


def _measured(entry: Mapping[str, object]) -> Mapping[Metric, float]:
    """Return what the row measured, medians before means."""
    found = {
        Metric.TPOT: _milliseconds(entry, "tpot"),
        Metric.TTFT: _milliseconds(entry, "ttft"),
        Metric.OUTPUT: _number(entry, "output_tok_s_total"),
        Metric.PREFILL: _number(entry, "prefill_tok_s"),
    }
    return {metric: value for metric, value in found.items() if value is not None and value > 0}


def _milliseconds(entry: Mapping[str, object], name: str) -> float | None:
    for suffix in ("p50", "mean"):
        value = _number(entry, f"{name}_ms_{suffix}")
        if value is not None:
            return value / 1e3
    return None


def _number(entry: Mapping[str, object], name: str) -> float | None:
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}, not a number")
    return float(value)


def _count(entry: Mapping[str, object], name: str) -> int | None:
    value = _number(entry, name)
    return None if value is None else int(value)


def _text(entry: Mapping[str, object], name: str) -> str | None:
    value = entry.get(name)
    return None if value is None else str(value)
