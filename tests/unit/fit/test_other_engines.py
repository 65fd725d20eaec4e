from dataclasses import replace

import pytest

from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format
from caudal.fit.needs import PoolRule, memory_needs
from caudal.vocabulary.errors import UnknownEngineError
from caudal.vocabulary.units import GIB, MIB, Tokens
from memory_cases import served
from model_files import DEEPSEEK, LLAMA, read_model


def test_sglang_stores_sliding_layers_in_full() -> None:
    # sgl-project/sglang pull 4826: 139,252 bytes a token for Gemma 3 4B
    needs = memory_needs(resolve_model("gemma-3-4b"), served(by="sglang"))

    assert needs.kv.bytes_per_token == 34 * 4 * 256 * 2 * 2


def test_sglang_gives_sliding_layers_of_gpt_oss_fewer_slots() -> None:
    model = resolve_model("gpt-oss-20b")

    old = memory_needs(model, served(by="sglang", version="0.4", weights="mxfp4"))
    new = memory_needs(model, served(by="sglang", version="0.5", weights="mxfp4"))

    assert new.kv.bytes_per_token == pytest.approx(0.9 * old.kv.bytes_per_token)


def test_sglang_gives_cross_attention_a_slot_a_token() -> None:
    # 163,840 bytes a token over all 40 layers of Llama 3.2 11B Vision
    needs = memory_needs(resolve_model("llama-3.2-11b-vision"), served(by="sglang"))

    assert needs.kv.bytes_per_token == 40 * 8 * 128 * 2 * 2


def test_sglang_takes_a_static_share() -> None:
    needs = memory_needs(read_model(LLAMA), replace(served(by="sglang"), memory_fraction=0.88))

    # SGLang documentation: 63.7 GiB after loading, 54.24 GiB of KV cache on 78.7 GiB
    pool = needs.kv_pool_bytes(78.7 * GIB + needs.other.value)

    assert needs.rule is PoolRule.STATIC
    assert pool.value == pytest.approx(54.24 * GIB, rel=0.005)


def test_tensorrt_takes_a_share_of_what_is_free() -> None:
    needs = memory_needs(read_model(LLAMA), replace(served(by="trtllm"), memory_fraction=0.5))

    free = 40 * GIB - needs.weights.value - needs.activation.value - needs.other.value
    assert needs.kv_pool_bytes(40.0 * GIB).value == pytest.approx(free / 2)


def test_llama_cpp_keeps_cells_for_windows_of_all_slots_and_one_step() -> None:
    # Gemma 4 12B, 4 slots, q8_0: 68 MiB in full layers (8,192 cells), 765 MiB sliding (4,608)
    model = resolve_model("gemma-4-12b")
    serving = replace(
        served(by="llama.cpp", cache="q8_0", longest=8192, sequences=4),
        micro_batch_tokens=Tokens(512),
    )

    kv = memory_needs(model, serving).kv

    assert kv.bytes_for(sequences=4, tokens=2048) == pytest.approx((68 + 765) * MIB)


def test_llama_cpp_keeps_states_in_32_bit_for_every_slot() -> None:
    # ggml-org/llama.cpp pull 23792: 448.88 MiB for 3 sequences of a Qwen3.5 27B class model
    kv = memory_needs(resolve_model("qwen3.6-27b"), served(by="llama.cpp")).kv

    assert 3 * kv.state_bytes == pytest.approx(448.88 * MIB, rel=1e-3)


def test_llama_cpp_may_keep_keys_and_values_in_different_types() -> None:
    # ikawrakow/ik_llama.cpp issue 103: K (iq4_nl) 18 MiB, V (f16) 64 MiB for 1,024 cells
    serving = replace(served(by="llama.cpp", cache="iq4_nl"), value_format=kv_format("f16"))

    kv = memory_needs(read_model(LLAMA), serving).kv

    assert kv.bytes_per_token * 1024 == (18 + 64) * MIB


def test_llama_cpp_can_store_latents_as_heads() -> None:
    serving = replace(served(by="llama.cpp", weights="fp16"), latent_as_heads=True)

    kv = memory_needs(read_model(DEEPSEEK), serving).kv

    assert kv.bytes_per_token == 61 * 128 * (192 + 128) * 2


def test_compute_buffer_follows_the_micro_batch() -> None:
    # gpt-oss-20b on llama.cpp: 0.41 GiB with n_ubatch 512, 1.633 GiB with 2,048
    model = resolve_model("gpt-oss-20b")

    for micro_batch, measured in ((512, 0.41), (2048, 1.633)):
        serving = replace(
            served(by="llama.cpp", weights="mxfp4", sequences=1),
            micro_batch_tokens=Tokens(micro_batch),
        )
        peak = memory_needs(model, serving).activation
        assert peak.value == pytest.approx(measured * GIB, rel=0.05)


def test_an_engine_without_a_memory_rule_is_refused() -> None:
    serving = served()
    unknown = replace(serving, engine=replace(serving.engine, name="lmdeploy"))

    with pytest.raises(UnknownEngineError, match="lmdeploy"):
        memory_needs(read_model(LLAMA), unknown)


def test_cells_of_a_step_are_padded_to_256() -> None:
    # gpt-oss-20b, n_ubatch 512: 768 cells in sliding layers, 18 MiB
    serving = replace(
        served(by="llama.cpp", weights="mxfp4", cache="f16", sequences=1),
        micro_batch_tokens=Tokens(512),
    )

    kv = memory_needs(resolve_model("gpt-oss-20b"), serving).kv

    full = 131_072 * kv.bytes_per_token
    assert kv.bytes_for(sequences=1, tokens=131_072) - full == 18 * MIB


def test_cross_attention_of_llama_cpp_has_no_step() -> None:
    kv = memory_needs(resolve_model("llama-3.2-11b-vision"), served(by="llama.cpp")).kv

    assert kv.shared_bytes == 0
    assert kv.state_bytes > 0
