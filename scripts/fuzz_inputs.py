"""What the fuzz target feeds the readers: sound inputs of each kind, and ways to break them."""

import json
import random
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from caudal.facts.precisions import gguf_blocks

ROOT: Final = Path(__file__).parents[1]
HOSTILE: Final[tuple[object, ...]] = (
    *(0, -1, 1, 2**31, 2**32, 2**53, 2**63, 2**64 - 1, 10**18, -(10**18), 10**300),
    *(0.5, -0.0, 1e308, 1e-308, float("nan"), float("inf"), True, False, None),
    *("", "0", "NaN", "\x00", "\x1b[31m", "../../etc/passwd", "é" * 50, "x" * 70_000),
    *([], {}, [[]], [None] * 50, {"": {}}, ["a"] * 5, [1] * 3_000),
)
_WORDS: Final = (b"\xff" * 8, b"\x00" * 8, struct.pack("<Q", 2**63), struct.pack("<Q", 2**40))
_TEXTS: Final = (
    *(
        "",
        "9" * 5_000,
        "1e999",
        "-1",
        "NaN",
        "inf",
        "0x10",
        "１２",
        "1_000",
        ",,,",
        "(((",
        "=" * 500,
    ),
    *("GiB", "GB", "tokens", "\x00", "\n" * 50, "\u202e", " " * 3_000, "None", "{" * 300, "'" * 99),
)
TINY: Final[Mapping[str, object]] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def seeds(kind: str) -> list[bytes]:
    """Return sound inputs of one kind."""
    return _SEEDS[kind]()


def broken(raw: bytes, others: list[bytes], *, structured: bool, dice: random.Random) -> bytes:
    """Return an input with one to four faults."""
    for _ in range(dice.randint(1, 4)):
        if structured and dice.random() < 0.7:
            raw = _broken_json(raw, dice)
        else:
            raw = dice.choice(_FAULTS)(raw, others, dice)
    return raw


def broken_text(text: str, dice: random.Random) -> str:
    """Return a text with numbers, words and lines exchanged, doubled or cut."""
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(text) + 1)
        size = dice.choice((1, 3, 10, 80))
        match dice.randrange(5):
            case 0:
                text = text[:at] + dice.choice(_TEXTS) + text[at + size :]
            case 1:
                text = text[:at] + text[at + size :]
            case 2:
                text = text[:at] + text[at : at + size] * dice.choice((2, 20)) + text[at:]
            case 3:
                text = text[:at] + chr(dice.randrange(1, 0x3000)) + text[at:]
            case _:
                lines = text.split("\n")
                dice.shuffle(lines)
                text = "\n".join(lines[: dice.randint(1, len(lines))])
        text = text[:60_000]
    return text


