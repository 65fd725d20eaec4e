"""Fields that published multimodal files leave out of their text section.

The library that wrote such a file drops what equals its class defaults; a text model's own file
is complete. Only fields with a default here may be absent.

Source: transformers 5, configuration_llama.py, configuration_mistral.py, configuration_gemma3.py.
"""

from collections.abc import Mapping
from typing import Final

CLASS_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    "gemma3": {
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131_072,
        "sliding_window_pattern": 6,
    },
    "llama": {
        "hidden_size": 4_096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32_000,
        "max_position_embeddings": 2_048,
    },
    "mistral": {
        "hidden_size": 4_096,
        "intermediate_size": 14_336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32_000,
        "max_position_embeddings": 131_072,
    },
}
