"""Files that no reader may trust: each with what is wrong with it, small on disk."""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

U32, U64, TEXT, ARRAY = 4, 10, 8, 9
CONFIG: Mapping[str, object] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "torch_dtype": "bfloat16",
}
INDEX = "model.safetensors.index.json"


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """A folder with one file that is wrong."""

    label: str
    name: str
    raw: bytes
    size: int = 0  # of the file on disk, where it is longer than `raw` and empty behind

    def __str__(self) -> str:
        return f"{self.name}-{self.label}"


def broken_files() -> Iterator[BrokenFile]:
    """Yield every broken file."""
    for label, raw in _jsons().items():
        yield BrokenFile(label, "config.json", raw)
    for label, config in _configs().items():
        yield BrokenFile(label, "config.json", json.dumps(config).encode())
    for label, raw in _indexes().items():
        yield BrokenFile(label, INDEX, raw)
    for label, raw in _safetensors().items():
        yield BrokenFile(label, "model.safetensors", raw)
    yield BrokenFile("claims-100-MB", "model.safetensors", _length(100_000_000), size=200_000_000)
    for label, raw in _gguf().items():
        yield BrokenFile(label, "model.gguf", raw)
    yield BrokenFile("many-texts", "model.gguf", _gguf_start(0, 1) + _texts(2**27), size=2**31)
    for name in ("pytorch_model.bin", "model.pt", "model.ckpt"):
        yield BrokenFile("pickle", name, b"\x80\x02}q\x00.")


def _jsons() -> dict[str, bytes]:
    whole = json.dumps(CONFIG).encode()
    return {
        "empty": b"",
        "blank": b"   \n",
        "truncated": whole[: len(whole) // 2],
        "wrong-magic": b"\x80\x02}q\x00",
        "not-utf-8": b'{"a": "\xff\xfe"}',
        "utf-16": whole.decode().encode("utf-16"),
        "nan": whole.replace(b"512", b"NaN"),
        "infinity": whole.replace(b"512", b"Infinity"),
        "overflow": whole.replace(b"512", b"1e999"),
        "endless-number": whole.replace(b"512", b"9" * 100_000),
        "deep-lists": b'{"a":' + b"[" * 200_000,
        "deep-objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        "deep-but-closed": b'{"a":' + b"[" * 500 + b"]" * 500 + b"}",
        "doubled-key": whole.replace(b"{", b'{"hidden_size": 1, ', 1),
        "huge-text": b'{"model_type": "' + b"x" * 17_000_000 + b'"}',
        "a-list": b"[1, 2]",
        "git-lfs": b"version https://git-lfs.example/spec/v1\noid sha256:0\nsize 1\n",
    }


def _configs() -> dict[str, dict[str, object]]:
    return {
        "no-fields": {},
        "a-billion-layers": {**CONFIG, "num_hidden_layers": 10**9},
        "huge-width": {**CONFIG, "hidden_size": 2**62},
        "huge-vocabulary": {**CONFIG, "vocab_size": 10**15},
        "negative-heads": {**CONFIG, "num_attention_heads": -4},
        "no-heads": {**CONFIG, "num_attention_heads": 0},
        "text-for-a-number": {**CONFIG, "hidden_size": "64"},
        "half-a-layer": {**CONFIG, "num_hidden_layers": 1.5},
        "a-list-for-an-object": {**CONFIG, "quantization_config": [1]},
        "unknown-quantisation": {**CONFIG, "quantization_config": {"quant_method": "x" * 9_000}},
        "heads-that-do-not-divide": {**CONFIG, "num_key_value_heads": 3},
    }


def _indexes() -> dict[str, bytes]:
    return {
        "no-size": b'{"metadata": {"total_size": -1}}',
        "a-path": b'{"weight_map": {"a": "../../../etc/shadow"}}',
        "a-device": b'{"weight_map": {"a": "/dev/zero.safetensors"}}',
        "ten-thousand-files": json.dumps(
            {"weight_map": {str(number): f"m{number}.safetensors" for number in range(10_000)}}
        ).encode(),
        "deep": b'{"metadata":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        "impossible-size": b'{"metadata": {"total_size": 1}}',
    }