def _broken_json(raw: bytes, dice: random.Random) -> bytes:
    """Return JSON with one value, somewhere, exchanged, dropped, doubled or nested deeply."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    place = value
    while isinstance(place, dict | list) and place:
        key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.6:
            place = inner
            continue
        match dice.randrange(4):
            case 0:
                del place[key]
            case 1 if isinstance(place, dict):
                return _doubled(json.dumps(value), str(key)).encode()
            case 2:
                place[key] = _nested(dice.choice((5, 90, 150)))
            case _:
                place[key] = dice.choice(HOSTILE)
        break
    return json.dumps(value).encode()


def _doubled(text: str, key: str) -> str:
    written = json.dumps(key) + ":"
    return text.replace(written, f"{written} 1, {written}", 1)


def _nested(depth: int) -> object:
    value: object = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _flipped(raw: bytes, _: list[bytes], dice: random.Random) -> bytes:
    if not raw:
        return raw
    at = dice.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << dice.randrange(8))]) + raw[at + 1 :]


def _cut(raw: bytes, _: list[bytes], dice: random.Random) -> bytes:
    return raw[: dice.randrange(len(raw) + 1)]


def _word(raw: bytes, _: list[bytes], dice: random.Random) -> bytes:
    at = dice.randrange(len(raw) + 1)
    return raw[:at] + dice.choice(_WORDS)[: dice.choice((1, 4, 8))] + raw[at + 8 :]


def _removed(raw: bytes, _: list[bytes], dice: random.Random) -> bytes:
    at = dice.randrange(len(raw) + 1)
    return raw[:at] + raw[at + dice.choice((1, 8, 100)) :]


def _repeated(raw: bytes, _: list[bytes], dice: random.Random) -> bytes:
    at = dice.randrange(len(raw) + 1)
    piece = raw[at : at + dice.choice((4, 40, 400))]
    return (raw[:at] + piece * dice.choice((2, 9)) + raw[at:])[:200_000]


def _spliced(raw: bytes, others: list[bytes], dice: random.Random) -> bytes:
    other = dice.choice(others)
    return raw[: dice.randrange(len(raw) + 1)] + other[dice.randrange(len(other) + 1) :]


_Fault = Callable[[bytes, list[bytes], random.Random], bytes]
_FAULTS: Final[tuple[_Fault, ...]] = (_flipped, _cut, _word, _removed, _repeated, _spliced)


def _configs() -> list[bytes]:
    folder = ROOT / "src/caudal/facts/data/models"
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))[::3]]
    own = [{k: v for k, v in config.items() if not k.startswith("_")} for config in found]
    return [json.dumps(config).encode() for config in (TINY, *own)]


def _indexes() -> list[bytes]:
    names = [f"model.layers.{n}.mlp.up_proj.weight" for n in range(12)]
    places = {name: f"model-{n % 3 + 1:05}-of-00003.safetensors" for n, name in enumerate(names)}
    one: dict[str, object] = {"metadata": {"total_size": 123_456}, "weight_map": places}
    two: dict[str, object] = {
        "metadata": {"total_size": 1e6},
        "weight_map": dict.fromkeys(names, "model.safetensors"),
    }
    three: dict[str, object] = {"metadata": {}}
    return [json.dumps(index).encode() for index in (one, two, three)]


def _safetensors() -> list[bytes]:
    plain: dict[str, object] = {"__metadata__": {"format": "pt"}}
    fp8: dict[str, object] = {}
    place = 0
    for layer in range(2):
        for name in ("self_attn.q_proj", "mlp.up_proj", "mlp.experts.3.down_proj"):
            key = f"model.layers.{layer}.{name}.weight"
            plain[key] = {"dtype": "BF16", "shape": [8, 8], "data_offsets": [place, place + 128]}
            fp8[key] = {"dtype": "F8_E4M3", "shape": [16, 8], "data_offsets": [place, place + 128]}
            place += 128
    headers = (json.dumps(entries, separators=(",", ":")).encode() for entries in (plain, fp8))
    return [struct.pack("<Q", len(header)) + header + bytes(place) for header in headers]


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _gguf() -> list[bytes]:
    numbers = {
        "block_count": 2,
        "context_length": 512,
        "embedding_length": 256,
        "feed_forward_length": 256,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
    }
    files = []
    for architecture, extra in (("llama", {}), ("qwen3moe", {"expert_count": 2}), ("gemma3", {})):
        entries = [_text("general.architecture") + struct.pack("<I", 8) + _text(architecture)]
        entries += [
            _text(f"{architecture}.{key}") + struct.pack("<II", 4, value)
            for key, value in {**numbers, **extra}.items()
        ]
        words = b"".join(map(_text, ("a", "bc")))
        entries.append(_text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + words)
        files.append(_gguf_file(entries))
    return files


def _gguf_file(entries: list[bytes]) -> bytes:
    tensors: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (256, 100),
        "output_norm.weight": (256,),
    }
    for layer in range(2):
        matrices: tuple[tuple[str, tuple[int, ...]], ...] = (
            *(("attn_q", (256, 256)), ("attn_k", (256, 128)), ("attn_v", (256, 128))),
            *(("attn_output", (256, 256)), ("ffn_gate", (256, 256)), ("ffn_up", (256, 256))),
            *(("ffn_down", (256, 256)), ("attn_norm", (256,)), ("ffn_norm", (256,))),
        )
        for name, shape in matrices:
            tensors[f"blk.{layer}.{name}.weight"] = shape
    described, place = b"", 0
    for name, shape in tensors.items():
        block = gguf_blocks()["q4_k" if len(shape) == 2 else "f32"]
        described += _text(name) + struct.pack("<I", len(shape))
        described += struct.pack(f"<{len(shape)}QIQ", *shape, block.id, place)
        elements = shape[0] * (shape[1] if len(shape) == 2 else 1)
        place += elements // block.weights * block.bytes
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    header += b"".join(entries) + described
    return header + bytes(-len(header) % 32) + bytes(place)


def _logs() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "tests/data/start_logs").iterdir())]


def _quantities() -> list[bytes]:
    written = (
        "80GB 21.3GiB 500ms 1.5s 2min 5/s 300/min 50M/day 8k 8192 13B $2.50/h $1,690/month 92% "
        "h100:1..8 1,2,4 3.35TB/s 1e3 0.9 €5 90d"
    )
    return [each.encode() for each in written.split()]


_SEEDS: Final[Mapping[str, Callable[[], list[bytes]]]] = {
    "config.json": _configs,
    "index.json": _indexes,
    "safetensors": _safetensors,
    "gguf": _gguf,
    "start-up log": _logs,
    "quantity": _quantities,
}
