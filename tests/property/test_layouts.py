from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from caudal.facts.layout import Layout
from caudal.facts.model import (
    ArchitectureConfidence,
    CheckpointFormat,
    DenseFeedForward,
    GroupedQueryAttention,
    Layer,
    ModelSpec,
)
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import weight_format
from caudal.facts.source import Source
from caudal.fit.layouts import layout_problem, legal_layouts
from caudal.vocabulary.units import Tokens

FORMATS = [weight_format(name) for name in ("bf16", "fp8", "fp8-block", "int4", "nvfp4", "nf4")]


@st.composite
def dense_models(draw: st.DrawFn) -> ModelSpec:
    kv_heads = draw(st.integers(1, 16))
    attention = GroupedQueryAttention(
        heads=kv_heads * draw(st.integers(1, 8)),
        kv_heads=kv_heads,
        head_dim=draw(st.sampled_from([64, 96, 128])),
    )
    layer = Layer(
        mixers=(attention,),
        feed_forward=DenseFeedForward(intermediate=64 * draw(st.integers(1, 500))),
    )
    return ModelSpec(
        id="drawn",
        family="llama",
        hidden=4096,
        layers=(layer,) * draw(st.integers(1, 100)),
        vocabulary=32_000,
        tied_embeddings=False,
        max_context_tokens=Tokens(8192),
        checkpoint=CheckpointFormat(weight_format="bf16"),
        total_parameters=1,
        active_parameters=1,
        confidence=ArchitectureConfidence.FILE,
        source=Source("drawn", date(2026, 11, 30)),
    )


@given(model=dense_models(), stored=st.sampled_from(FORMATS), tensor=st.integers(1, 64))
def test_a_refused_layout_names_only_sizes_that_are_legal(
    model: ModelSpec, stored: WeightFormat, tensor: int
) -> None:
    problem = layout_problem(model, Layout(tensor=tensor), stored)

    if problem is not None:
        assert tensor not in problem.legal_sizes
        assert tensor not in problem.rule_sizes
        assert set(problem.legal_sizes) <= set(problem.rule_sizes)
        for size in problem.legal_sizes:
            assert layout_problem(model, Layout(tensor=size), stored) is None


@given(model=dense_models(), gpus=st.integers(1, 16))
def test_quantised_storage_never_allows_more(model: ModelSpec, gpus: int) -> None:
    plain = set(legal_layouts(model, FORMATS[0], gpus=gpus))

    for stored in FORMATS[1:]:
        assert set(legal_layouts(model, stored, gpus=gpus)) <= plain


@given(model=dense_models(), gpus=st.integers(1, 16))
def test_every_legal_layout_uses_all_gpus(model: ModelSpec, gpus: int) -> None:
    for layout in legal_layouts(model, FORMATS[0], gpus=gpus):
        assert layout.gpus == gpus
        assert layout.pipeline <= len(model.layers)


@given(model=dense_models())
def test_one_gpu_is_always_legal(model: ModelSpec) -> None:
    for stored in FORMATS:
        assert layout_problem(model, Layout(), stored) is None
