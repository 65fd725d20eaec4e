"""Small models and GPUs for the tests of the speed room, with round numbers."""

from dataclasses import replace
from datetime import date

from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import (
    ArchitectureConfidence,
    CheckpointFormat,
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
)
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.source import Source
from caudal.fit.serving import Serving
from caudal.vocabulary.units import Bytes, BytesPerSecond, FlopPerSecond, Tokens

SOURCE = Source("made up for the tests", date(2026, 11, 30))


def attention(*, heads: int = 32, kv_heads: int = 8, window: int | None = None) -> Mixer:
    return GroupedQueryAttention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=128,
        window_tokens=None if window is None else Tokens(window),
    )


def latent() -> Mixer:
    return LatentAttention(
        heads=32,
        q_lora_rank=1536,
        kv_lora_rank=512,
        nope_head_dim=128,
        rope_head_dim=64,
        value_head_dim=128,
    )


def mixture(*, experts: int = 64, chosen: int = 4) -> FeedForward:
    return MixtureFeedForward(experts=experts, experts_per_token=chosen, expert_intermediate=1024)


def model(
    *,
    layers: int = 32,
    mixer: Mixer | None = None,
    feed_forward: FeedForward | None = None,
    tied: bool = False,
) -> ModelSpec:
    layer = Layer(
        mixers=(mixer or attention(),),
        feed_forward=feed_forward or DenseFeedForward(intermediate=14336),
    )
    return ModelSpec(
        id="test/model",
        family="llama",
        hidden=4096,
        layers=(layer,) * layers,
        vocabulary=128_000,
        tied_embeddings=tied,
        max_context_tokens=Tokens(131_072),
        checkpoint=CheckpointFormat(weight_format="bf16"),
        total_parameters=8_000_000_000,
        active_parameters=8_000_000_000,
        confidence=ArchitectureConfidence.ASSUMED,
        source=SOURCE,
    )


def serving(
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    tensor: int = 1,
    pipeline: int = 1,
    name: str = "vllm",
) -> Serving:
    return Serving(
        engine=engine(name),
        weight_format=weight_format(weights),
        kv_format=kv_format(kv),
        layout=Layout(tensor=tensor, pipeline=pipeline),
    )


def gpu(
    name: str = "h100-sxm", *, bandwidth_tb: float = 3.35, bf16_tflops: float = 989.4
) -> GpuSpec:
    return GpuSpec(
        id=name,
        name=name,
        vendor="NVIDIA",
        architecture="Hopper",
        compute_capability="9.0",
        memory_bytes=Bytes(80 * 10**9),
        usable_bytes=Bytes(80 * 2**30),
        memory_type="HBM3",
        memory_bytes_per_s=BytesPerSecond(bandwidth_tb * 1e12),
        dense_bf16_flop_per_s=FlopPerSecond(bf16_tflops * 1e12),
        dense_fp8_flop_per_s=FlopPerSecond(2 * bf16_tflops * 1e12),
        dense_int8_flop_per_s=FlopPerSecond(2 * bf16_tflops * 1e12),
        dense_fp4_flop_per_s=None,
        native_fp8=True,
        native_fp4=False,
        native_bf16=True,
        power_watts=700,
        interconnect="NVLink 4",
        link_bytes_per_s=BytesPerSecond(450e9),
        pcie_generation=5,
        mig_slices=7,
        ecc=True,
        form_factor="SXM",
        release_year=2022,
        source=SOURCE,
    )


def card(spec: GpuSpec, *, memory_type: str = "GDDR6X", interconnect: str = "PCIe") -> GpuSpec:
    return replace(
        spec,
        memory_type=memory_type,
        interconnect=interconnect,
        native_fp8=False,
        dense_fp8_flop_per_s=None,
    )
