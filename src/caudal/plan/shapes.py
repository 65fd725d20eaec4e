"""Shapes: one precision, KV precision, layout and engine; everything about them but the GPU."""

from collections.abc import Iterator
from dataclasses import dataclass

from caudal.facts.engine import EngineSpec
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.layouts import LayoutProblem, layout_problem
from caudal.fit.needs import MemoryNeeds
from caudal.fit.serving import Serving
from caudal.fit.speculation import Speculation
from caudal.speed.work import StepWork
from caudal.vocabulary.units import Tokens

# The formats a plan tries when none is named, of which only those smaller than the checkpoint's
# are kept: one for each way that current engines multiply (16 bit, FP8, INT8, 4-bit weights, FP4).
USUAL_WEIGHT_FORMATS = ("bf16", "fp8", "int8", "int4", "nvfp4")
USUAL_GGUF_FORMATS = ("bf16", "q8_0", "q4_k_m")
GGUF_OF = {"mxfp4": "mxfp4_moe"}  # the name of a checkpoint's own format after conversion
USUAL_KV_FORMATS = ("bf16", "fp8")
USUAL_GGUF_KV_FORMATS = ("bf16", "q8_0")
CLEARLY_SMALLER = 0.9  # chosen: formats of one width differ by a few per cent of scales
MOST_GPUS_IN_A_REPLICA = 8  # chosen: one node; offers rarely say how nodes are joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one replica is on any card of one size class."""

    serving: Serving
    needs: MemoryNeeds
    work: StepWork


@dataclass(frozen=True, slots=True, kw_only=True)
class IllegalShape:
    """A layout that the model does not allow, in one precision."""

    layout: Layout
    weight_format: WeightFormat
    problem: LayoutProblem


def reads_gguf(engine: EngineSpec) -> bool:
    """Return whether the engine serves GGUF files rather than checkpoints."""
    return engine.name in {"llama.cpp", "ollama"}


def usual_weight_formats(model: ModelSpec, engine: EngineSpec) -> tuple[str, ...]:
    """Return the checkpoint's own format and the usual smaller ones that the engine loads."""
    name = model.checkpoint.weight_format
    if reads_gguf(engine):
        name = GGUF_OF.get(name, name)
    largest = weight_format(name).bytes_per_weight * CLEARLY_SMALLER
    usual = USUAL_GGUF_FORMATS if reads_gguf(engine) else USUAL_WEIGHT_FORMATS
    smaller = (other for other in usual if weight_format(other).bytes_per_weight < largest)
    return tuple(other for other in (name, *smaller) if other in engine.weight_formats)


def usual_kv_formats(engine: EngineSpec) -> tuple[str, ...]:
    """Return 16 bit and the usual 8-bit format of the engine's cache."""
    usual = USUAL_GGUF_KV_FORMATS if reads_gguf(engine) else USUAL_KV_FORMATS
    return tuple(name for name in usual if name in engine.kv_formats)


def is_usual_on(name: str, gpu: GpuSpec) -> bool:
    """Return whether a usual format is worth trying on a GPU that may have a better one.

    Of the formats of one width, the one that the GPU multiplies natively serves best: FP8 where
    there is FP8, else INT8; FP4 where there is FP4.
    """
    match name:
        case "fp8":
            return gpu.native_fp8
        case "int8":
            return not gpu.native_fp8
        case "nvfp4":
            return gpu.native_fp4
        case _:
            return True


def possible_layouts(counts: frozenset[int], engine: EngineSpec) -> tuple[Layout, ...]:
    """Return every split of these GPU counts into tensor and pipeline that the engine has."""
    return tuple(
        Layout(tensor=tensor, pipeline=gpus // tensor)
        for gpus in sorted(counts)
        for tensor in range(1, gpus + 1)
        if gpus % tensor == 0
        and (tensor == 1 or engine.supports_tensor_parallel)
        and (tensor == gpus or engine.supports_pipeline_parallel)
    )


def servings_of(
    model: ModelSpec,
    engine: EngineSpec,
    *,
    weight_formats: tuple[str, ...],
    kv_formats: tuple[str, ...],
    counts: frozenset[int],
    longest_tokens: Tokens,
    speculation: Speculation | None = None,
) -> Iterator[Serving | IllegalShape]:
    """Yield every way to serve, legal or not, in a fixed order."""
    for name in weight_formats:
        stored = weight_format(name)
        for layout in possible_layouts(counts, engine):
            problem = layout_problem(model, layout, stored, engine=engine)
            if problem is not None:
                yield IllegalShape(layout=layout, weight_format=stored, problem=problem)
                continue
            for kept in kv_formats:
                yield Serving(
                    engine=engine,
                    weight_format=stored,
                    kv_format=kv_format(kept),
                    layout=layout,
                    max_model_tokens=longest_tokens,
                    speculative=speculation is not None,
                    speculation=speculation,
                )


def name_serving(serving: Serving, gpu: GpuSpec) -> str:
    """Return a replica as people write it, such as "2 x NVIDIA H100 SXM, fp8, TP2"."""
    kept = "" if serving.kv_format.bytes_per_element >= 2 else f", {serving.kv_format.name} KV"
    return (
        f"{serving.layout.gpus} x {gpu.name}, {serving.weight_format.name}{kept}, {serving.layout}"
    )
