"""From a measured row to the question that Caudal answers: model, GPU, serving, load.

Rows name engines, precisions and layouts in their sources' words; what a source leaves unsaid is
filled in here in one place, each time by a stated rule.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from caudal.calibrate.speed_rows import RowKind, SpeedRow
from caudal.facts.engine import EngineSpec
from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import MixtureFeedForward, ModelSpec
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.speed.work import StepWork, step_work
from caudal.vocabulary.errors import CaudalError, InvalidFactError
from caudal.vocabulary.units import Tokens

_ENGINES: Final = (
    ("tensorrt", "tensorrt-llm", "tensorrt-llm"),
    ("sglang", "sglang", "sglang"),
    ("vllm", "vllm", "vllm"),
    ("mango", "vllm", "vllm"),  # LLMBoost is built on vLLM
    ("rocm", "llama.cpp", "llama.cpp-rocm"),
    ("vulkan", "llama.cpp", "llama.cpp-vulkan"),
    ("llama", "llama.cpp", "llama.cpp"),
    ("gaudi", "vllm", "deepspeed-gaudi"),
    ("mii", "vllm", "deepspeed-mii"),
    ("mlc", "vllm", "mlc-llm"),
    ("exllama", "vllm", "exllamav2"),
    ("tgi", "vllm", "tgi"),
    ("sambaflow", "vllm", "sambaflow"),
)
"""Part of a source's name → engine whose memory rules stand in → name of its constants."""

_VERSIONS: Final[Mapping[tuple[str, str], str]] = {
    ("vllm", "2023"): "0.2",
    ("vllm", "2024"): "0.6",
    ("llama.cpp", "2024"): "3000",
    ("llama.cpp", "2023"): "1500",
    ("tensorrt-llm", "2024"): "0.14",
}
"""Version of the rules that stand for a year."""

_PRECISIONS: Final[Mapping[str, str]] = {
    "fp16": "bf16",
    "f16": "bf16",
    "bf16": "bf16",
    "fp4": "nvfp4",
    "awq-int4": "int4",
}

_NEWEST_YEAR: Final = 2026
_WAY_DOWN: Final = 0.9  # InferenceX draws lengths evenly between 0.8 and 1.0 of what it names
_GROWN: Final = 0.6
"""Share of its output that a running sequence holds in the cache on average.

Engines that allocate as sequences grow hold half where they are evenly staggered, all where they
began together; chosen between by the sequences that ran at once in saturated rows. TensorRT-LLM
reserves the whole output when it admits a request (GUARANTEED_NO_EVICT).
"""
_DEFAULT_TOKENS: Final = 128.0  # a short chat prompt and answer, where a decode row says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedCase:
    """One row as a question: `work` on `gpu` under a load, by `replicas` replicas."""

    row: SpeedRow
    gpu: GpuSpec
    work: StepWork
    replicas: float
    limit: float  # sequences that run at once in one replica: KV memory and the engine's own bound
    input_tokens: float
    output_tokens: float
    concurrency: float  # on the whole system; 0 where a rate is given or everything is queued
    request_rate: float  # on the whole system, 0 where unknown
    burst: bool  # all requests at once
    cached_tokens: float = 0.0  # of context before the prompt
    prefill_work: StepWork | None = None  # of a separate pool
    prefill_replicas: float = 0.0


def speed_cases(row: SpeedRow, model: ModelSpec) -> tuple[SpeedCase, ...]:
    """Return the questions that `row` may stand for: one, or one for each layout it may have used.

    Raises:
        CaudalError: the row does not say enough, or names what Caudal does not know.
    """
    gpu = gpu_for(row.gpu)
    if row.input_tokens is None and row.kind is not RowKind.DECODE:
        raise InvalidFactError(f"{row.id} has no lengths.", remedy="Give isl and osl.")
    if row.disaggregated:
        return (_pooled_case(row, model, gpu),)
    cases = []
    problem: CaudalError | None = None
    for layout, data in _layouts(row, model):
        try:
            cases.append(_case(row, model, gpu, layout, data))
        except CaudalError as error:
            problem = error
    if not cases:
        raise problem or InvalidFactError(f"{row.id} has no layout.", remedy="Give tp and pp.")
    return tuple(cases)


def gpu_for(name: str) -> GpuSpec:
    """Return the one GPU that a row's name means.

    Raises:
        UnknownGpuError: the catalogue has none of this name.
    """
    return gpu_catalogue().resolve(name).specs[0]


