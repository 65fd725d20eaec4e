"""Any name becomes a model, or says what to do."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from caudal.facts.model import ArchitectureConfidence
from caudal.facts.models import model_catalogue, resolve_model
from caudal.vocabulary.errors import (
    CaudalError,
    InvalidModelFileError,
    ModelNotDownloadedError,
    UnknownModelError,
    UnsupportedModelError,
)

CATALOGUE = model_catalogue()
DATA = Path(__file__).parent.parent.parent / "data"
TINY = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def names() -> list[dict[str, str]]:
    with (DATA / "model_names.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "mine"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(TINY))
    return made


@pytest.mark.parametrize("row", names(), ids=lambda row: row["text"])
def test_every_name_of_the_measurements_finds_its_model(row: dict[str, str]) -> None:
    entry = CATALOGUE.find(row["text"])

    assert row["file"] == getattr(entry, "file", None)


@pytest.mark.parametrize("entry", CATALOGUE.entries, ids=lambda entry: entry.short_name)
def test_every_entry_is_found_by_each_of_its_names(entry: object) -> None:
    known = next(e for e in CATALOGUE.entries if e is entry)

    assert all(
        known is CATALOGUE.find(name) for name in (known.id, known.short_name, *known.aliases)
    )


@pytest.mark.parametrize("entry", CATALOGUE.entries, ids=lambda entry: entry.short_name)
def test_the_index_says_what_the_file_says(entry: object) -> None:
    known = next(e for e in CATALOGUE.entries if e is entry)
    if known.problem:
        with pytest.raises(CaudalError):
            CATALOGUE.load(known.id)
        return

    model = CATALOGUE.load(known.id)

    assert known.id == model.id
    assert known.total_parameters == model.total_parameters
    assert known.active_parameters == model.active_parameters
    assert known.max_context_tokens == model.max_context_tokens
    assert known.weight_format == model.checkpoint.weight_format
    assert known.confidence == model.confidence
    assert known.licence == model.licence


def test_short_names_are_unique() -> None:
    short = [entry.short_name for entry in CATALOGUE.entries]

    assert len(short) == len(set(short))


def test_no_alias_is_claimed_twice() -> None:
    claimed = [
        name for e in CATALOGUE.entries for name in {n.casefold() for n in (e.id, *e.aliases)}
    ]

    assert len(claimed) == len(set(claimed))


def test_the_whole_collection_is_there() -> None:
    assert 244 == len(CATALOGUE.entries)


def test_a_family_is_selected_by_any_of_its_names() -> None:
    qwen = CATALOGUE.select(family="Qwen", most_parameters=10_000_000_000)

    assert "qwen3-8b" in {entry.short_name for entry in qwen}
    assert all(entry.total_parameters <= 10_000_000_000 for entry in qwen)
    assert not any("llama-3.1" in entry.short_name for entry in qwen)


def test_an_unknown_short_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve_model("lama-3.1-70b")

    assert "llama-3.1-70b" in caught.value.nearest
    assert "--params" in caught.value.remedy


def test_an_unknown_id_is_an_error() -> None:
    with pytest.raises(UnknownModelError, match="nothing-like-it"):
        CATALOGUE.load("nothing-like-it")


@pytest.mark.parametrize("text", ["", "  "])
def test_no_name_is_an_error(text: str) -> None:
    with pytest.raises(InvalidModelFileError, match="No model is named"):
        resolve_model(text)


def test_a_model_is_read_once_a_process() -> None:
    assert resolve_model("llama-3.1-70b") is resolve_model("meta-llama/Llama-3.1-70B-Instruct")


@pytest.mark.parametrize("text", ["./mine", "mine", "./mine/", "mine/config.json"])
def test_a_folder_or_its_file_is_a_model(folder: Path, text: str) -> None:
    model = resolve_model(text)

    assert text == model.id
    assert ArchitectureConfidence.FILE == model.confidence
    assert 2 == len(model.layers)
    assert model.source.where.endswith("config.json")
    assert model.checkpoint_bytes is None


def test_an_index_gives_the_exact_size_of_the_checkpoint(folder: Path) -> None:
    size = 2 * resolve_model("./mine").total_parameters
    index = {"metadata": {"total_size": size}, "weight_map": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    assert size == resolve_model("./mine").checkpoint_bytes


@pytest.mark.parametrize("share", [0.01, 40])
def test_an_index_of_another_model_is_refused(folder: Path, share: float) -> None:
    size = int(share * resolve_model("./mine").total_parameters)
    index = {"metadata": {"total_size": size}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    with pytest.raises(InvalidModelFileError, match=r"metadata\.total_size"):
        resolve_model("./mine")


def test_the_catalogue_goes_before_a_folder_unless_the_path_is_explicit(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "qwen3-32b")

    assert ArchitectureConfidence.FILE != resolve_model("qwen3-32b").confidence
    assert ArchitectureConfidence.FILE == resolve_model("./qwen3-32b").confidence


def test_a_path_that_is_not_there_is_not_looked_up_elsewhere(folder: Path) -> None:
    with pytest.raises(InvalidModelFileError, match="no file or folder"):
        resolve_model("./qwen3-32b")


def test_a_downloaded_model_is_found_in_the_hubs_cache(folder: Path) -> None:
    snapshot = folder.parent / "cache" / "models--org--new-7b" / "snapshots" / "abc"
    snapshot.parent.mkdir(parents=True)
    shutil.copytree(folder, snapshot)

    model = resolve_model("org/new-7b")

    assert "org/new-7b" == model.id
    assert ArchitectureConfidence.FILE == model.confidence


def test_a_hub_id_that_is_not_here_says_what_to_download_and_where_to(folder: Path) -> None:
    with pytest.raises(ModelNotDownloadedError, match="org/new-7b") as caught:
        resolve_model("org/new-7b")

    assert "config.json" in caught.value.remedy
    assert "hf download org/new-7b" in caught.value.remedy
    assert "--local-dir ./new-7b" in caught.value.remedy


def test_a_foreign_upload_of_a_known_name_is_not_taken_for_it(folder: Path) -> None:
    with pytest.raises(ModelNotDownloadedError) as caught:
        resolve_model("somebody/Qwen3-32B")

    assert "qwen3-32b" in caught.value.remedy


@pytest.mark.parametrize(
    "change", [{"num_hidden_layers": 10**9}, {"num_attention_heads": -4}, {"hidden_size": None}]
)
def test_absurd_fields_of_a_file_name_the_file(folder: Path, change: dict[str, object]) -> None:
    (folder / "config.json").write_text(json.dumps(TINY | change))

    with pytest.raises(InvalidModelFileError, match=r"config\.json"):
        resolve_model("./mine")


def test_an_encoder_is_not_supported(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(TINY | {"model_type": "bert"}))

    with pytest.raises(UnsupportedModelError):
        resolve_model("./mine")


def test_a_file_cannot_pass_off_its_own_counts(folder: Path) -> None:
    plain = resolve_model("./mine").total_parameters
    (folder / "config.json").write_text(json.dumps(TINY | {"_total_params": 1, "_id": "x/y"}))

    model = resolve_model("./mine")

    assert plain == model.total_parameters
    assert "./mine" == model.id
