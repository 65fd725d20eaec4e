import json
from pathlib import Path

import pytest

from caudal.calibrate.row_models import read_row_models
from caudal.vocabulary.errors import (
    InvalidFactError,
    InvalidModelFileError,
    UnavailableError,
    UnknownModelError,
)

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def folder_with(tmp_path: Path, mapping: object | None, **configs: object) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for name, config in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(config))
    if mapping is not None:
        (tmp_path / "memory_models.json").write_text(json.dumps(mapping))
    return folder


def test_the_mapping_beside_the_rows_names_the_file(tmp_path: Path) -> None:
    mapping = {"models": {"my row": {"file": "models/a.json"}}}
    folder = folder_with(tmp_path, mapping, a=CONFIG)

    model = read_row_models(folder, rows=tmp_path / "memory.jsonl").model("my row")

    assert len(model.layers) == 32


def test_a_precision_may_have_a_file_of_its_own(tmp_path: Path) -> None:
    mapping = {
        "models": {"m": {"file": "models/a.json", "by_precision": {"fp8": {"file": "b.json"}}}}
    }
    folder = folder_with(tmp_path, mapping, a=CONFIG, b=CONFIG | {"num_hidden_layers": 16})

    models = read_row_models(folder, rows=tmp_path / "memory.jsonl")

    assert len(models.model("m", "fp8").layers) == 16
    assert len(models.model("m", "bf16").layers) == 32


def test_without_a_mapping_the_name_is_the_files(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, None, org__name=CONFIG)

    model = read_row_models(folder, rows=tmp_path / "memory.jsonl").model("org/name")

    assert model.id == "org/name"


def test_the_bundled_catalogue_is_asked_last(tmp_path: Path) -> None:
    models = read_row_models(folder_with(tmp_path, None), rows=tmp_path / "memory.jsonl")

    assert models.model("llama-3.1-8b").total_parameters == 8_030_261_248
    with pytest.raises(UnknownModelError):
        models.model("nobody/knows-this")


@pytest.mark.parametrize("mapping", [{"models": []}, {"models": {"a": 1}}, {}])
def test_a_damaged_mapping_is_refused(mapping: object, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, mapping)

    with pytest.raises(InvalidFactError, match=r"memory_models\.json"):
        read_row_models(folder, rows=tmp_path / "memory.jsonl")


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_architecture_is_refused(text: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, None)
    (folder / "m.json").write_text(text)

    with pytest.raises(InvalidModelFileError, match=r"m\.json"):
        read_row_models(folder, rows=tmp_path / "memory.jsonl").model("m")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no folder"):
        read_row_models(tmp_path / "nowhere", rows=tmp_path / "memory.jsonl")
