"""Our side of the seeds' figures about memory and speed, by the product's own functions."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.needs import memory_needs
from caudal.fit.rules_of_thumb import (
    BYTES_AT_4_BIT,
    BYTES_AT_4_BIT_STORED,
    BYTES_AT_8_BIT,
    BYTES_AT_16_BIT,
    envelope_bytes,
    fewest_gpus,
    largest_model_parameters,
    nominal_weight_bytes,
    prudent_parameters,
    sequences_that_fit,
)
from caudal.fit.serving import Serving
from caudal.speed.ceiling import decode_ceiling, decode_flop_per_byte, ridge_flop_per_byte
from caudal.vocabulary.units import GB, TB, BytesPerSecond, Tokens

BYTES: Final = {
    "16": BYTES_AT_16_BIT,
    "8": BYTES_AT_8_BIT,
    "4": BYTES_AT_4_BIT,
    "4-stored": BYTES_AT_4_BIT_STORED,
}
CONTEXT: Final = "8192"  # tokens, as in the tables of 004


def gpu(gpu_id: str) -> GpuSpec:
    return gpu_catalogue().get(gpu_id)


@cache
def model(name: str) -> ModelSpec:
    return resolve_model(name)


def memory_gb(gpu_id: str) -> float:
    return gpu(gpu_id).memory_bytes / GB


def node_memory_gb(gpu_id: str, gpus: str) -> float:
    return memory_gb(gpu_id) * int(gpus)


def bandwidth_gb_s(gpu_id: str) -> float:
    return gpu(gpu_id).memory_bytes_per_s / GB


def bandwidth_tb_s(gpu_id: str) -> float:
    return gpu(gpu_id).memory_bytes_per_s / TB


def has_more_bandwidth(gpu_id: str, other: str) -> str:
    return "yes" if bandwidth_gb_s(gpu_id) > bandwidth_gb_s(other) else "no"


def fp8_tflops(gpu_id: str) -> float | str:
    rate = gpu(gpu_id).dense_fp8_flop_per_s
    return "not published" if rate is None else rate / 1e12


def bf16_tflops(gpu_id: str) -> float:
    return (gpu(gpu_id).dense_bf16_flop_per_s or 0.0) / 1e12


def without_fp8(*gpu_ids: str) -> str:
    return " ".join(gpu_id for gpu_id in sorted(gpu_ids) if not gpu(gpu_id).native_fp8)


def bytes_per_parameter(bits: str) -> float:
    return BYTES[bits]


def weight_ratio(bits: str, other: str) -> float:
    return BYTES[bits] / BYTES[other]


def model_ratio(bits: str, other: str) -> float:
    sizes = [
        largest_model_parameters(80 * GB, bytes_per_parameter=BYTES[key]) for key in (bits, other)
    ]
    return sizes[1] / sizes[0]


def largest_model_b(gpu_id: str, bits: str) -> float:
    """Return the printed size; the 4-bit column counts weights as stored."""
    stored = BYTES_AT_4_BIT_STORED if bits == "4" else BYTES[bits]
    exact = largest_model_parameters(gpu(gpu_id).memory_bytes, bytes_per_parameter=stored)
    return prudent_parameters(exact) / 1e9


def weights_gb(billions: str, bits: str) -> float:
    weights = nominal_weight_bytes(float(billions) * 1e9, bytes_per_parameter=BYTES[bits])
    return weights / GB


def serving(weights: str = "bf16", cache_format: str = "bf16") -> Serving:
    return Serving(
        engine=engine("vllm"),
        weight_format=weight_format(weights),
        kv_format=kv_format(cache_format),
    )


def model_weights_gb(name: str, weights: str) -> float:
    return memory_needs(model(name), serving(weights)).weights_by_role.total.value / GB


@cache
def kv_bytes(name: str, tokens: int, sequences: int = 1, cache_format: str = "bf16") -> float:
    kv = memory_needs(model(name), serving(cache_format=cache_format)).kv
    return kv.bytes_for(sequences=sequences, tokens=Tokens(tokens))


def kv_gb(name: str, tokens: str, sequences: str, cache_format: str) -> float:
    return kv_bytes(name, int(tokens), int(sequences), cache_format) / GB


def kv_ratio(name: str, cache_format: str, other: str) -> float:
    return kv_bytes(name, 8192, 1, cache_format) / kv_bytes(name, 8192, 1, other)


def kv_over_weights(name: str, tokens: str, sequences: str, billions: str, bits: str) -> float:
    return kv_gb(name, tokens, sequences, "bf16") / weights_gb(billions, bits)


def envelope_gb(billions: str, bits: str, name: str, tokens: str = CONTEXT) -> float:
    """Return nominal weights, one sequence's cache of the model `name`, and 2 GB."""
    need = envelope_bytes(
        float(billions) * 1e9,
        bytes_per_parameter=BYTES[bits],
        kv_bytes=kv_bytes(name, int(tokens)),
    )
    return need / GB