def _safetensors() -> dict[str, bytes]:
    def holding(entry: object, data: int = 0) -> bytes:
        header = json.dumps({"w": entry}).encode()
        return _length(len(header)) + header + bytes(data)

    good = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}
    return {
        "empty": b"",
        "truncated": holding(good, 8)[:20],
        "cut-data": holding(good, 4),
        "hostile-length": _length(2**63) + b"{}",
        "longest-length": _length(2**64 - 1),
        "wrong-magic": b"PK\x03\x04" + bytes(60),
        "overlapping": _length(len(_OVERLAP)) + _OVERLAP + bytes(12),
        "endless-shape": holding({**good, "shape": [2**40, 2**40, 2**40]}),
        "negative-shape": holding({**good, "shape": [-2, -2]}, 8),
        "many-dimensions": holding({**good, "shape": [1] * 10_000}, 8),
        "offsets-backwards": holding({**good, "data_offsets": [8, 0]}, 8),
        "offsets-far-away": holding({**good, "data_offsets": [2**50, 2**50 + 8]}, 8),
        "nan-offsets": holding({**good, "data_offsets": [0, float("nan")]}, 8),
        "unknown-dtype": holding({**good, "dtype": "Q9"}, 8),
        "doubled-name": _length(len(_DOUBLED)) + _DOUBLED + bytes(8),
        "huge-name": holding(good, 8).replace(b'"w"', b'"' + b"w" * 1_000_000 + b'"'),
        "deep": _length(100_000) + b"[" * 100_000,
        "brackets": _length(600_002) + b"[" + b"[]," * 200_000 + b"1",
    }


_OVERLAP = json.dumps(
    {
        "a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]},
    }
).encode()
_DOUBLED = (
    b'{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},'
    b'"w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}'
)


def _gguf() -> dict[str, bytes]:
    named = _words("general.architecture", "llama")
    layers = _text("llama.block_count") + struct.pack("<II", U32, 2)
    return {
        "empty": b"",
        "wrong-magic": b"GGML" + bytes(60),
        "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "version-1": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        "truncated": (_gguf_start(0, 2) + named)[:-3],
        "hostile-tensors": _gguf_start(2**63, 0),
        "hostile-entries": _gguf_start(0, 2**63),
        "hostile-text": _gguf_start(0, 1) + struct.pack("<Q", 2**63),
        "hostile-array": _gguf_start(0, 1) + _text("a") + struct.pack("<IIQ", ARRAY, U64, 2**61),
        "array-of-arrays": _gguf_start(0, 1) + _text("a") + struct.pack("<IIQ", ARRAY, ARRAY, 2),
        "unknown-kind": _gguf_start(0, 1) + _text("a") + struct.pack("<I", 99),
        "doubled-entry": _gguf_start(0, 2) + named + named,
        "no-architecture": _gguf_start(0, 1) + layers,
        "no-layers": _gguf_start(0, 1) + named,
        "no-tensors": _gguf_start(0, 2) + named + layers,
        "encoder": _gguf_start(0, 1) + _words("general.architecture", "clip"),
        "escape": _gguf_start(0, 1) + _words("general.architecture", "\x1b[31m" * 500),
    }


def _length(value: int) -> bytes:
    return struct.pack("<Q", value)


def _gguf_start(tensors: int, entries: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries)


def _text(value: str) -> bytes:
    return _length(len(value.encode())) + value.encode()


def _words(key: str, value: str) -> bytes:
    return _text(key) + struct.pack("<I", TEXT) + _text(value)


def _texts(count: int) -> bytes:
    return _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", ARRAY, TEXT, count)
