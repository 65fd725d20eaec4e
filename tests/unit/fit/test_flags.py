from dataclasses import replace

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.precisions import kv_format
from caudal.fit.flags import engine_flags
from memory_cases import eager, served
from model_files import LLAMA, read_model

LLAMA_8B = read_model(LLAMA)
H100 = gpu_catalogue().get("h100-sxm")


def test_vllm_is_told_layout_lengths_and_share() -> None:
    serving = eager(served(weights="fp8", cache="fp8", tensor=2, pipeline=2, expert=True).on(H100))

    flags = engine_flags(LLAMA_8B, serving, context_tokens=8192, concurrency=32)

    assert flags == (
        "--tensor-parallel-size 2",
        "--pipeline-parallel-size 2",
        "--enable-expert-parallel",
        "--quantization fp8",
        "--max-model-len 8192",
        "--max-num-seqs 32",
        "--max-num-batched-tokens 8192",
        "--gpu-memory-utilization 0.92",
        "--kv-cache-dtype fp8",
        "--enforce-eager",
    )


def test_plain_vllm_needs_few_flags() -> None:
    flags = engine_flags(LLAMA_8B, served(), context_tokens=8192, concurrency=32)

    assert flags == (
        "--max-model-len 8192",
        "--max-num-seqs 32",
        "--gpu-memory-utilization 0.92",
    )


def test_sglang_has_words_of_its_own() -> None:
    serving = eager(served(by="sglang", cache="fp8", tensor=2, pipeline=2, expert=True).on(H100))

    flags = engine_flags(LLAMA_8B, serving, context_tokens=8192, concurrency=32)

    assert flags[:5] == (
        "--tp-size 2",
        "--pp-size 2",
        "--ep-size 2",
        "--context-length 8192",
        "--max-running-requests 32",
    )
    assert "--kv-cache-dtype fp8_e4m3" in flags
    assert "--disable-cuda-graph" in flags
    assert any(flag.startswith("--mem-fraction-static 0.") for flag in flags)


def test_tensorrt_is_told_the_share_of_what_is_free() -> None:
    serving = served(by="trtllm", tensor=2, pipeline=2, expert=True).on(H100)

    flags = engine_flags(LLAMA_8B, serving, context_tokens=8192, concurrency=32)

    assert flags == (
        "--tp_size 2",
        "--pp_size 2",
        "--ep_size 2",
        "--max_seq_len 8192",
        "--max_batch_size 32",
        "--max_num_tokens 8192",
        "--kv_cache_free_gpu_memory_fraction 0.9",
    )


def test_llama_cpp_takes_the_context_of_all_slots() -> None:
    serving = replace(served(by="llama.cpp", cache="q8_0"), value_format=kv_format("q4_0"))

    flags = engine_flags(LLAMA_8B, serving, context_tokens=8192, concurrency=4)

    assert flags == (
        "--n-gpu-layers 999",
        "--ctx-size 32768",
        "--parallel 4",
        "--ubatch-size 512",
        "--cache-type-k q8_0",
        "--cache-type-v q4_0",
    )


def test_ollama_takes_the_context_of_one_slot() -> None:
    flags = engine_flags(
        LLAMA_8B, served(by="ollama", cache="q8_0"), context_tokens=8192, concurrency=4
    )

    assert flags == (
        "OLLAMA_CONTEXT_LENGTH=8192",
        "OLLAMA_NUM_PARALLEL=4",
        "OLLAMA_FLASH_ATTENTION=1",
        "OLLAMA_KV_CACHE_TYPE=q8_0",
    )


def test_an_engine_without_flags_gets_none() -> None:
    serving = replace(served(), engine=replace(served().engine, name="lmdeploy"))

    assert engine_flags(LLAMA_8B, serving, context_tokens=1, concurrency=1) == ()
