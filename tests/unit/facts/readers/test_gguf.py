import io
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.facts.precisions import gguf_blocks
from caudal.facts.readers.gguf import read_gguf, read_gguf_stream
from caudal.facts.readers.weight_file import WeightHeader
from caudal.vocabulary.errors import CaudalError, InvalidModelFileError

Tensor = tuple[str, tuple[int, ...], int, int]  # name, sizes (innermost first), type, offset
Q4_K, Q6_K, F32 = 12, 14, 0


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def words(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def texts(key: str, values: list[str]) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def numbers(key: str, values: list[int]) -> bytes:
    return (
        text(key)
        + struct.pack("<IIQ", 9, 4, len(values))
        + struct.pack(f"<{len(values)}I", *values)
    )


def packed(
    tensors: list[Tensor], entries: list[bytes], *, data: int, alignment: int = 32, version: int = 3
) -> bytes:
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries)
    for name, sizes, kind, offset in tensors:
        header += text(name) + struct.pack("<I", len(sizes))
        header += struct.pack(f"<{len(sizes)}QIQ", *sizes, kind, offset)
    return header + bytes(-len(header) % alignment) + bytes(data)


GOOD = packed(
    [("token_embd.weight", (256, 10), Q6_K, 0), ("blk.0.attn_q.weight", (256, 4), Q4_K, 2112)],
    [
        words("general.architecture", "llama"),
        number("llama.block_count", 2),
        numbers("llama.attention.head_count_kv", [8, 4]),
        texts("tokenizer.ggml.tokens", ["a", "bc", "d" * 3000]),
        words("tokenizer.chat_template", "x" * 5000),
        text("flag") + struct.pack("<IB", 7, 1),
        text("ratio") + struct.pack("<If", 6, 0.5),
    ],
    data=2112 + 4 * 144,
)


def read(raw: bytes) -> WeightHeader:
    return read_gguf_stream(io.BytesIO(raw), size=len(raw), file="x.gguf")


def refusal(raw: bytes) -> str:
    with pytest.raises(InvalidModelFileError) as raised:
        read(raw)
    assert raised.value.problem.startswith("x.gguf")
    return raised.value.problem


def test_every_tensor_is_counted_by_its_blocks() -> None:
    header = read(GOOD)

    assert header.bytes_by_type() == {"q6_k": 2100, "q4_k": 576}
    assert header.tensors[0].shape == (10, 256)
    assert header.elements == 3584


def test_metadata_is_kept_but_vocabularies_are_passed_over() -> None:
    metadata = read(GOOD).metadata

    assert metadata["general.architecture"] == "llama"
    assert metadata["llama.block_count"] == 2
    assert metadata["llama.attention.head_count_kv"] == (8, 4)
    assert metadata["tokenizer.ggml.tokens"] is None
    assert metadata["tokenizer.chat_template"] is None
    assert metadata["flag"] is True
    assert metadata["ratio"] == 0.5