def left_gb(memory: str, billions: str, bits: str, name: str, tokens: str) -> float:
    return float(memory) - envelope_gb(billions, bits, name, tokens)


def gpus_for_weights(billions: str, bits: str, memory: str) -> float:
    return fewest_gpus(weights_gb(billions, bits), memory_bytes=float(memory))


def gpus_for_model(
    billions: str, bits: str, name: str, memory: str, tokens: str = CONTEXT
) -> float:
    need = envelope_gb(billions, bits, name, tokens)
    return fewest_gpus(need, memory_bytes=float(memory))


def holds(gpu_id: str, gpus: str, *sized: str) -> str:
    return "yes" if node_memory_gb(gpu_id, gpus) >= envelope_gb(*sized) else "no"


def sequences_to_double(name: str, billions: str, tokens: str) -> float:
    """Return how many sequences' caches make up nominal 16-bit weights once more."""
    weights = nominal_weight_bytes(float(billions) * 1e9, bytes_per_parameter=BYTES_AT_16_BIT)
    return sequences_that_fit(weights, kv_bytes_per_sequence=kv_bytes(name, int(tokens)))


def ceiling(gpu_id: str, billions: str, bits: str) -> float:
    return ceiling_at(str(bandwidth_tb_s(gpu_id)), billions, bits)


def ceiling_at(tb_per_s: str, billions: str, bits: str) -> float:
    weights = nominal_weight_bytes(float(billions) * 1e9, bytes_per_parameter=BYTES[bits])
    return decode_ceiling(BytesPerSecond(float(tb_per_s) * TB), weight_bytes=weights)


def ceiling_ratio(factor: str) -> float:
    return ceiling_at(factor, "8", "16") / ceiling_at("1", "8", "16")


def ridge(gpu_id: str) -> float:
    rate = gpu(gpu_id).dense_bf16_flop_per_s
    assert rate is not None
    return ridge_flop_per_byte(rate, memory_bytes_per_s=gpu(gpu_id).memory_bytes_per_s)


def flop_per_byte(bits: str) -> float:
    return decode_flop_per_byte(bytes_per_parameter=BYTES[bits])


def best_speedup(gpu_id: str, other: str) -> float:
    """Return the largest ratio of two GPUs' ceilings, each in its fastest arithmetic."""
    rates = [
        max(spec.dense_bf16_flop_per_s or 0.0, spec.dense_fp8_flop_per_s or 0.0)
        for spec in (gpu(gpu_id), gpu(other))
    ]
    bandwidths = [gpu(gpu_id).memory_bytes_per_s, gpu(other).memory_bytes_per_s]
    return max(rates[0] / rates[1], bandwidths[0] / bandwidths[1])


SIZES: Final[Mapping[str, Callable[..., float | str]]] = {
    rule.__name__: rule
    for rule in (
        memory_gb, node_memory_gb, bandwidth_gb_s, bandwidth_tb_s, has_more_bandwidth, fp8_tflops,
        bf16_tflops, without_fp8, bytes_per_parameter, weight_ratio, model_ratio, largest_model_b,
        weights_gb, model_weights_gb, kv_gb, kv_ratio, kv_over_weights, envelope_gb, left_gb,
        gpus_for_weights, gpus_for_model, holds, sequences_to_double, ceiling, ceiling_at,
        ceiling_ratio, ridge, flop_per_byte, best_speedup,
    )
}  # fmt: skip
