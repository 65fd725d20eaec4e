"""The corpus of broken files: one error of ours for each, soon, and without memory for claims."""

import json
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken_files import CONFIG, BrokenFile, broken_files
from caudal.calibrate.start_logs.reader import read_start_log
from caudal.facts.models import resolve_model
from caudal.vocabulary.errors import CaudalError

MOST_SECONDS = 1.0
MOST_BYTES = 100 * 10**6  # of Python's own; the whole process stays under 200 MB, see scripts/fuzz


def place(broken: BrokenFile, folder: Path) -> None:
    if broken.name.endswith((".json", ".safetensors")) and broken.name != "config.json":
        (folder / "config.json").write_text(json.dumps(CONFIG))
    with (folder / broken.name).open("wb") as stream:
        stream.write(broken.raw)
        if broken.size:
            stream.truncate(broken.size)


@pytest.mark.parametrize("broken", list(broken_files()), ids=str)
def test_a_broken_file_is_refused_with_its_name(broken: BrokenFile, tmp_path: Path) -> None:
    place(broken, tmp_path)

    began = time.process_time()
    with pytest.raises(CaudalError) as caught:
        resolve_model(f"{tmp_path}/")
    took_s = time.process_time() - began

    assert MOST_SECONDS > took_s
    assert broken.name in caught.value.problem or "config.json" in caught.value.problem
    assert caught.value.remedy
    assert 1000 > len(caught.value.problem)
    assert caught.value.problem.isprintable()


@pytest.mark.parametrize(
    "broken",
    [each for each in broken_files() if "hostile" in each.label or each.size],
    ids=str,
)
def test_no_memory_is_taken_for_what_a_header_claims(broken: BrokenFile, tmp_path: Path) -> None:
    place(broken, tmp_path)

    tracemalloc.start()
    with pytest.raises(CaudalError):
        resolve_model(f"{tmp_path}/")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert MOST_BYTES > peak_bytes


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text_is_a_log_or_refused(text: str) -> None:
    try:
        read = read_start_log(f"vllm GPU KV cache size: {text}").engine
    except CaudalError as error:
        read = error.code

    assert read in {"vllm", "sglang", "llama.cpp", "tensorrt-llm", "invalid-log"}