@pytest.mark.parametrize("name", sorted(gguf_blocks()))
def test_every_block_type_has_its_size(name: str) -> None:
    block = gguf_blocks()[name]
    row = 256

    header = read(
        packed([("w", (row, 2), block.id, 0)], [], data=2 * row // block.weights * block.bytes)
    )

    assert header.tensors[0].stored_as == name
    assert header.tensor_bytes == 2 * row // block.weights * block.bytes


def test_a_vocabulary_larger_than_a_window_is_passed_over() -> None:
    tokens = [f"token {number}" * 3 for number in range(60_000)] + ["x" * (3 << 20)]

    header = read(packed([], [texts("tokens", tokens), number("after", 7)], data=0))

    assert header.metadata == {"tokens": None, "after": 7}


def test_a_long_array_of_numbers_is_passed_over() -> None:
    header = read(packed([], [numbers("scores", list(range(9_000))), number("after", 7)], data=0))

    assert header.metadata == {"scores": None, "after": 7}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "ends in its header"),
        (b"GGML" + bytes(40), "does not begin with GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(40), "format version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(40), "big endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "claims"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "claims"),
        (b"GGUF" + struct.pack("<IQQ", 3, 5, 5), "ends in its header"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62), "a name of"),
        (packed([], [text("k") + struct.pack("<IQ", 8, 2**62)], data=0), "ends in its header"),
        (packed([], [text("k") + struct.pack("<IIQ", 9, 4, 2**61)], data=0), "ends in its header"),
        (packed([], [text("k") + struct.pack("<IIQ", 9, 8, 2**40)], data=0), "more than 2,000,000"),
        (packed([], [text("k") + struct.pack("<IIQ", 9, 8, 1000)], data=0), "ends in its header"),
        (packed([], [text("k") + struct.pack("<IIQ", 9, 9, 1)], data=0), "not read"),
        (packed([], [text("k") + struct.pack("<I", 99)], data=0), "unknown kind 99"),
        (packed([], [number("k", 1), number("k", 2)], data=0), "twice"),
        (packed([], [number("general.alignment", 0)], data=0), "alignment 0"),
        (packed([("w", (256,), 77, 0)], [], data=144), "unknown type 77"),
        (packed([("w", (1,) * 5, F32, 0)], [], data=4), "5 dimensions"),
        (packed([("w", (100,), Q4_K, 0)], [], data=144), "no multiple of q4_k"),
        (packed([("w", (), Q4_K, 0)], [], data=144), "no multiple of q4_k"),
        (packed([("w", (2**40, 2**40), F32, 0)], [], data=4), "more elements"),
        (packed([("w", (256,), Q4_K, 7)], [], data=200), "not at a whole place"),
        (packed([("w", (256,), Q4_K, 0)], [], data=143), "should hold 144"),
        (packed([("a", (256,), Q4_K, 0), ("b", (256,), Q4_K, 32)], [], data=400), "overlaps a"),
        (packed([("a", (8,), F32, 0), ("a", (8,), F32, 32)], [], data=64), "one name"),
    ],
)
def test_a_damaged_header_is_refused(raw: bytes, said: str) -> None:
    assert said in refusal(raw)


def split_file(part: int, tensors: list[Tensor], *, parts: int = 2, total: int = 2) -> bytes:
    entries = [
        number("split.no", part),
        number("split.count", parts),
        number("split.tensors.count", total),
    ]
    return packed(tensors, entries, data=32)


def test_parts_are_read_as_one(tmp_path: Path) -> None:
    for part, name in enumerate(("a", "b")):
        path = tmp_path / f"m-{part + 1:05}-of-00002.gguf"
        path.write_bytes(split_file(part, [(name, (8,), F32, 0)]))

    header = read_gguf(tmp_path / "m-00002-of-00002.gguf")

    assert header.files == 2
    assert [tensor.name for tensor in header.tensors] == ["a", "b"]


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m-00001-of-00002.gguf"
    path.write_bytes(split_file(0, [("a", (8,), F32, 0)]))

    with pytest.raises(InvalidModelFileError, match="m-00002-of-00002"):
        read_gguf(path)


@pytest.mark.parametrize(
    ("name", "parts", "total", "said"),
    [
        ("m.gguf", 2, 2, "not named as one"),
        ("m-00001-of-00003.gguf", 2, 2, "not named as one"),
        ("m-00001-of-00002.gguf", 5000, 2, "claims 5,000 parts"),
    ],
)
def test_a_contradictory_split_is_refused(
    tmp_path: Path, name: str, parts: int, total: int, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(split_file(0, [("a", (8,), F32, 0)], parts=parts, total=total))

    with pytest.raises(InvalidModelFileError, match=said):
        read_gguf(path)


def test_parts_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    for part, name in enumerate(("a", "b")):
        path = tmp_path / f"m-{part + 1:05}-of-00002.gguf"
        path.write_bytes(split_file(part, [(name, (8,), F32, 0)], total=3))

    with pytest.raises(InvalidModelFileError, match="claims 3"):
        read_gguf(tmp_path / "m-00001-of-00002.gguf")


def test_a_single_file_needs_no_special_name(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(GOOD)

    assert read_gguf(path).files == 1


@settings(max_examples=300)
@given(raw=st.binary(max_size=8), cut=st.integers(0, len(GOOD)), at=st.integers(0, 400))
def test_any_bytes_give_a_header_or_our_error(raw: bytes, cut: int, at: int) -> None:
    mutated = GOOD[:at] + raw + GOOD[at + len(raw) :]

    for attempt in (b"GGUF" + raw, GOOD[:cut], mutated):
        try:
            read(attempt)
        except CaudalError as problem:
            assert problem.problem  # noqa: PT017 - that nothing else is raised is the point
