"""A GGUF file alone makes the same model as its config.json, and the exact bytes of its tensors."""

from pathlib import Path

import pytest

from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.facts.readers.gguf import read_gguf
from caudal.vocabulary.errors import InvalidModelFileError, UnsupportedModelError
from gguf_models import MODELS, llama_8b, write_model
from weight_files import write_gguf

CATALOGUE = {
    "Llama-3.1-8B": "meta-llama/Llama-3.1-8B",
    "Qwen3-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "gemma-3-27b-it": "google/gemma-3-27b-it",
    "DeepSeek-V3": "deepseek-ai/DeepSeek-V3",
    "Qwen3-Next-80B-A3B-Instruct": "Qwen/Qwen3-Next-80B-A3B-Instruct",
}


@pytest.mark.parametrize("name", MODELS)
def test_the_stack_is_that_of_the_configuration(tmp_path: Path, name: str) -> None:
    known = resolve_model(CATALOGUE[name])

    model = resolve_model(str(write_model(tmp_path / "model.gguf", name)))

    assert known.layers == model.layers
    assert known.vocabulary == model.vocabulary
    assert known.tied_embeddings == model.tied_embeddings
    assert known.max_context_tokens == model.max_context_tokens
    assert known.total_parameters - known.vision_parameters == pytest.approx(
        model.total_parameters, rel=1e-3
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_byte_has_a_role(tmp_path: Path, name: str) -> None:
    path = write_model(tmp_path / "model.gguf", name)

    model = resolve_model(str(path))

    assert model.stored is not None
    assert read_gguf(path).tensor_bytes == model.checkpoint_bytes == model.stored.total_bytes
    assert dict(model.stored.by_role).get(Role.OTHER, 0) < 1000
    assert sum(model.stored.by_layer) <= model.stored.total_bytes


def test_a_recipe_that_differs_by_layer_is_counted_as_it_is(tmp_path: Path) -> None:
    model = resolve_model(str(write_model(tmp_path / "model.gguf", "Llama-3.1-8B")))

    assert model.stored is not None
    # Printed by llama-bench for this file, see tests/golden/test_gguf_sizes.py.
    assert 4.58 == pytest.approx(model.stored.total_bytes / 2**30, abs=0.005)
    assert "q4_k_m" == model.checkpoint.weight_format
    assert model.stored.by_layer[0] > model.stored.by_layer[4]


def test_the_only_model_of_a_folder_is_found_and_its_projector_counted(tmp_path: Path) -> None:
    write_model(tmp_path / "gemma.gguf", "gemma-3-27b-it")
    write_gguf(
        tmp_path / "mmproj-gemma.gguf",
        {"general.architecture": "clip"},
        {"v.blk.0.attn_q.weight": ("f16", (1152, 1152)), "mm.0.weight": ("f16", (1152, 5376))},
    )

    model = resolve_model(f"{tmp_path}/")

    assert 1152 * (1152 + 5376) == model.vision_parameters
    assert model.stored is not None
    assert 2 * model.vision_parameters == dict(model.stored.by_role)[Role.VISION]
    assert "mmproj-gemma.gguf is counted" in model.note


def test_a_folder_with_two_models_asks_which(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write_model(tmp_path / name, "gemma-3-27b-it")

    with pytest.raises(InvalidModelFileError, match="holds 2 GGUF models") as caught:
        resolve_model(f"{tmp_path}/")

    assert "a.gguf, b.gguf" in caught.value.remedy


def refusal(tmp_path: Path, **changes: object) -> str:
    metadata, tensors = llama_8b()
    metadata |= {key.replace("__", "."): value for key, value in changes.items()}
    kept = {key: value for key, value in metadata.items() if value is not None}
    with pytest.raises((InvalidModelFileError, UnsupportedModelError)) as caught:
        resolve_model(str(write_gguf(tmp_path / "x.gguf", kept, tensors)))
    return caught.value.problem


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general__architecture": None}, "general.architecture is missing"),
        ({"llama__block_count": None}, "llama.block_count is missing"),
        ({"llama__block_count": 100_000}, "llama.block_count is 100000"),
        ({"llama__embedding_length": "wide"}, "llama.embedding_length is wide"),
        ({"llama__attention.head_count_kv": [8] * 31}, "one for each of 32"),
        ({"llama__feed_forward_length": 7168}, "its tensors hold"),
        ({"general__architecture": "mamba"}, "mamba.block_count is missing"),
        ({"llama__nextn_predict_layers": 32}, "should be less than block_count"),
    ],
)
def test_an_absurd_entry_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    assert said in refusal(tmp_path, **changes)


def test_a_split_model_is_whole(tmp_path: Path) -> None:
    metadata, tensors = llama_8b()
    names = list(tensors)
    for part, chosen in enumerate((names[:100], names[100:])):
        entries = metadata if part == 0 else {}
        split = {"split.count": 2, "split.no": part, "split.tensors.count": len(names)}
        write_gguf(
            tmp_path / f"m-0000{part + 1}-of-00002.gguf",
            {**entries, **split},
            {name: tensors[name] for name in chosen},
        )

    model: ModelSpec = resolve_model(f"{tmp_path}/")

    assert model.stored is not None
    assert 2 == model.stored.files
    assert len(tensors) == model.stored.tensors
