"""KV bytes of a token on one GPU against published tables and what servers printed."""

import csv
from pathlib import Path

import pytest

from caudal.facts.models import resolve_model
from caudal.fit.needs import memory_needs
from memory_cases import served

ROWS = list(
    csv.DictReader(
        (Path(__file__).parent / "kv_bytes_per_token.csv").read_text(encoding="utf-8").splitlines()
    )
)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['model']}-{row['engine']}-{row['cache']}-tp{row['tensor']}"
)
def test_kv_cache_agrees_with_the_published_figure(row: dict[str, str]) -> None:
    serving = served(by=row["engine"], cache=row["cache"], tensor=int(row["tensor"]))

    needs = memory_needs(resolve_model(row["model"]), serving)

    assert int(row["bytes"]) == needs.kv.bytes_per_token, row["source"]


def test_rows_name_their_source() -> None:
    assert all(row["source"] for row in ROWS)
