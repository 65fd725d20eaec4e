"""Architectures whose GGUF metadata have words of their own make the same stack as config.json.

Keys and tensor names as llama.cpp's converter writes them (conversion of each class in
convert_hf_to_gguf.py); only the tensors that say something are listed.
"""

from collections.abc import Callable, Mapping

import pytest

from caudal.facts.models import resolve_model
from caudal.facts.readers.gguf_config import config_of_gguf
from caudal.facts.readers.weight_file import StoredTensor, WeightHeader
from caudal.vocabulary.units import Bytes
from model_files import read_model

Parts = Callable[[int], tuple[str, ...]]
ATTENTION = ("attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight")
MAMBA = ("ssm_conv1d.weight", "ssm_in.weight", "ssm_norm.weight")
DENSE = ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight")
EXPERTS = ("ffn_gate_inp.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight")


def header(
    architecture: str, values: Mapping[str, object], parts: Parts, *, rows: int, tied: bool
) -> WeightHeader:
    layers = values["block_count"]
    assert isinstance(layers, int)
    names = [f"blk.{layer}.{part}" for layer in range(layers) for part in parts(layer)]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (8, 8))
    shapes["token_embd.weight"] = (rows, 8)
    if not tied:
        shapes["output.weight"] = (rows, 8)
    return WeightHeader(
        file="x.gguf",
        metadata={
            "general.architecture": architecture,
            **{f"{architecture}.{key}": value for key, value in values.items()},
        },
        tensors=tuple(
            StoredTensor(name=name, stored_as="q8_0", shape=shape, bytes=Bytes(68))
            for name, shape in shapes.items()
        ),
    )


def mamba2(inner: int, heads: int, state: int, groups: int) -> dict[str, object]:
    return {
        "ssm.inner_size": inner,
        "ssm.time_step_rank": heads,
        "ssm.state_size": state,
        "ssm.group_count": groups,
        "ssm.conv_kernel": 4,
    }


def granite() -> WeightHeader:
    attending = {5, 15, 25, 35}
    values = {
        "block_count": 40,
        "context_length": 131_072,
        "embedding_length": 4096,
        "feed_forward_length": 768,
        "expert_feed_forward_length": 768,
        "expert_count": 72,
        "expert_used_count": 10,
        "expert_shared_feed_forward_length": 1536,
        "attention.head_count": 32,
        "attention.head_count_kv": tuple(8 if n in attending else 0 for n in range(40)),
        **mamba2(8192, 128, 128, 1),
    }

    def parts(layer: int) -> tuple[str, ...]:
        return (*(ATTENTION if layer in attending else MAMBA), *EXPERTS)

    return header("granitehybrid", values, parts, rows=100_352, tied=True)


NEMOTRON = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"


def nemotron_h() -> WeightHeader:
    values = {
        "block_count": 56,
        "context_length": 131_072,
        "embedding_length": 4480,
        "feed_forward_length": tuple(15_680 if kind == "-" else 0 for kind in NEMOTRON),
        "attention.head_count": 40,
        "attention.head_count_kv": tuple(8 if kind == "*" else 0 for kind in NEMOTRON),
        "attention.key_length": 128,
        **mamba2(10_240, 128, 128, 8),
    }
    by_kind = {"M": MAMBA, "*": ATTENTION, "-": DENSE[1:]}
    return header(
        "nemotron_h", values, lambda layer: by_kind[NEMOTRON[layer]], rows=131_072, tied=False
    )


def falcon_h1() -> WeightHeader:
    values = {
        "block_count": 44,
        "context_length": 262_144,
        "embedding_length": 3072,
        "feed_forward_length": 12_288,
        "attention.head_count": 12,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        **mamba2(3072, 24, 256, 1),
    }
    both = (*ATTENTION, "ssm_conv1d.weight", "ssm_in.weight", *DENSE)
    return header("falcon-h1", values, lambda _: both, rows=130_048, tied=False)


def jamba() -> WeightHeader:
    values = {
        "block_count": 32,
        "context_length": 262_144,
        "embedding_length": 4096,
        "feed_forward_length": 14_336,
        "expert_count": 16,
        "expert_used_count": 2,
        "attention.head_count": 32,
        "attention.head_count_kv": tuple(8 if n % 8 == 4 else 0 for n in range(32)),
        "ssm.inner_size": 8192,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 256,
        "ssm.conv_kernel": 4,
    }

    def parts(layer: int) -> tuple[str, ...]:
        mixer = ATTENTION if layer % 8 == 4 else MAMBA
        return (*mixer, *(EXPERTS if layer % 2 else DENSE))

    return header("jamba", values, parts, rows=65_536, tied=False)


