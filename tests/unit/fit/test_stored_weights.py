"""Weights whose bytes were read from headers are predicted to the byte, whole and split."""

from pathlib import Path

import pytest

from caudal.facts.engines import engine
from caudal.facts.layout import Layout
from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.fit.weights import weight_needs
from caudal.vocabulary.estimate import Basis
from gguf_models import MODELS, write_model


def llama_cpp(stored: str, *, stages: int = 1) -> Serving:
    return Serving(
        engine=engine("llama.cpp"),
        weight_format=weight_format(stored),
        kv_format=kv_format("bf16"),
        layout=Layout(pipeline=stages),
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_gguf_on_one_gpu_is_its_tensors(tmp_path: Path, name: str) -> None:
    model = resolve_model(str(write_model(tmp_path / "x.gguf", name)))

    needs = weight_needs(model, llama_cpp(model.checkpoint.weight_format))

    # a tied embedding is the head on the GPU, and looked up in a copy on the host
    twice = needs.host if model.tied_embeddings else 0.0
    assert model.checkpoint_bytes == pytest.approx(needs.total.value + needs.host - twice)
    assert Basis.EXACT is needs.total.basis


def test_each_role_is_what_the_file_holds(tmp_path: Path) -> None:
    model = resolve_model(str(write_model(tmp_path / "x.gguf", "Llama-3.1-8B")))

    needs = weight_needs(model, llama_cpp("q4_k_m"))
    by_role = dict(needs.by_role)

    assert model.stored is not None
    stored = dict(model.stored.by_role)
    for role in (Role.HEAD, Role.DENSE, Role.KEY_VALUE):
        assert stored[role] == pytest.approx(by_role[role], rel=1e-6)
    assert stored[Role.EMBEDDING] == pytest.approx(needs.host, rel=1e-6)


def test_a_format_that_the_file_is_not_in_ignores_its_bytes(tmp_path: Path) -> None:
    model = resolve_model(str(write_model(tmp_path / "x.gguf", "Llama-3.1-8B")))
    known = resolve_model("llama-3.1-8b")

    assert weight_needs(known, llama_cpp("q8_0")) == weight_needs(model, llama_cpp("q8_0"))


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_stages_lose_no_bytes(tmp_path: Path, stages: int) -> None:
    model = resolve_model(str(write_model(tmp_path / "x.gguf", "gemma-3-27b-it")))

    needs = weight_needs(model, llama_cpp(model.checkpoint.weight_format, stages=stages))

    assert model.checkpoint_bytes is not None
    assert model.checkpoint_bytes <= needs.total.value * stages * 1.000001
