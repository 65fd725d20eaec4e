"""How a name is spelt does not change what it means, and no text breaks a look-up."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from caudal.facts.assumed import assumed_model
from caudal.facts.gpus import GpuSort, gpu_catalogue, nearest_alternatives, select_gpus
from caudal.facts.model_names import folded
from caudal.facts.models import model_catalogue
from caudal.facts.weights import total_parameters
from caudal.vocabulary.errors import InvalidQuantityError, UnknownGpuError
from caudal.vocabulary.units import Bytes

GPUS = gpu_catalogue()
MODELS = model_catalogue()
SEPARATORS = st.sampled_from([" ", "-", "_", "  ", " - "])
PIECES = st.sampled_from(
    ["H100", "A100", "80GB", "40g", "SXM", "PCIe", "RTX", "4090", "Ti", "x", "8", ":", "1..8", " "]
)


@given(spec=st.sampled_from(GPUS.all), separator=SEPARATORS, upper=st.booleans())
def test_case_and_separators_of_a_gpu_do_not_count(
    spec: object, *, separator: str, upper: bool
) -> None:
    gpu = next(known for known in GPUS.all if known is spec)
    core = gpu.names[0].partition("[")[0].strip()
    spelt = separator.join(core.split())

    found = GPUS.resolve(spelt.upper() if upper else spelt.title())

    assert gpu in found.specs


@given(text=st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map("".join)))
def test_every_text_is_a_gpu_or_an_explained_error(text: str) -> None:
    with suppress(UnknownGpuError, InvalidQuantityError):
        choice = GPUS.resolve(text)

        assert choice.specs
        assert choice.note or len(choice.specs) == 1


@given(minimum=st.integers(0, 10**12), sort=st.sampled_from(list(GpuSort)))
def test_a_higher_minimum_never_adds_a_gpu(minimum: int, sort: GpuSort) -> None:
    few = select_gpus(GPUS.all, min_memory=Bytes(2 * minimum), sort=sort)
    many = select_gpus(GPUS.all, min_memory=Bytes(minimum), sort=sort)

    assert {spec.id for spec in few} <= {spec.id for spec in many}
    assert few == tuple(spec for spec in many if spec in few)


@given(spec=st.sampled_from(GPUS.all), most=st.integers(0, 130))
def test_alternatives_are_others_without_doubles(spec: object, most: int) -> None:
    gpu = next(known for known in GPUS.all if known is spec)

    nearest = nearest_alternatives(gpu, GPUS.all, most=most)

    assert min(most, len(GPUS.all) - 1) == len(nearest) == len({other.id for other in nearest})
    assert gpu not in nearest


@given(entry=st.sampled_from(MODELS.entries), separator=SEPARATORS, upper=st.booleans())
def test_case_and_separators_of_a_model_do_not_count(
    entry: object, *, separator: str, upper: bool
) -> None:
    known = next(e for e in MODELS.entries if e is entry)
    spelt = known.short_name.replace("-", separator)

    assert known is MODELS.find(spelt.upper() if upper else spelt)


@given(text=st.text(max_size=60))
def test_looking_for_a_model_never_fails(text: str) -> None:
    assert MODELS.find(text) in {None, *MODELS.entries}
    assert folded(text) == folded(folded(text))


@given(parameters=st.integers(60_000_000, 3 * 10**12))
def test_an_assumed_model_has_its_size_exactly(parameters: int) -> None:
    model = assumed_model(parameters)

    assert parameters == total_parameters(model)
