"""A model of which only the size is known."""

import pytest

from caudal.facts.assumed import assumed_model
from caudal.facts.model import ArchitectureConfidence, DenseFeedForward, GroupedQueryAttention
from caudal.facts.models import model_catalogue
from caudal.facts.weights import total_parameters
from caudal.vocabulary.errors import InvalidQuantityError

SIZES = [60_000_000, 10**8, 5 * 10**8, 10**9, 7 * 10**9, 13 * 10**9, 10**11, 10**12, 3 * 10**12]


def shape(parameters: int) -> tuple[int, GroupedQueryAttention, DenseFeedForward]:
    model = assumed_model(parameters)
    (mixer,) = model.layers[0].mixers
    feed_forward = model.layers[0].feed_forward
    assert isinstance(mixer, GroupedQueryAttention)
    assert isinstance(feed_forward, DenseFeedForward)
    return len(model.layers), mixer, feed_forward


@pytest.mark.parametrize("parameters", SIZES)
def test_the_shape_has_exactly_the_parameters_asked_for(parameters: int) -> None:
    model = assumed_model(parameters)

    assert parameters == model.total_parameters == total_parameters(model)
    assert parameters == model.active_parameters
    assert 0 <= model.extra_parameters <= 0.05 * parameters


@pytest.mark.parametrize("parameters", SIZES)
def test_the_shape_divides_over_eight_gpus(parameters: int) -> None:
    _, attention, feed_forward = shape(parameters)

    assert 0 == attention.heads % 8 == attention.kv_heads % 8
    assert 0 == feed_forward.intermediate % 256


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("llama-3.1-8b", 0.02), ("llama-3.1-70b", 0.02), ("llama-3.1-405b", 0.02)],
)
def test_a_published_size_gives_its_published_shape(name: str, tolerance: float) -> None:
    known = model_catalogue().load(name)
    (published,) = known.layers[0].mixers
    published_ff = known.layers[0].feed_forward
    assert isinstance(published, GroupedQueryAttention)
    assert isinstance(published_ff, DenseFeedForward)

    layers, attention, feed_forward = shape(known.total_parameters)

    assert len(known.layers) == layers
    assert published.heads == attention.heads
    assert published.kv_heads == attention.kv_heads
    assert published.head_dim == attention.head_dim
    assert published_ff.intermediate == pytest.approx(feed_forward.intermediate, rel=tolerance)


def test_larger_models_have_no_smaller_cache() -> None:
    caches = []
    for parameters in SIZES:
        layers, attention, _ = shape(parameters)
        caches.append(layers * attention.kv_heads * attention.head_dim)

    assert caches[3:] == sorted(caches[3:])  # from 1B on; below, shapes are deep and narrow


def test_the_roughness_is_said() -> None:
    model = assumed_model(13 * 10**9)

    assert ArchitectureConfidence.ASSUMED == model.confidence
    assert "assumed-13b" == model.id
    assert "factor of two to five" in model.note
    assert "mixture of experts" not in model.note
    assert "mixture of experts is likelier" in assumed_model(10**12).note


@pytest.mark.parametrize("parameters", [0, -1, 10, 59_999_999, 3 * 10**12 + 1, 10**18])
def test_sizes_that_resemble_nothing_are_refused(parameters: int) -> None:
    with pytest.raises(InvalidQuantityError, match="No shape can be assumed"):
        assumed_model(parameters)
