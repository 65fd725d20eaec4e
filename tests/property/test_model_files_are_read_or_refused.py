"""Whatever a model file holds: one clear error, or a model whose numbers make sense."""

import copy
import json
from importlib.resources import files

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.facts.model import ModelSpec
from caudal.facts.weights import layer_counts, weight_groups
from caudal.vocabulary.errors import CaudalError
from model_files import read_model

FOLDER = files("caudal.facts") / "data" / "models"
# One file of each family of readers.
NAMES = (
    "meta-llama__Llama-3.1-8B",
    "Qwen__Qwen3-30B-A3B",
    "openai__gpt-oss-20b",
    "deepseek-ai__DeepSeek-V3.2",
    "deepseek-ai__DeepSeek-V4-Flash",
    "google__gemma-4-E2B-it",
    "google__gemma-4-26B-A4B-it",
    "Qwen__Qwen3.5-35B-A3B",
    "Qwen__Qwen3.8-Flash-Next",
    "nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
    "nvidia__Llama-3_3-Nemotron-Super-49B-v1",
    "ai21labs__Jamba-v0.1",
    "ibm-granite__granite-4.0-h-small",
    "tiiuae__Falcon-H1-7B-Instruct",
    "Zyphra__Zamba2-2.7B",
    "moonshotai__Kimi-K3",
    "MiniMaxAI__MiniMax-M1-80k",
    "MiniMaxAI__MiniMax-M3",
    "XiaomiMiMo__MiMo-V2-Flash",
    "meta-llama__Llama-4-Scout-17B-16E",
    "meta-llama__Llama-3.2-11B-Vision",
    "Deci__DeciLM-7B",
    "databricks__dbrx-base",
    "tiiuae__falcon-40b",
    "openai-community__gpt2",
    "facebook__opt-125m",
)
CONFIGS = [
    {
        key: value
        for key, value in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")).items()
        if not key.startswith("_")
    }
    for name in NAMES
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=0, max_value=300),
    st.sampled_from([-1, 0, 10**9, 10**12, 10**400]),
    st.floats(),
    st.text(max_size=8),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=5),
    st.dictionaries(st.text(max_size=5), SCALARS, max_size=3),
)


@st.composite
def mutated_configs(draw: st.DrawFn) -> dict[str, object]:
    config: dict[str, object] = copy.deepcopy(draw(st.sampled_from(CONFIGS)))
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        place = config
        while True:
            name = draw(st.sampled_from(sorted(place) or ["hidden_size"]))
            inner = place.get(name)
            if not isinstance(inner, dict) or draw(st.booleans()):
                break
            place = inner
        if draw(st.booleans()):
            place[name] = draw(VALUES)
        else:
            place.pop(name, None)
    return config


def read_or_refused(config: dict[str, object]) -> ModelSpec | CaudalError:
    try:
        return read_model(config)
    except CaudalError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(config=mutated_configs())
def test_a_changed_file_is_read_or_refused(config: dict[str, object]) -> None:
    answer = read_or_refused(config)

    if isinstance(answer, CaudalError):
        assert answer.problem.startswith("config.json: ")
        assert answer.remedy
    else:
        assert 0 < answer.active_parameters <= answer.total_parameters
        assert len(answer.layers) == sum(count for _, count in layer_counts(answer))
        assert all(group.parameters > 0 for group in weight_groups(answer))


@settings(max_examples=100, deadline=None)
@given(config=st.dictionaries(st.text(max_size=20), VALUES, max_size=8))
def test_any_object_at_all_is_refused(config: dict[str, object]) -> None:
    answer = read_or_refused(config)

    assert isinstance(answer, CaudalError)
    assert answer.problem.startswith("config.json: ")
