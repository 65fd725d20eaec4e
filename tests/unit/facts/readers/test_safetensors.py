import io
import json
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.facts.readers.safetensors import (
    HEADER_MOST_BYTES,
    read_safetensors,
    read_safetensors_stream,
)
from caudal.facts.readers.weight_file import WeightHeader
from caudal.vocabulary.errors import CaudalError, InvalidModelFileError

TWO_TENSORS: dict[str, object] = {
    "__metadata__": {"format": "pt"},
    "a.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]},
    "b.scale": {"dtype": "F32", "shape": [3], "data_offsets": [64, 76]},
}


def packed(header: object, *, data: int) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


def read(raw: bytes) -> WeightHeader:
    return read_safetensors_stream(io.BytesIO(raw), size=len(raw), file="x.safetensors")


def refusal(raw: bytes) -> str:
    with pytest.raises(InvalidModelFileError) as raised:
        read(raw)
    assert raised.value.problem.startswith("x.safetensors")
    return raised.value.problem


def test_every_tensor_is_counted_to_the_byte() -> None:
    header = read(packed(TWO_TENSORS, data=76))

    assert header.tensor_bytes == 76
    assert header.elements == 35
    assert header.bytes_by_type() == {"bf16": 64, "f32": 12}
    assert header.metadata == {"format": "pt"}


def test_four_bit_elements_share_bytes() -> None:
    header = read(
        packed({"w": {"dtype": "F4", "shape": [2, 32], "data_offsets": [0, 32]}}, data=32)
    )

    assert header.tensor_bytes == 32


def test_a_scalar_and_an_empty_tensor_are_tensors() -> None:
    entries = {
        "empty": {"dtype": "F16", "shape": [0, 4], "data_offsets": [0, 0]},
        "scalar": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    }

    assert read(packed(entries, data=4)).elements == 1


@pytest.mark.parametrize(
    ("header", "data", "said"),
    [
        ({"w": {"dtype": "F4X", "shape": [2], "data_offsets": [0, 1]}}, 1, "unknown dtype"),
        ({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, 4, "2 x F32 do not"),
        ({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, 4, "no list of sizes"),
        ({"w": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, 4, "no list of sizes"),
        ({"w": {"dtype": "F32", "shape": "2", "data_offsets": [0, 4]}}, 4, "no list of sizes"),
        ({"w": {"dtype": "F32", "shape": [1] * 17, "data_offsets": [0, 4]}}, 4, "no list"),
        ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, 4, "beginning and end"),
        ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, 4, "beginning and end"),
        ({"w": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}, 4, "more"),
        ({"w": {"dtype": "F32", "shape": [2**60], "data_offsets": [0, 4]}}, 4, "no list"),
        ({"w": 3}, 0, "is no object"),
        ([], 0, "no object but a list"),
        ({"__metadata__": 3}, 0, "__metadata__"),
        (TWO_TENSORS, 75, "should hold 76"),
        (TWO_TENSORS, 77, "should hold 76"),
        (
            {
                "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
            },
            6,
            "overlaps",
        ),
        ({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}, 6, "gap"),
        (b'{"a": NaN}', 0, "NaN"),
        (b'{"a": 1, "a": 1}', 0, "stands twice"),
        (b"{", 0, "not JSON"),
        (b"\xff\xfe", 0, "not UTF-8"),
        (b"[" * 100_000, 0, "nested too deeply"),
        (b"1" * 5_000, 0, "endless number"),
        (b"[" + b"[]," * 200_000 + b"1]", 0, "than 65,536 tensors need"),
        (b"[" + b'"",' * 400_000 + b"1]", 0, "than 65,536 tensors need"),
    ],
)
def test_a_damaged_header_is_refused(header: object, data: int, said: str) -> None:
    assert said in refusal(packed(header, data=data))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "ends in its header"),
        (b"\x10\x00", "ends in its header"),
        (struct.pack("<Q", 100) + b"{}", "ends in its header"),
        (struct.pack("<Q", 2**63) + b"{}", "claims a header of 9,223"),
        (struct.pack("<Q", HEADER_MOST_BYTES + 1), "are not read"),
    ],
)
def test_a_claimed_length_is_checked_before_it_is_believed(raw: bytes, said: str) -> None:
    assert said in refusal(raw)


def test_a_strange_name_is_shown_short_and_printable() -> None:
    name = "\x1b[31m" + "n" * 500

    problem = refusal(packed({name: 3}, data=0))

    assert "\x1b" not in problem
    assert len(problem) < 200


def test_a_link_that_leads_away_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere" / "real").write_bytes(packed(TWO_TENSORS, data=76))
    link = tmp_path / "folder" / "model.safetensors"
    link.symlink_to(tmp_path / "elsewhere" / "real")

    with pytest.raises(InvalidModelFileError, match="leads out of its folder"):
        read_safetensors(link)


def test_a_hub_snapshot_may_link_to_its_blobs(tmp_path: Path) -> None:
    model = tmp_path / "models--a--b"
    (model / "blobs").mkdir(parents=True)
    (model / "snapshots" / "1234567").mkdir(parents=True)
    (model / "blobs" / "abc").write_bytes(packed(TWO_TENSORS, data=76))
    link = model / "snapshots" / "1234567" / "model.safetensors"
    link.symlink_to("../../blobs/abc")

    assert read_safetensors(link).tensor_bytes == 76


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "loop.safetensors").symlink_to("loop.safetensors")

    for name in ("pipe.safetensors", "loop.safetensors", "none.safetensors", "a\0b"):
        with pytest.raises(CaudalError):
            read_safetensors(tmp_path / name)


@settings(max_examples=300)
@given(
    raw=st.binary(max_size=400),
    cut=st.integers(0, 400),
    at=st.integers(0, 400),
)
def test_any_bytes_give_a_header_or_our_error(raw: bytes, cut: int, at: int) -> None:
    good = packed(TWO_TENSORS, data=76)
    mutated = good[:at] + raw[:3] + good[at + 3 :]

    for attempt in (raw, good[:cut], mutated):
        try:
            read(attempt)
        except CaudalError as problem:
            assert problem.problem  # noqa: PT017 - that nothing else is raised is the point


def unusually_spelled(entries: dict[str, object], *, data: int) -> bytes:
    return packed(json.dumps(entries, indent=1).encode(), data=data)


@settings(max_examples=200, deadline=None)
@given(
    name=st.text(max_size=6),
    dtype=st.sampled_from(["F32", "BF16", "U8", "F4", "F9", ""]),
    shape=st.lists(st.integers(min_value=-1, max_value=9), max_size=4),
    begin=st.integers(min_value=-1, max_value=8),
    size=st.integers(min_value=0, max_value=64),
)
def test_the_usual_spelling_is_read_like_any_other(
    name: str, dtype: str, shape: list[int], begin: int, size: int
) -> None:
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
    raws = (packed({name: entry}, data=size), unusually_spelled({name: entry}, data=size))

    answers: list[object] = []
    for raw in raws:
        try:
            answers.append(read(raw).tensors)
        except CaudalError as error:
            answers.append(error.problem)

    assert answers[0] == answers[1]
