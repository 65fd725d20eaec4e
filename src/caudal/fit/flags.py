"""The arguments that start an engine at a chosen point, in the engine's own words.

Sources: docs.vllm.ai/en/v0.26.0/cli/serve; docs.sglang.ai/advanced_features/server_arguments;
nvidia.github.io/TensorRT-LLM/commands/trtllm-serve; ggml-org/llama.cpp tools/server/README.md;
ollama/ollama docs/faq.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from caudal.facts.model import ModelSpec
from caudal.fit.activation import ELEMENT_BYTES
from caudal.fit.placement import EVERYTHING, Offload
from caudal.fit.serving import Serving
from caudal.fit.weights import is_native

# What vLLM can make of a 16-bit checkpoint while it loads; other formats need files of their own.
_QUANTISED_ON_LOADING: Final = {"fp8": "fp8", "nf4": "bitsandbytes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    model: ModelSpec
    serving: Serving
    context_tokens: int
    concurrency: int
    offload: Offload

    @property
    def quantises_cache(self) -> bool:
        """Whether keys are to be stored in less than 16 bit."""
        return self.serving.kv_format.bytes_per_element < ELEMENT_BYTES


def engine_flags(
    model: ModelSpec,
    serving: Serving,
    *,
    context_tokens: int,
    concurrency: int,
    offload: Offload = EVERYTHING,
) -> tuple[str, ...]:
    """Return the arguments that start the engine at the chosen point, in the engine's own words.

    Leaves out the model's name and whatever has nothing to do with memory.
    """
    write = _FLAGS.get(serving.engine.name)
    point = _Point(
        model=model,
        serving=serving,
        context_tokens=context_tokens,
        concurrency=concurrency,
        offload=offload,
    )
    return () if write is None else tuple(write(point))


def _vllm_flags(point: _Point) -> Iterator[str]:
    serving = point.serving
    layout = serving.layout
    if layout.tensor > 1:
        yield f"--tensor-parallel-size {layout.tensor}"
    if layout.pipeline > 1:
        yield f"--pipeline-parallel-size {layout.pipeline}"
    if layout.expert:
        yield "--enable-expert-parallel"
    on_the_fly = _QUANTISED_ON_LOADING.get(serving.weight_format.name)
    if on_the_fly is not None and not is_native(point.model, serving.weight_format):
        yield f"--quantization {on_the_fly}"
    yield f"--max-model-len {point.context_tokens}"
    yield f"--max-num-seqs {point.concurrency}"
    if serving.max_batched_tokens is not None:
        yield f"--max-num-batched-tokens {serving.max_batched_tokens}"
    if serving.fraction is not None:
        yield f"--gpu-memory-utilization {serving.fraction:g}"
    if point.quantises_cache and serving.kv_format.name != point.model.checkpoint.kv_format:
        yield f"--kv-cache-dtype {serving.kv_format.name}"
    if serving.eager:
        yield "--enforce-eager"


def _sglang_flags(point: _Point) -> Iterator[str]:
    serving = point.serving
    layout = serving.layout
    if layout.tensor > 1:
        yield f"--tp-size {layout.tensor}"
    if layout.pipeline > 1:
        yield f"--pp-size {layout.pipeline}"
    if layout.expert:
        yield f"--ep-size {layout.tensor}"
    yield f"--context-length {point.context_tokens}"
    yield f"--max-running-requests {point.concurrency}"
    if serving.max_batched_tokens is not None:
        yield f"--chunked-prefill-size {serving.max_batched_tokens}"
    if serving.fraction is not None:
        yield f"--mem-fraction-static {serving.fraction:g}"
    if serving.kv_format.name.startswith("fp8"):
        variant = "fp8_e4m3" if serving.kv_format.name == "fp8" else serving.kv_format.name
        yield f"--kv-cache-dtype {variant}"
    if serving.eager:
        yield "--disable-cuda-graph"


def _tensorrt_flags(point: _Point) -> Iterator[str]:
    serving = point.serving
    layout = serving.layout
    yield f"--tp_size {layout.tensor}"
    if layout.pipeline > 1:
        yield f"--pp_size {layout.pipeline}"
    if layout.expert:
        yield f"--ep_size {layout.tensor}"
    yield f"--max_seq_len {point.context_tokens}"
    yield f"--max_batch_size {point.concurrency}"
    yield f"--max_num_tokens {serving.step_tokens(point.model)}"
    if serving.fraction is not None:
        yield f"--kv_cache_free_gpu_memory_fraction {serving.fraction:g}"


def _llama_cpp_flags(point: _Point) -> Iterator[str]:
    serving, offload = point.serving, point.offload
    yield f"--n-gpu-layers {999 if offload.gpu_layers is None else offload.gpu_layers}"
    if offload.host_expert_layers >= len(point.model.layers):
        yield "--cpu-moe"
    elif offload.host_expert_layers:
        yield f"--n-cpu-moe {offload.host_expert_layers}"
    if offload.tensor_split is not None:
        yield f"--tensor-split {','.join(f'{share:g}' for share in offload.tensor_split)}"
    yield f"--ctx-size {point.context_tokens * point.concurrency}"
    yield f"--parallel {point.concurrency}"
    yield f"--ubatch-size {serving.micro_batch}"
    if point.quantises_cache:
        values = serving.value_format or serving.kv_format
        yield f"--cache-type-k {serving.kv_format.name}"
        yield f"--cache-type-v {values.name}"


def _ollama_flags(point: _Point) -> Iterator[str]:
    serving = point.serving
    if point.offload.gpu_layers is not None:
        yield f"PARAMETER num_gpu {point.offload.gpu_layers}"
    yield f"OLLAMA_CONTEXT_LENGTH={point.context_tokens}"
    yield f"OLLAMA_NUM_PARALLEL={point.concurrency}"
    if point.quantises_cache:
        yield "OLLAMA_FLASH_ATTENTION=1"
        yield f"OLLAMA_KV_CACHE_TYPE={serving.kv_format.name}"


_FLAGS: Final[dict[str, Callable[[_Point], Iterator[str]]]] = {
    "vllm": _vllm_flags,
    "sglang": _sglang_flags,
    "tensorrt-llm": _tensorrt_flags,
    "llama.cpp": _llama_cpp_flags,
    "ollama": _ollama_flags,
}