def engine_for(row: SpeedRow) -> tuple[EngineSpec, str]:
    """Return the engine with the rules of its time, under the name of its constants, and its era.

    Rows without an engine are MLPerf's: those on NVIDIA are taken for TensorRT-LLM, the others
    for vLLM, as nearly all entries that say so.
    """
    text = (row.engine or "").lower()
    base, name = "tensorrt-llm", "tensorrt-llm"
    if not text and row.gpu.startswith("MI"):
        base, name = "vllm", "vllm"
    for part, rules, constants in _ENGINES:
        if part in text:
            base, name = rules, constants
            break
    era = _era(row)
    spec = engine(base, _VERSIONS.get((base, era)))
    return replace(spec, name=base), era if name == base else f"{era}:{name}"


def _era(row: SpeedRow) -> str:
    """Return the year of the engine where it is not the newest; versions stand in for a date."""
    year = row.year
    if year is None:
        version = row.engine_version or ""
        old = re.match(r"1\.0|0\.1[0-2]\.|0\.5\.[1-6]\b", version)
        year = _NEWEST_YEAR - 1 if old else _NEWEST_YEAR
    return "" if year >= _NEWEST_YEAR else str(year)


def _version(row: SpeedRow) -> str:
    """Return the engine's version where it looks like one: not a snapshot or a CUDA release."""
    version = row.engine_version or ""
    return version if re.match(r"\d+\.\d+", version) or version.startswith("b") else ""


def format_for(row: SpeedRow, model: ModelSpec, gpu: GpuSpec) -> WeightFormat:
    """Return the weight format of a row.

    Where a source says nothing (MLPerf tables) the narrowest format that the GPU multiplies is
    taken, as entries that say so do: FP4 on Blackwell and CDNA4, FP8 before.
    """
    name = row.precision
    if name is None:
        name = "fp4" if gpu.native_fp4 else "fp8"
    name = name.lower()
    if name == "fp4" and model.checkpoint.weight_format == "mxfp4":
        return weight_format("mxfp4")
    if name == "fp8" and model.checkpoint.weight_format in {"mxfp4", "fp8-block"}:
        return weight_format(model.checkpoint.weight_format)
    return weight_format(_PRECISIONS.get(name, name))


def _layouts(row: SpeedRow, model: ModelSpec) -> Sequence[tuple[Layout, int]]:
    """Return the layouts that a row may have used, with the width of attention data parallelism."""
    mixture = any(isinstance(layer.feed_forward, MixtureFeedForward) for layer in model.layers)
    expert = (row.expert or 1) > 1
    if row.tensor is None and row.pipeline is None:
        sizes = [size for size in (1, 2, 4, 8) if row.gpus % size == 0]
        return [(Layout(tensor=size), 1) for size in sizes]
    tensor, pipeline, data = row.tensor or 1, row.pipeline or 1, row.data or 1
    if mixture and data > 1 and tensor == 1 and expert:
        return [(Layout(tensor=1, pipeline=pipeline), data)]
    if "attention DP" in row.notes and mixture and tensor > 1:
        return [(Layout(tensor=1, pipeline=pipeline), tensor)]
    return [(Layout(tensor=tensor, pipeline=pipeline, expert=expert and tensor > 1), 1)]


def _case(row: SpeedRow, model: ModelSpec, gpu: GpuSpec, layout: Layout, data: int) -> SpeedCase:
    serving, era = _serving(row, model, gpu, layout)
    work = _named(step_work(model, serving, data=data, era=era, version=_version(row)))
    prompt, output = _lengths(row)
    held = prompt + output * (1.0 if serving.engine.name == "tensorrt-llm" else _GROWN)
    limit = running_limit(model, serving, gpu, tokens=held, data=data)
    if limit < 1.0:
        limit = 1.0 if row.kind in {RowKind.DECODE, RowKind.PREFILL} else limit
    if limit < 1.0 and row.tensor is None:
        raise InvalidFactError(f"{row.id}: {layout} does not fit.", remedy="Try a larger layout.")
    cached = _CACHED.search(row.notes)
    return SpeedCase(
        row=row,
        gpu=gpu,
        work=work,
        replicas=max(row.gpus / work.gpus, 1.0),
        limit=max(limit, 1.0),
        input_tokens=prompt,
        output_tokens=output,
        concurrency=row.concurrency or 0.0,
        request_rate=row.request_rate or 0.0,
        burst="at once" in row.scenario,
        cached_tokens=float(cached.group(1)) if cached else 0.0,
    )


