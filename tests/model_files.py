"""Small model files for tests: a plain Llama, and ways to change it."""

from collections.abc import Mapping
from datetime import date

from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.readers.config import model_from_config
from caudal.facts.source import Source

LLAMA: Mapping[str, object] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MIXTRAL: Mapping[str, object] = {
    **LLAMA,
    "model_type": "mixtral",
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
DEEPSEEK: Mapping[str, object] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
}
SOURCE = Source("test", date(2026, 11, 30))


def read_model(config: Mapping[str, object], *, name: str = "config.json") -> ModelSpec:
    return model_from_config(
        config, name=name, source=SOURCE, confidence=ArchitectureConfidence.FILE
    )


def without(config: Mapping[str, object], *names: str) -> dict[str, object]:
    return {key: value for key, value in config.items() if key not in names}
