import json

import pytest

from caudal.calibrate.memory_rows import read_memory_rows
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import GIB

ROW = {"id": "a", "engine": "vllm", "model": "m", "outcome": "ok"}


def test_a_row_keeps_what_it_says_and_lacks_the_rest() -> None:
    line = json.dumps({**ROW, "weights_gib": 2, "tp": 4, "quote": "said", "enforce_eager": True})

    (row,) = read_memory_rows([line, ""], file="rows.jsonl")

    assert (row.id, row.engine, row.model, row.outcome) == ("a", "vllm", "m", "ok")
    assert row.gib("weights_gib") == 2 * GIB
    assert row.gib("kv_cache_gib") is None
    assert row.counts == {"tp": 4}
    assert (row.text("quote"), row.text("notes")) == ("said", "")
    assert row.flag("enforce_eager")
    assert not row.flag("model_inferred")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1 is no JSON"),
        ("[1]", "line 1 is no JSON object"),
        (json.dumps({**ROW, "id": 3}), "no text under 'id'"),
        (json.dumps({**ROW, "tp": "two"}), "no number under 'tp'"),
        (json.dumps({**ROW, "weights_gib": True}), "no number under 'weights_gib'"),
    ],
)
def test_a_damaged_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(InvalidFactError, match=problem):
        read_memory_rows([line], file="rows.jsonl")
