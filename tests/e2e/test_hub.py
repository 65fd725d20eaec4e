"""Models by hub id, from a hub on loopback: metadata only, kept, and never without need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fake_hub import COMMIT, FakeHub, serving
from weight_files import Stored, write_safetensors

CAUDAL = Path(sys.executable).parent / "caudal"
UNAVAILABLE = 5
CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 50_000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
PROJECTIONS = {
    "self_attn.q_proj": (256, 256),
    "self_attn.k_proj": (128, 256),
    "self_attn.v_proj": (128, 256),
    "self_attn.o_proj": (256, 256),
    "mlp.gate_proj": (512, 256),
    "mlp.up_proj": (512, 256),
    "mlp.down_proj": (256, 512),
}
BYTES = 2 * (50_000 * 256 + 2 * (524_288 + 65_536 + 2 * 256) + 256)


def tensors() -> dict[str, Stored]:
    found: dict[str, Stored] = {
        "model.embed_tokens.weight": ("BF16", (50_000, 256)),
        "model.norm.weight": ("BF16", (256,)),
    }
    for layer in range(2):
        prefix = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{prefix}.{norm}.weight"] = ("BF16", (256,))
        for name, shape in PROJECTIONS.items():
            found[f"{prefix}.{name}.weight"] = ("BF16", shape)
    return found


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = write_safetensors(tmp_path_factory.mktemp("hub") / "model.safetensors", tensors())
    return {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": path.read_bytes()}


def split(repository: dict[str, bytes], parts: int, folder: Path) -> dict[str, bytes]:
    """Return the repository with its weights in several files."""
    names = list(tensors())
    files = {"config.json": repository["config.json"]}
    places: dict[str, str] = {}
    for part in range(parts):
        name = f"model-{part + 1:05}-of-{parts:05}.safetensors"
        held = {key: tensors()[key] for key in names[part::parts]}
        files[name] = write_safetensors(folder / name, held).read_bytes()
        places |= dict.fromkeys(held, name)
    index = {"metadata": {"total_size": BYTES}, "weight_map": places}
    return files | {"model.safetensors.index.json": json.dumps(index).encode()}


def show(
    name: str, home: Path, endpoint: str, *options: str, **settings: str
) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment = kept | {"HOME": str(home), "HF_HOME": str(home), "HF_ENDPOINT": endpoint}
    return subprocess.run(
        [CAUDAL, "models", "show", name, "--json", *options],
        env=environment | {"HF_TOKEN": "hf_secret", "NO_PROXY": "*"} | settings,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def document(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert 0 == done.returncode, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_headers_are_read_by_range_and_weights_never(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    hub = FakeHub({"org/new-1b": repository})
    with serving(hub) as endpoint:
        found = document(show("org/new-1b", tmp_path, endpoint))

    assert BYTES == found["checkpoint_bytes"]
    assert 2 * 50_000 * 256 == dict(found["bytes_by_role"])["embedding"]  # type: ignore[call-overload]
    assert 1_000_000 > hub.sent_bytes < len(repository["model.safetensors"])


def test_what_was_fetched_is_kept_for_later_and_offline(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    hub = FakeHub({"org/new-1b": repository})
    with serving(hub) as endpoint:
        first = document(show("org/new-1b", tmp_path, endpoint))
        asked = len(hub.requests)
        second = document(show("org/new-1b", tmp_path, endpoint))
        offline = document(show("org/new-1b", tmp_path, endpoint, "--offline"))

    assert first == second == offline
    assert asked == len(hub.requests)


def test_every_part_of_a_split_checkpoint_is_read(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    hub = FakeHub({"org/parts": split(repository, 3, tmp_path)}, stores_elsewhere=True)
    with serving(hub) as endpoint:
        found = document(show("org/parts", tmp_path, endpoint))

    assert BYTES == found["checkpoint_bytes"]
    assert found["bytes_by_role"]


def test_a_token_does_not_follow_to_another_host(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    hub = FakeHub({"org/new-1b": repository}, stores_elsewhere=True)
    with serving(hub) as endpoint:
        document(show("org/new-1b", tmp_path, endpoint))

    assert any(path.startswith("/store/") for path, _ in hub.requests)
    assert [] == hub.authorised_stores


def test_a_file_that_is_no_header_leaves_the_index_to_count(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    files = split(repository, 2, tmp_path)
    files["model-00002-of-00002.safetensors"] = b"\xff" * 4096
    with serving(FakeHub({"org/broken": files})) as endpoint:
        found = document(show("org/broken", tmp_path, endpoint))

    assert BYTES == found["checkpoint_bytes"]
    assert {} == found["bytes_by_role"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("org/absent", "no model org/absent"),
        ("org/gated", "is gated"),
        ("org/empty", "has no config.json"),
    ],
)
def test_what_the_hub_does_not_show_is_said(tmp_path: Path, name: str, said: str) -> None:
    hub = FakeHub({"org/empty": {}}, gated=frozenset({"org/gated"}))
    with serving(hub) as endpoint:
        done = show(name, tmp_path, endpoint)

    assert UNAVAILABLE == done.returncode
    assert said in done.stdout
    assert "Traceback" not in done.stderr


def test_a_hub_that_does_not_answer_is_said(tmp_path: Path) -> None:
    done = show("org/new-1b", tmp_path, "http://127.0.0.1:9")

    assert UNAVAILABLE == done.returncode
    assert "the hub does not answer" in done.stdout


@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [
        ("org/new-1b", ("--offline",), {}),
        ("org/new-1b", (), {"HF_HUB_OFFLINE": "1"}),
        ("meta-llama/Llama-3.1-8B", (), {}),
        ("llama-3.1-8b", (), {}),
        ("./org/new-1b", (), {}),
    ],
)
def test_nothing_is_asked_offline_or_of_what_is_known(
    tmp_path: Path,
    repository: dict[str, bytes],
    name: str,
    options: tuple[str, ...],
    settings: dict[str, str],
) -> None:
    hub = FakeHub({"org/new-1b": repository})
    with serving(hub) as endpoint:
        show(name, tmp_path, endpoint, *options, **settings)

    assert [] == hub.requests


def test_a_huge_configuration_is_not_fetched(tmp_path: Path) -> None:
    hub = FakeHub({"org/huge": {"config.json": b" " * (17 * 2**20)}})
    with serving(hub) as endpoint:
        done = show("org/huge", tmp_path, endpoint)

    assert UNAVAILABLE == done.returncode
    assert "are fetched" in done.stdout
    assert 0 == hub.sent_bytes


def test_the_snapshot_is_the_one_that_the_hub_names(
    tmp_path: Path, repository: dict[str, bytes]
) -> None:
    with serving(FakeHub({"org/new-1b": repository})) as endpoint:
        document(show("org/new-1b", tmp_path, endpoint))

    kept = tmp_path / "hub" / "models--org--new-1b" / "snapshots" / COMMIT / "config.json"
    assert CONFIG == json.loads(kept.read_text())
