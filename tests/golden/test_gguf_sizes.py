"""GGUF files as large as the recipe says: bits by role over the model's own weight groups."""

import pytest

from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.facts.precisions import weight_format
from caudal.facts.weights import weight_groups
from caudal.vocabulary.units import GIB

# File sizes as llama-bench printed them, two decimals.
GEERLING = "github:geerlingguy/ai-benchmarks@bdf94413f5f2 README.md"
R9700 = "github:kyuz0/amd-r9700-ai-toolboxes@8ad62bcda86d docs/results.json"
STRIX = "github:kyuz0/amd-strix-halo-toolboxes@d1a34bee0900 docs/results.json"
DAI = "github:XiongjieDai/GPU-Benchmarks-on-LLM-Inference@aa72e0ec86c3 README.md"
FILES = [
    ("meta-llama/Llama-3.2-3B", "q4_k_m", 1.88, GEERLING),
    ("Qwen/Qwen2.5-14B", "q4_k_m", 8.37, GEERLING),
    ("meta-llama/Llama-3.1-70B", "q4_k_m", 39.60, GEERLING),
    ("meta-llama/Llama-3.1-405B", "q4_k_m", 226.0, GEERLING),
    ("meta-llama/Llama-3.1-8B", "q4_k_m", 4.58, DAI),
    ("openai/gpt-oss-20b", "mxfp4_moe", 11.27, R9700),
    ("openai/gpt-oss-120b", "mxfp4_moe", 59.02, STRIX),
    ("google/gemma-3-4b-it", "q3_k_s", 1.80, R9700),
    ("Qwen/Qwen3-30B-A3B-Instruct-2507", "q4_k_m", 17.35, R9700),
    ("mistralai/Devstral-2-123B-Instruct-2512", "q3_k_s", 50.63, R9700),
    ("meta-llama/Llama-2-7b-hf", "q4_0", 3.56, STRIX),
    ("google/gemma-3-27b-it", "bf16", 50.31, R9700),
]
NOT_IN_THE_FILE = {Role.MTP, Role.VISION}  # the projector for images is a file of its own


@pytest.mark.parametrize(("model_id", "stored", "gib", "source"), FILES)
def test_a_gguf_file_has_the_size_of_its_recipe(
    model_id: str, stored: str, gib: float, source: str
) -> None:
    model, mix = resolve_model(model_id), weight_format(stored)

    bits = sum(
        group.parameters * mix.bits_for(group.role, tied_embeddings=model.tied_embeddings)
        for group in weight_groups(model)
        if group.role not in NOT_IN_THE_FILE
    )

    assert gib == pytest.approx(bits / 8 / GIB, rel=0.006), source
