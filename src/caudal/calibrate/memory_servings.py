"""From a row of start-up figures to the serving that Caudal predicts it with."""

import re
from dataclasses import dataclass
from typing import Final

from caudal.calibrate.memory_rows import MemoryRow
from caudal.facts.engine import EngineSpec
from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precision import KvFormat, WeightFormat
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.budget import shares_memory, visible_bytes
from caudal.fit.serving import Serving
from caudal.vocabulary.errors import CaudalError, UnknownPrecisionError
from caudal.vocabulary.units import Bytes, Tokens

_ENGINES: Final = {"trtllm": "tensorrt-llm"}
# The first engine of vLLM reports blocks, its second one tokens. Sources: vllm/worker/worker.py
# and vllm/executor (before 0.8, and later on cards that the second engine did not support),
# vllm/v1/core/kv_cache_utils.py.
_FIRST_ENGINE_WORDS: Final = re.compile(
    r"(gpu|cuda) blocks|non_torch_memory|peak_torch_memory", re.IGNORECASE
)
# Its later form (0.7) says what "takes" how much.
_LATE_FIRST_ENGINE_WORDS: Final = re.compile(r"non_torch_memory takes")
_FIRST_ENGINE: Final = ("0.6", "0.7")
# A drafter that is part of the checkpoint and loaded with it.
_DRAFTER: Final = re.compile(r"MTP(-\d)? drafter (loaded|resident)|includes MTP drafter")
# Embedding and reward models, by how they are named: their output head is not loaded.
_POOLING: Final = re.compile(r"reward|embed|(^|/)(gte|bge|e5)-", re.IGNORECASE)
_DTYPES: Final = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
# Fragments of a row's `quantization`, or of the model's name, and the format they mean.
_FORMATS: Final[tuple[tuple[str, str], ...]] = (
    ("deepseek_v4_fp8", "native"),
    ("exl3", ""),
    ("aqlm", ""),
    ("gguf", "gguf"),
    ("mxfp4", "mxfp4"),
    ("mxfp8", ""),
    ("fp4", "nvfp4"),
    ("fp8-block", "fp8-block"),
    ("fp8_block", "fp8-block"),
    ("fp8", "fp8"),
    ("w8a8", "int8"),
    ("w8a16", "int8-weight-only"),
    ("gptq-int8", "int8-weight-only"),
    ("w4a16", "int4"),
    ("gptq", "int4"),
    ("awq", "int4"),
    ("bitsandbytes", "nf4"),
    ("bnb", "nf4"),
    ("smoothquant", "int8"),
    ("int8", "int8"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowServing:
    """The serving that a row describes, and which of its facts the row itself says."""

    serving: Serving
    gpu: GpuSpec | None
    total_bytes: float | None  # the memory that the engine counts from, None where not known
    card_stated: bool  # whether that memory is printed, or the card's name means one size only
    unified: bool  # whether the GPU shares the host's memory
    layout_stated: bool
    weights_stated: bool  # whether the weight format is one that Caudal can compute
    fraction_stated: bool


def serving_of(row: MemoryRow, model: ModelSpec) -> RowServing:
    """Return how the server of `row` ran, with the engine's defaults for what it doesn't say.

    Raises:
        UnknownEngineError: the row's engine or version is not known.
    """
    spec = _engine(row)
    stored = _weight_format(row, model)
    keys, values = _kv_formats(row, model, spec)
    gpu, sizes = _gpu(row)
    printed = row.gib("gpu_mem_gib")
    fraction = row.numbers.get(
        {"vllm": "gpu_memory_utilization", "sglang": "mem_fraction_static"}.get(
            spec.name, "kv_free_fraction"
        )
    )
    serving = Serving(
        engine=spec,
        weight_format=stored or weight_format(_base(row, model)),
        kv_format=keys,
        value_format=values,
        layout=_layout(row, spec),
        memory_fraction=fraction,
        max_sequences=row.counts.get("max_num_seqs"),
        context_of_all=spec.splits_by_layer,
        max_batched_tokens=_tokens(row, "max_num_batched_tokens"),
        micro_batch_tokens=_tokens(row, "n_ubatch"),
        max_model_tokens=_tokens(row, "max_model_len"),
        block_tokens=_tokens(row, "block_size"),
        eager=row.flag("enforce_eager"),
        speculative=bool(_DRAFTER.search(f"{row.text('quote')} {row.text('notes')}")),
        pooling=_POOLING.search(row.model) is not None,
        latent_as_heads=_latent_as_heads(row),
        expands_latents=row.counts.get("mla_attn", 0) > 1,
        flash_attention=row.flags.get("flash_attn"),
    )
    if printed is not None:
        name = "" if gpu is None else gpu.name
        serving = serving.on_card(Bytes(round(printed)), name=name)
    if gpu is not None:
        serving = serving.on(gpu)
    return RowServing(
        serving=serving,
        gpu=gpu,
        total_bytes=printed if printed or gpu is None else visible_bytes(gpu),
        card_stated=printed is not None or sizes == 1,
        unified=gpu is not None and shares_memory(gpu),
        layout_stated="tp" in row.counts or "n_gpus" in row.counts,
        weights_stated=stored is not None,
        fraction_stated=fraction is not None,
    )


def _engine(row: MemoryRow) -> EngineSpec:
    name = _ENGINES.get(row.engine, row.engine)
    version = row.text("engine_version")
    quote = row.text("quote")
    if name == "vllm" and _FIRST_ENGINE_WORDS.search(quote):
        version = _FIRST_ENGINE[_LATE_FIRST_ENGINE_WORDS.search(quote) is not None]
    if not re.match(r"v?\d", version):
        return engine(name)
    return engine(name, version.replace(".x", ""))


def _base(row: MemoryRow, model: ModelSpec) -> str:
    """Return the format of weights that nothing quantises: engines load 32-bit files in 16 bit."""
    native = model.checkpoint.weight_format
    return _DTYPES.get(row.text("dtype"), "bf16" if native == "fp32" else native)


def _weight_format(row: MemoryRow, model: ModelSpec) -> WeightFormat | None:
    """Return the row's weight format, None where its bits a weight are not known."""
    native = model.checkpoint.weight_format
    said = f"{row.text('quantization')} {row.model}".lower()
    meant = next((meant for fragment, meant in _FORMATS if fragment in said), None)
    if meant == "gguf":
        return _gguf(row)
    if meant == "":
        return None
    if meant is not None and meant not in {"native", native} and meant not in native:
        return weight_format(meant)
    if meant is not None or weight_format(native).is_quantised:
        return weight_format(native)  # "fp8" is native to a checkpoint in "fp8-block"
    quantised_somehow = row.text("quantization") or row.engine == "llama.cpp"
    return None if quantised_somehow else weight_format(_base(row, model))


def _gguf(row: MemoryRow) -> WeightFormat | None:
    named = row.text("quantization").lower().removeprefix("gguf").strip()
    for candidate in (named, f"{named}_m"):
        try:
            return weight_format(candidate)
        except UnknownPrecisionError:
            continue
    return None


def _kv_formats(
    row: MemoryRow, model: ModelSpec, spec: EngineSpec
) -> tuple[KvFormat, KvFormat | None]:
    said = row.text("kv_cache_dtype")
    if said in {"", "auto"}:
        own = model.checkpoint.kv_format
        return kv_format(own if own and spec.name == "vllm" else "bf16"), None
    keys, _, values = said.partition("/")
    return kv_format(keys), kv_format(values) if values else None


def _layout(row: MemoryRow, spec: EngineSpec) -> Layout:
    gpus = row.counts.get("n_gpus") or 1
    if spec.splits_by_layer:  # its figures are totals over all devices
        return Layout()
    return Layout(tensor=row.counts.get("tp", gpus))


def _latent_as_heads(row: MemoryRow) -> bool | None:
    """Return whether MLA is stored as full heads, as ik_llama.cpp does with -mla 0."""
    mode = row.counts.get("mla_attn")
    return None if mode is None else mode == 0


def _tokens(row: MemoryRow, name: str) -> Tokens | None:
    value = row.counts.get(name)
    return None if value is None else Tokens(value)


def _gpu(row: MemoryRow) -> tuple[GpuSpec | None, int]:
    """Return the row's card and how many memory sizes its name may mean; the smallest is taken.

    Where the memory is printed, words after the name are left out ("MI325X capped to 24 GiB").
    """
    words = row.text("gpu").split()
    names = [row.text("gpu"), row.text("gpu_guess").partition("(")[0].strip()]
    if "gpu_mem_gib" in row.numbers:
        names += [" ".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    for name in names:
        if not name or "," in name:
            continue
        try:
            specs = gpu_catalogue().resolve(name).specs
        except CaudalError:
            continue
        smallest = min(specs, key=lambda spec: spec.usable_bytes)
        return smallest, len({spec.usable_bytes for spec in specs})
    return None, 0
