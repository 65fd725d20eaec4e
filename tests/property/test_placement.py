"""Laws of a split by layers: nothing is lost, more room never holds less."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.fit.budget import CardMemory, Verdict
from caudal.fit.placement import Offload, most_gpu_layers, place
from caudal.vocabulary.units import GIB, Tokens
from memory_cases import served

MODELS = [
    resolve_model(name) for name in ("llama-3.1-8b", "gpt-oss-20b", "gemma-3-4b", "olmoe-1b-7b")
]
CARDS = st.lists(st.floats(1, 96), min_size=1, max_size=6)
WHOLE = served(by="llama.cpp", weights="q4_k_m", longest=4096, sequences=1)


def cards(sizes: list[float]) -> list[CardMemory]:
    return [CardMemory(size * GIB, unified=False) for size in sizes]


@settings(deadline=None)
@given(
    model=st.sampled_from(MODELS),
    sizes=CARDS,
    layers=st.none() | st.integers(0, 40),
    experts=st.integers(0, 40),
)
def test_layers_are_somewhere_and_once(
    model: ModelSpec, sizes: list[float], layers: int | None, experts: int
) -> None:
    offload = Offload(gpu_layers=layers, host_expert_layers=experts)

    placed = place(model, WHOLE, cards(sizes), offload)

    on_cards = sum(share.layers for share in placed.devices)
    assert len(model.layers) == on_cards + placed.host.layers
    held = sum(share.needs.weights.value for share in placed.devices) + placed.host.weights.value
    everything = place(model, WHOLE, cards([96.0]))
    whole = everything.devices[0].needs.weights.value + everything.host.weights.value
    assert abs(held / whole - 1) < 1e-9


@settings(deadline=None, max_examples=40)
@given(model=st.sampled_from(MODELS), size=st.floats(1, 24), more=st.floats(0, 24))
def test_a_larger_card_never_holds_fewer_layers(model: ModelSpec, size: float, more: float) -> None:
    small, large = (
        most_gpu_layers(model, WHOLE, cards([each]), sequences=1, tokens=4096)
        for each in (size, size + more)
    )

    assert small <= large


@settings(deadline=None, max_examples=40)
@given(model=st.sampled_from(MODELS), sizes=CARDS, context=st.integers(512, 65_536))
def test_a_longer_context_never_fits_where_a_shorter_does_not(
    model: ModelSpec, sizes: list[float], context: int
) -> None:
    short, long = (
        place(model, replace(WHOLE, max_model_tokens=Tokens(tokens)), cards(sizes)).verdict(
            cards(sizes), sequences=1, tokens=tokens
        )
        for tokens in (context, 2 * context)
    )

    assert short is Verdict.FITS or long is not Verdict.FITS
