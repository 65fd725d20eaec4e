"""What others measured of real servers: rows that ship with Caudal, found by their model.

Written by `scripts/measured_rows.py`, which says what is kept; NOTICE names the sources and their
licences. `model` is the architecture's file in `data/models`, `checkpoint` that of a quantised
checkpoint with a file of its own. Lengths are means that were really run.
"""

import csv
import gzip
import pkgutil
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import Seconds

COLUMNS: Final = (
    "model",
    "checkpoint",
    "gpu",
    "engine",
    "engine_version",
    "precision",
    "kv_precision",
    "tp",
    "pp",
    "ep",
    "dp",
    "n_gpus",
    "speculative",
    "input_tokens",
    "output_tokens",
    "concurrency",
    "request_rate",
    "tpot_ms_p50",
    "tpot_ms_mean",
    "ttft_ms_p50",
    "ttft_ms_mean",
    "output_tok_s",
    "prefill_tok_s",
    "date",
    "licence",
    "source",
    "source_ref",
    "id",
)
_FOLDER: Final = "data/measured"


@dataclass(frozen=True, slots=True)
class Timed:
    """One latency of a row: its median where the source gives it, else its mean."""

    statistic: str  # "p50" or "mean"
    seconds: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One measured row; None where the source does not say."""

    id: str
    gpu_id: str
    engine: str
    engine_version: str
    precision: str
    kv_precision: str | None
    tensor: int | None
    pipeline: int | None
    expert: int | None
    data: int | None
    gpus: int
    speculative: bool
    input_tokens: float | None
    output_tokens: float | None
    concurrency: float | None  # of all GPUs together
    request_rate: float | None
    tpot: Timed | None
    ttft: Timed | None
    output_tok_s: float | None
    prefill_tok_s: float | None
    date: str  # YYYY, YYYY-MM or YYYY-MM-DD; empty where unknown
    licence: str
    source: str
    source_ref: str  # where in the source: repository, commit, file


class MeasuredKind(StrEnum):
    """What was measured; each kind is a file of its own."""

    SERVING = "serving"  # a number of requests kept under way, or a rate
    STATIC = "static_batch"  # a batch that starts and ends together
    OFFLINE = "offline"  # all requests queued
    PREFILL = "prefill_b1"  # one prompt


@lru_cache(maxsize=256)
def measured_rows(
    model_id: str, gpu_id: str, *, kind: MeasuredKind = MeasuredKind.SERVING
) -> tuple[MeasuredRow, ...]:
    """Return the rows of one model (its hub id) on one GPU; none where nobody measured it.

    Raises:
        InvalidFactError: the file is damaged.
    """
    model, gpu = f"{model_id.replace('/', '__')},", f",{gpu_id},"
    header, *lines = _lines(kind)
    # The model stands in either of the first two columns; only its lines are taken apart.
    own = [
        line for line in lines if gpu in line and (line.startswith(model) or f",{model}" in line)
    ]
    try:
        return tuple(_row(entry) for entry in csv.DictReader(own, fieldnames=header.split(",")))
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidFactError(
            f"The measured rows of {model_id} on {gpu_id} are damaged: {error!r}.",
            remedy="Install Caudal again.",
        ) from error


@lru_cache(maxsize=len(MeasuredKind))
def _lines(kind: MeasuredKind) -> tuple[str, ...]:
    packed = pkgutil.get_data("caudal.facts", f"{_FOLDER}/{kind.value}.csv.gz")
    assert packed is not None, "the package holds its data"
    return tuple(gzip.decompress(packed).decode("utf-8").splitlines())


def _row(entry: dict[str, str]) -> MeasuredRow:
    return MeasuredRow(
        id=entry["id"],
        gpu_id=entry["gpu"],
        engine=entry["engine"],
        engine_version=entry["engine_version"],
        precision=entry["precision"],
        kv_precision=entry["kv_precision"] or None,
        tensor=_count(entry["tp"]),
        pipeline=_count(entry["pp"]),
        expert=_count(entry["ep"]),
        data=_count(entry["dp"]),
        gpus=int(entry["n_gpus"]),
        speculative=entry["speculative"] == "1",
        input_tokens=_number(entry["input_tokens"]),
        output_tokens=_number(entry["output_tokens"]),
        concurrency=_number(entry["concurrency"]),
        request_rate=_number(entry["request_rate"]),
        tpot=_timed(entry, "tpot"),
        ttft=_timed(entry, "ttft"),
        output_tok_s=_number(entry["output_tok_s"]),
        prefill_tok_s=_number(entry["prefill_tok_s"]),
        date=entry["date"],
        licence=entry["licence"],
        source=entry["source"],
        source_ref=entry["source_ref"],
    )


def _timed(entry: dict[str, str], name: str) -> Timed | None:
    for statistic in ("p50", "mean"):
        value = _number(entry[f"{name}_ms_{statistic}"])
        if value:
            return Timed(statistic, Seconds(value / 1e3))
    return None


def _number(text: str) -> float | None:
    return float(text) if text else None


def _count(text: str) -> int | None:
    return int(text) if text else None
