"""What each family of plain decoders fixes in its code, by the `model_type` of its file.

Source: the model classes of transformers 5 and vLLM 0.12. The rows of families in the catalogue
are checked by the parameter counts of tests/golden/test_parameter_counts.py.
"""

from typing import Final

from caudal.facts.readers.families.attention import QueryKeyNorm
from caudal.facts.readers.families.decoder import Conventions, Prediction
from caudal.facts.readers.families.feed_forward import MixtureConventions

_LLAMA: Final = Conventions()
_MISTRAL: Final = Conventions(query_key_value_bias=False, output_bias=False)
_QWEN2: Final = Conventions(query_key_value_bias=True, output_bias=False)
_QWEN3: Final = Conventions(query_key_norm=QueryKeyNorm.HEAD)
_OLMO2: Final = Conventions(query_key_norm=QueryKeyNorm.PROJECTION)
_GLM4: Final = Conventions(norms=4, output_bias=False)
_CHOSEN_BY_CORRECTED_SCORE: Final = MixtureConventions(router_bias=True)
_GLM4_MOE: Final = Conventions(
    output_bias=False,
    query_key_norm_if_asked=QueryKeyNorm.HEAD,
    mixture=_CHOSEN_BY_CORRECTED_SCORE,
    prediction=Prediction.OWN,
)

DECODERS: Final[dict[str, Conventions]] = {
    "apertus": Conventions(gated=False, query_key_norm=QueryKeyNorm.HEAD),
    "aquila": _LLAMA,
    "arcee": Conventions(gated=False),
    "baichuan": _LLAMA,
    "bitnet": Conventions(tied=True, inner_norms=True),
    "chatglm": Conventions(output_bias=False),
    "cohere": Conventions(tied=True, norms=1, query_key_norm_if_asked=QueryKeyNorm.PROJECTION),
    "cohere2": Conventions(tied=True, norms=1, full_every=4),
    "deepseek": _LLAMA,
    "dots1": Conventions(query_key_norm=QueryKeyNorm.HEAD, mixture=_CHOSEN_BY_CORRECTED_SCORE),
    "ernie4_5": Conventions(tied=True),
    "exaone": _LLAMA,
    "exaone4": Conventions(
        query_key_value_bias=False, output_bias=False, query_key_norm=QueryKeyNorm.HEAD
    ),
    "gemma": Conventions(tied=True),
    "gemma2": Conventions(tied=True, norms=4, full_every=2),
    "gemma3": Conventions(tied=True, norms=4, full_every=6, query_key_norm=QueryKeyNorm.HEAD),
    "glm": Conventions(output_bias=False),
    "glm4": _GLM4,
    "glm4_moe": _GLM4_MOE,
    "glm4v": _GLM4,
    "glm4v_moe": _GLM4_MOE,
    "gpt_oss": Conventions(
        query_key_value_bias=True,
        output_bias=True,
        sinks=True,
        mixture=MixtureConventions(bias=True, router_bias=True),
    ),
    "granite": Conventions(tied=True),
    "granitemoe": Conventions(tied=True),
    "granitemoeshared": Conventions(tied=True),
    "hunyuan_v1_dense": Conventions(tied=True, query_key_norm=QueryKeyNorm.HEAD),
    "internlm2": _MISTRAL,
    "internlm3": _LLAMA,
    "llama": _LLAMA,
    "mimo": Conventions(query_key_value_bias=True, output_bias=False, prediction=Prediction.SHARED),
    "minicpm": _LLAMA,
    "minimax_m2": Conventions(
        query_key_norm=QueryKeyNorm.PROJECTION, mixture=_CHOSEN_BY_CORRECTED_SCORE
    ),
    "ministral3": _MISTRAL,
    "mistral": _MISTRAL,
    "mixtral": _MISTRAL,
    "nemotron": Conventions(norm_bias=True, gated=False),
    "olmo2": _OLMO2,
    "olmo3": _OLMO2,
    "olmoe": _OLMO2,
    "phi3": _MISTRAL,
    "phimoe": Conventions(norm_bias=True, head_bias=True),
    "qwen2": _QWEN2,
    "qwen2_5_omni": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_moe": Conventions(
        query_key_value_bias=True,
        output_bias=False,
        mixture=MixtureConventions(shared_gate=True),
    ),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_omni_moe": _QWEN3,
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "seed_oss": Conventions(output_bias=None),
    "smollm3": Conventions(tied=True),
    "stablelm": Conventions(norm_bias=True, output_bias=False),
    "step3p7": _LLAMA,
    "starcoder2": Conventions(tied=True, norm_bias=True, gated=False, feed_forward_bias=True),
}
"""Families that differ from Llama in these facts only."""
