"""What one token leaves in the cache, by the shapes that readers give, against published figures.

The bytes on a GPU are the fit room's; here only the layers that keep something, and how much.
"""

from caudal.facts.model import (
    GroupedQueryAttention,
    LatentAttention,
    ModelSpec,
    RecurrentMixer,
)
from caudal.facts.models import resolve_model

BF16_BYTES = 2


def cached_elements(model: ModelSpec, *, windows: bool = True) -> int:
    total = 0
    for layer in model.layers:
        for mixer in layer.mixers:
            match mixer:
                case GroupedQueryAttention() if mixer.owns_kv:
                    if windows or mixer.window_tokens is None:
                        value = mixer.value_head_dim or mixer.head_dim
                        total += mixer.kv_heads * (mixer.head_dim + value)
                case LatentAttention():
                    total += mixer.kv_lora_rank + mixer.rope_head_dim
                case _:
                    pass
    return total


def attention_layers(model: ModelSpec) -> list[GroupedQueryAttention]:
    return [
        mixer
        for layer in model.layers
        for mixer in layer.mixers
        if isinstance(mixer, GroupedQueryAttention)
    ]


def recurrent_layers(model: ModelSpec) -> list[RecurrentMixer]:
    return [
        mixer
        for layer in model.layers
        for mixer in layer.mixers
        if isinstance(mixer, RecurrentMixer)
    ]


def test_deepseek_v3_keeps_70_kilobytes_a_token() -> None:
    # arXiv:2505.09343 table 1: 70.272 KB
    assert cached_elements(resolve_model("deepseek-v3")) * BF16_BYTES == 70_272


def test_llama_31_70b_keeps_320_kibibytes_a_token() -> None:
    # arXiv:2505.09343 table 1 has 516.096 KB for 405B: 126 layers; 70B has 80
    assert cached_elements(resolve_model("llama-3.1-405b")) * BF16_BYTES == 516_096
    assert cached_elements(resolve_model("llama-3.1-70b")) * BF16_BYTES == 327_680


def test_half_of_gpt_oss_slides() -> None:
    model = resolve_model("gpt-oss-120b")

    # arXiv:2508.10925 section 2.2: alternating full and banded windows of 128 tokens
    assert cached_elements(model) * BF16_BYTES == 73_728
    assert cached_elements(model, windows=False) * BF16_BYTES == 36_864
    assert {mixer.window_tokens for mixer in attention_layers(model)} == {None, 128}


def test_gemma_3_has_one_full_layer_in_six() -> None:
    layers = attention_layers(resolve_model("gemma-3-27b"))

    # arXiv:2503.19786 section 2: five local layers, then a global one; windows of 1024
    full = [index for index, mixer in enumerate(layers) if mixer.window_tokens is None]
    assert full == list(range(5, 62, 6))
    assert {mixer.window_tokens for mixer in layers} == {None, 1024}


def test_gemma_4_e2b_shares_the_cache_of_its_last_layers() -> None:
    layers = attention_layers(resolve_model("gemma-4-e2b"))

    # config.json: num_kv_shared_layers 20 of 35, global_head_dim 512
    assert [mixer.owns_kv for mixer in layers] == [True] * 15 + [False] * 20
    assert {mixer.head_dim for mixer in layers if mixer.window_tokens is None} == {512}


def test_gemma_4_31b_stores_keys_as_values_in_full_layers() -> None:
    layers = attention_layers(resolve_model("gemma-4-31b"))

    full = {mixer for mixer in layers if mixer.window_tokens is None}
    assert [(mixer.kv_heads, mixer.key_is_value) for mixer in full] == [(4, True)]


def test_qwen3_next_attends_in_one_layer_of_four() -> None:
    model = resolve_model("qwen3-next-80b-a3b-instruct")

    # config.json: full_attention_interval 4 of 48; 32 value heads of 128 by 128
    assert (len(attention_layers(model)), len(recurrent_layers(model))) == (12, 36)
    assert {mixer.state_elements for mixer in recurrent_layers(model)} == {32 * 128 * 128}


def test_nemotron_h_8b_attends_in_four_layers() -> None:
    model = resolve_model("nvidia/Nemotron-H-8B-Base-8K")

    # arXiv:2504.03624 table 1: 52 layers, 4 of them attention, 24 Mamba-2 with 128 heads of 64
    assert (len(attention_layers(model)), len(recurrent_layers(model))) == (4, 24)
    assert {mixer.state_elements for mixer in recurrent_layers(model)} == {128 * 64 * 128}


def test_llama_4_reads_chunks_in_three_layers_of_four() -> None:
    layers = attention_layers(resolve_model("llama-4-scout"))

    assert [mixer.chunk_tokens for mixer in layers[:4]] == [8192, 8192, 8192, None]


def test_deepseek_v4_flash_folds_four_or_128_tokens() -> None:
    model = resolve_model("deepseek-v4-flash")

    # config.json: compress_ratios, sliding_window 128; a latent of 512 holds key and value
    mixers = [layer.mixers[0] for layer in model.layers]
    latent = [mixer for mixer in mixers if isinstance(mixer, LatentAttention)]
    assert [mixer.compression for mixer in latent[:4]] == [1, 1, 4, 128]
    assert {mixer.window_tokens for mixer in latent} == {128}
    assert [mixer.attends_beyond_window for mixer in latent[:3]] == [False, False, True]
    assert {mixer.indexer is not None for mixer in latent if mixer.compression == 4} == {True}


def test_glm_52_computes_its_indexer_on_full_layers_only() -> None:
    model = resolve_model("glm-5.2")

    owners = [
        mixer.indexer.owns_cache
        for layer in model.layers
        for mixer in layer.mixers
        if isinstance(mixer, LatentAttention) and mixer.indexer is not None
    ]
    # config.json: indexer_types, of which 21 are "full"
    assert (len(owners), sum(owners)) == (78, 21)
