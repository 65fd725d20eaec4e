"""Families of architectures: for each `model_type`, how its fields become layers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from caudal.facts.readers.families.conventions import DECODERS
from caudal.facts.readers.families.decoder import read_decoder
from caudal.facts.readers.families.deepseek_v4 import read_deepseek_v4
from caudal.facts.readers.families.gemma import read_gemma4
from caudal.facts.readers.families.hybrid import (
    read_kimi_linear,
    read_minimax_m1,
    read_qwen3_next,
)
from caudal.facts.readers.families.irregular import (
    read_deci,
    read_llama4,
    read_mimo_v2,
    read_minimax_m3,
    read_mllama,
    read_nemotron_nas,
)
from caudal.facts.readers.families.latent import read_latent
from caudal.facts.readers.families.legacy import (
    read_bloom,
    read_dbrx,
    read_falcon,
    read_gpt2,
    read_gpt_neox,
    read_gptj,
    read_opt,
    read_phi,
)
from caudal.facts.readers.families.mamba import (
    read_falcon_h1,
    read_granite_hybrid,
    read_jamba,
    read_nemotron_h,
    read_zamba2,
)
from caudal.facts.readers.families.qwen4 import read_qwen4
from caudal.facts.readers.families.shape import Shape
from caudal.facts.readers.fields import ConfigFields

Reader = Callable[[ConfigFields], Shape]

_LATENT: Final = (
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "kimi_k2",
)

READERS: Final[Mapping[str, Reader]] = {
    **{
        family: partial(read_decoder, conventions=conventions)
        for family, conventions in DECODERS.items()
    },
    **dict.fromkeys(_LATENT, read_latent),
    "bloom": read_bloom,
    "dbrx": read_dbrx,
    "deci": read_deci,
    "deepseek_v4": read_deepseek_v4,
    "falcon": read_falcon,
    "falcon_h1": read_falcon_h1,
    "gemma4": read_gemma4,
    "gemma4_unified": read_gemma4,
    "gpt2": read_gpt2,
    "gpt_bigcode": partial(read_gpt2, multi_query=True),
    "gpt_neox": read_gpt_neox,
    "gptj": read_gptj,
    "llama4": read_llama4,
    "mimo_v2": read_mimo_v2,
    "mimo_v2_flash": read_mimo_v2,
    "minimax_m3": read_minimax_m3,
    "mllama": read_mllama,
    "nemotron-nas": read_nemotron_nas,
    "opt": read_opt,
    "phi": read_phi,
    "granitemoehybrid": read_granite_hybrid,
    "jamba": read_jamba,
    "kimi_linear": read_kimi_linear,
    "minimax_m1": read_minimax_m1,
    "nemotron_h": read_nemotron_h,
    "qwen3_5": read_qwen3_next,
    "qwen3_5_moe": read_qwen3_next,
    "qwen3_next": read_qwen3_next,
    "qwen4_exp": read_qwen4,
    "mistral_large_3": partial(read_latent, corrected_scores=False),
    "zamba2": read_zamba2,
}
"""The reader of each family; a text model inside a multimodal one drops its `_text`."""