def gemma4(layers: int, period: int, shared: int) -> tuple[tuple[bool, ...], Parts]:
    slides = tuple((n + 1) % period != 0 for n in range(layers))

    def parts(layer: int) -> tuple[str, ...]:
        owned = ATTENTION if layer < layers - shared else ("attn_q.weight", "attn_output.weight")
        return (*owned, *DENSE)

    return slides, parts


def gemma4_e2b() -> WeightHeader:
    slides, parts = gemma4(35, 5, 20)
    values = {
        "block_count": 35,
        "context_length": 131_072,
        "embedding_length": 1536,
        "feed_forward_length": tuple(6144 if n < 15 else 12_288 for n in range(35)),
        "attention.head_count": 8,
        "attention.head_count_kv": 1,
        "attention.key_length": 512,
        "attention.key_length_swa": 256,
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": slides,
        "attention.shared_kv_layers": 20,
        "embedding_length_per_layer_input": 256,
    }
    return header("gemma4", values, parts, rows=262_144, tied=True)


def gemma4_26b() -> WeightHeader:
    slides, _ = gemma4(30, 6, 0)
    values = {
        "block_count": 30,
        "context_length": 262_144,
        "embedding_length": 2816,
        "feed_forward_length": 2112,
        "expert_feed_forward_length": 704,
        "expert_count": 128,
        "expert_used_count": 8,
        "attention.head_count": 16,
        "attention.head_count_kv": tuple(8 if slid else 2 for slid in slides),
        "attention.key_length": 512,
        "attention.key_length_swa": 256,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": slides,
    }

    def parts(layer: int) -> tuple[str, ...]:
        keys = ATTENTION if slides[layer] else ("attn_q.weight", "attn_k.weight")
        return (*keys, *DENSE, *EXPERTS)

    return header("gemma4", values, parts, rows=262_144, tied=True)


def llama4() -> WeightHeader:
    values = {
        "block_count": 48,
        "context_length": 10_485_760,
        "embedding_length": 5120,
        "feed_forward_length": 16_384,
        "expert_feed_forward_length": 8192,
        "expert_count": 16,
        "expert_used_count": 1,
        "attention.head_count": 40,
        "attention.head_count_kv": 8,
        "attention.key_length": 128,
        "interleave_moe_layer_step": 1,
    }
    return header("llama4", values, lambda _: (*ATTENTION, *EXPERTS), rows=202_048, tied=False)


def kimi_linear() -> WeightHeader:
    full = {3, 7, 11, 15, 19, 23, 26}
    values = {
        "block_count": 27,
        "context_length": 1_048_576,
        "embedding_length": 2304,
        "feed_forward_length": 9216,
        "expert_feed_forward_length": 1024,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "attention.head_count": 32,
        "attention.head_count_kv": tuple(1 if n in full else 0 for n in range(27)),
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
        "kda.head_dim": 128,
        "ssm.conv_kernel": 4,
    }

    def parts(layer: int) -> tuple[str, ...]:
        latent = ("attn_q.weight", "attn_kv_a_mqa.weight", "attn_k_b.weight", "attn_v_b.weight")
        mixer = latent if layer in full else ("ssm_conv1d_q.weight", "ssm_f_a.weight")
        return (*mixer, *(EXPERTS if layer else DENSE))

    return header("kimi-linear", values, parts, rows=163_840, tied=False)


CASES = {
    "ibm-granite/granite-4.0-h-small": granite,
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": nemotron_h,
    "tiiuae/Falcon-H1-7B-Instruct": falcon_h1,
    "ai21labs/Jamba-v0.1": jamba,
    "google/gemma-4-E2B-it": gemma4_e2b,
    "google/gemma-4-26B-A4B-it": gemma4_26b,
    "meta-llama/Llama-4-Scout-17B-16E": llama4,
    "moonshotai/Kimi-Linear-48B-A3B-Instruct": kimi_linear,
}


@pytest.mark.parametrize("name", CASES)
def test_the_stack_is_that_of_the_configuration(name: str) -> None:
    known = resolve_model(name)

    model = read_model(config_of_gguf(CASES[name]()))

    assert known.layers == model.layers
    assert known.vocabulary == model.vocabulary
    assert known.tied_embeddings == model.tied_embeddings
    assert known.max_context_tokens == model.max_context_tokens


def test_layers_of_a_pruned_llama_differ_one_by_one() -> None:
    values = {
        "block_count": 3,
        "context_length": 4096,
        "embedding_length": 1024,
        "feed_forward_length": (2816, 0, 5632),
        "attention.head_count": (16, 16, 16),
        "attention.head_count_kv": (4, 0, 8),
    }

    model = read_model(config_of_gguf(header("deci", values, lambda _: (), rows=1000, tied=False)))

    mixers = [len(layer.mixers) for layer in model.layers]
    assert [1, 0, 1] == mixers
    assert [True, False, True] == [layer.feed_forward is not None for layer in model.layers]