def _named(work: StepWork) -> StepWork:
    """Give a stand-in engine its own name: `era` carries it behind a colon."""
    era, _, name = work.era.partition(":")
    return replace(work, era=era, engine=name or work.engine)


def _serving(row: SpeedRow, model: ModelSpec, gpu: GpuSpec, layout: Layout) -> tuple[Serving, str]:
    spec, era = engine_for(row)
    weights = format_for(row, model, gpu)
    serving = Serving(
        engine=spec,
        weight_format=weights,
        kv_format=kv_format(_kv_name(row, model, gpu, spec.name, weights)),
        layout=layout,
    ).on(gpu)
    prompt, output = _lengths(row)
    longest = min(model.max_context_tokens, max(int(2 * (prompt + output)), 4096))
    return replace(serving, max_model_tokens=Tokens(longest)), era


def _kv_name(
    row: SpeedRow, model: ModelSpec, gpu: GpuSpec, engine_name: str, weights: WeightFormat
) -> str:
    """Return the format of keys and values, where a row says nothing by the usual one.

    FP8 where the checkpoint asks for it, under TensorRT-LLM with quantised products (its recipes
    set it), and on GPUs with FP4 units, whose attention kernels prefer it: the sequences that ran
    at once in saturated rows are twice those that 16 bit would hold. Else 16 bit.
    """
    if row.kv_format is not None:
        return "bf16" if row.kv_format == "fp16" else row.kv_format
    if engine_name not in {"tensorrt-llm", "vllm", "sglang"} or not weights.is_quantised:
        return "bf16"
    if engine_name == "tensorrt-llm":
        return "fp8" if weights.activations_quantised else "bf16"
    asked = model.checkpoint.kv_format if model.checkpoint.weight_format == weights.name else None
    return asked or ("fp8" if gpu.native_fp4 else "bf16")


def _lengths(row: SpeedRow) -> tuple[float, float]:
    """Return the mean prompt and output lengths that were really run."""
    prompt = _DEFAULT_TOKENS if row.input_tokens is None else row.input_tokens
    output = _DEFAULT_TOKENS if row.output_tokens is None else row.output_tokens
    if "0.8-1.0x" in row.notes:
        return prompt * _WAY_DOWN, output * _WAY_DOWN
    return prompt, output


def running_limit(
    model: ModelSpec, serving: Serving, gpu: GpuSpec, *, tokens: float, data: int = 1
) -> float:
    """Return how many sequences of `tokens` run at once: KV memory and the engine's own bound.

    With attention data parallelism each GPU keeps whole keys for its share of the sequences,
    beside its share of the experts: the weights of a tensor split, the cache of a lone GPU.
    """
    needs = memory_needs(model, serving)
    kv = needs.kv
    if data > 1:
        spread = replace(serving, layout=Layout(tensor=data, expert=True))
        needs = memory_needs(model, spread)
    pool = needs.kv_pool_bytes(gpu.usable_bytes).value
    by_memory = kv.sequences(pool, tokens=int(tokens)) * data
    if serving.engine.splits_by_layer:
        return max(by_memory, 0.0)
    return min(by_memory, float(serving.sequences * data))


_CACHED: Final = re.compile(r"on top of (\d+) cached")
_POOL: Final = re.compile(r"(\d+)w tp(\d+) dp(\d+) ep(\d+)")
_RATIO: Final = re.compile(r"workers (\d+):(\d+), TP(\d+)")


def _pooled_case(row: SpeedRow, model: ModelSpec, gpu: GpuSpec) -> SpeedCase:
    """Return the question of a row with separate pools, whose layouts its notes spell out."""
    pools = [tuple(int(part) for part in found) for found in _POOL.findall(row.notes)]
    ratio = _RATIO.search(row.notes)
    if ratio is not None:
        before, after, tensor = (int(part) for part in ratio.groups())
        pools = [(before, tensor, 1, 1), (after, tensor, 1, 1)]
    if len(pools) != 2:
        raise InvalidFactError(
            f"{row.id} has separate pools of unknown layout.", remedy="Give both in the notes."
        )
    (before, *first), (after, *second) = pools
    prefill = _case(row, model, gpu, Layout(tensor=first[0]), first[1])
    decode = _case(row, model, gpu, Layout(tensor=second[0]), second[1])
    return replace(
        decode,
        replicas=float(after),
        prefill_work=prefill.work,
        prefill_replicas=float(before),
    )
