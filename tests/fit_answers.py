"""Questions that people asked about memory, put to Caudal's public functions, beside the truth.

`docs/cases.md` is made of them (`python scripts/cases.py`), `tests/golden/test_cases.py` checks
both. The truth is what measurements, logs or maintainers said at the source named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial

from caudal.documents.fit import FitAnswer, FitAsked, answer_fit_question
from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precision import Support
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.readers.config import model_from_config
from caudal.facts.source import Source
from caudal.facts.support import kv_support, weight_support
from caudal.fit.advice import fewest_gpus
from caudal.fit.budget import Verdict
from caudal.fit.fit_rows import FitMemory, FitRow
from caudal.fit.layouts import layout_problem
from caudal.fit.needs import memory_needs
from caudal.fit.placement import Offload
from caudal.fit.serving import Knobs
from caudal.vocabulary.units import GB, GIB, MIB, Bytes, Tokens
from memory_cases import served

Answer = tuple[str, bool]  # in words, and whether it is the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question; without `ours` it is out of scope, and `why` says so."""

    id: str
    source: str
    truth: str
    ours: Callable[[], Answer] | None = None
    why: str = ""
    differs: bool = False  # known to, and `why` says why


def ask(model: str | ModelSpec, *gpus: str, **options: object) -> FitAnswer:
    spec = resolve_model(model) if isinstance(model, str) else model
    return answer_fit_question(FitAsked(model=spec, gpus=gpus, **options))  # type: ignore[arg-type]


def row(model: str | ModelSpec, gpu: str, **options: object) -> FitRow:
    return ask(model, gpu, **options).report.rows[0]


def memory(found: FitRow) -> FitMemory:
    assert found.memory is not None, found.reason
    return found.memory


def weights(found: FitRow) -> float:
    return memory(found).terms[0].size_bytes.value


def wizard_33b() -> ModelSpec:
    return model_from_config(
        {
            "model_type": "llama",
            "hidden_size": 6656,
            "num_hidden_layers": 60,
            "num_attention_heads": 52,
            "intermediate_size": 17_920,
            "vocab_size": 32_001,
            "max_position_embeddings": 2048,
            "tie_word_embeddings": False,
        },
        name="WizardLM-33B-V1.0",
        source=Source("the model's config.json", date(2026, 11, 30)),
        confidence=ArchitectureConfidence.COPY,
    )


def deepseek_by_eight() -> Answer:
    small = row("deepseek-v3", "h800-sxm:8")
    large = row("deepseek-v3", "h20:8")
    held = weights(large) / GB
    text = f"8 x H800: {small.verdict}; 8 x H20: {large.verdict}, {held:.1f} GB of weights each"
    right = small.verdict is Verdict.DOES_NOT_FIT and large.fits and abs(held / 83.5 - 1) < 0.03
    return text, right


def kimi_on_gb200() -> Answer:
    layout = fewest_gpus(
        resolve_model("kimi-k3"),
        served(weights="mxfp4"),
        gpu_catalogue().get("gb200"),
        context_tokens=8192,
        concurrency=1,
    )
    eight = row("kimi-k3", "gb200:8")
    gpus = None if layout is None else layout.gpus
    return f"8: {eight.verdict}; fewest: {gpus}", gpus == 16 and not eight.fits


def reserved_by_vllm() -> Answer:
    found = row("llama-2-13b", "a100-40g-sxm:1", precision="fp16", engine="vllm 0.3", context=2048)
    held, share = weights(found) / GB, memory(found).memory_fraction
    text = f"{held:.1f} GB of weights; vLLM claims {share:.0%} of every card"
    return text, abs(held / 26 - 1) < 0.02 and share == 0.9


def nine_billion_on_a_laptop() -> Answer:
    asked = partial(row, "qwen3.5-9b", "rtx-3070:1", engine="llama.cpp", precision="q4_k_m")
    short, full = asked(context=Tokens(4096)), asked(context=Tokens(262_144))
    needs = memory_needs(resolve_model("qwen3.5-9b"), served(by="llama.cpp", weights="q4_k_m"))
    sight = next(size for role, size in needs.weights_by_role.by_role if role.value == "vision")
    file = (needs.weights.value - sight + needs.weights_by_role.host) / GB
    text = f"file {file:.2f} GB; 4k: {short.verdict}, 262k: {full.verdict}"
    right = abs(file / 5.68 - 1) < 0.04 and short.verdict is not Verdict.DOES_NOT_FIT
    return text, right and full.verdict is Verdict.DOES_NOT_FIT


def coder_in_awq() -> Answer:
    found = row("qwen3-coder-next", "rtx-3060-12g:1", precision="awq")
    return f"{found.verdict}: {weights(found) / GB:.1f} GB of weights (unmerged)", not found.fits


def head_alone() -> Answer:
    found = row(
        "olmoe-1b-7b",
        "rtx-4090:1",
        engine="llama.cpp",
        precision="q6_k",
        offload=Offload(gpu_layers=1),
        context=Tokens(4096),
    )
    assert found.placement is not None
    card = found.placement.cards[0]
    held = card.weights_bytes.value / MIB
    text = f"{card.layers} blocks and the output layer, {held:.1f} MiB"
    return text, card.output_layer and card.layers == 0 and abs(held / 80.6 - 1) < 0.01


def start_is_no_proof() -> Answer:
    found = row("llama-3.1-70b", "a100-80g-sxm:2", context=Tokens(30_816))
    return f"30,816 tokens at once: {found.verdict}", not found.fits


def gpt_oss_on_a_mac() -> Answer:
    found = row("gpt-oss-20b", "m1-max-64g:1", engine="llama.cpp", free=Bytes(11 * GB))
    held = weights(found) / GB
    text = f"--free 11GB: {found.verdict}; {held:.1f} GB of weights on the GPU"
    return text, not found.fits and abs(held / 11.3 - 1) < 0.03


def free_is_compared() -> Answer:
    empty = row("llama-3.1-8b", "rtx-4090:1")
    used = row("llama-3.1-8b", "rtx-4090:1", free=Bytes(4 * GIB))
    return f"empty: {empty.verdict}; --free 4GiB: {used.verdict}", empty.fits and not used.fits


def native_context_on_two_3090() -> Answer:
    found = row(
        "qwen3.8-27b-fp8",
        "rtx-3090:2",
        kv_precision="fp8",
        context=Tokens(262_144),
        knobs=Knobs(memory_fraction=0.92, max_batched_tokens=Tokens(8192)),
    )
    tokens = memory(found).kv_tokens.value
    a_token = 2 * memory(found).kv_bytes_per_token / 1024
    text = f"pool of {tokens:,.0f} tokens, {a_token:.0f} KiB a token over both cards"
    return text, abs(tokens / 302_921 - 1) < 0.1 and a_token == 32


def slots_share() -> Answer:
    found = row("deepseek-v3", "h200-sxm:8", engine="llama.cpp", precision="q2_k", context=27_306)
    assert found.memory is not None
    return f"a slot of 163,840 / 6 has {163_840 // 6:,} tokens", 163_840 // 6 == 27_306


def formula() -> Answer:
    held = memory_needs(resolve_model("llama-3.1-8b"), served()).kv.bytes_per_token
    return f"Llama-3.1-8B: {held:,.0f} = 2 x 32 x 8 x 128 x 2 bytes", held == 2 * 32 * 8 * 128 * 2


def int8_70b() -> Answer:
    found = row(
        "llama-3.1-70b",
        "h100-sxm:1",
        engine="vllm 0.8",
        precision="int8",
        context=Tokens(2048),
        knobs=Knobs(memory_fraction=0.98, max_sequences=256),
    )
    held, tokens = weights(found) / GIB, memory(found).kv_tokens
    text = (
        f"weights {held:.2f} GiB, {tokens.value:,.0f} tokens ({tokens.low:,.0f}–{tokens.high:,.0f})"
    )
    return text, abs(held / 67.72 - 1) < 0.001 and tokens.low <= 22_096 <= tokens.high


def hybrid_log() -> Answer:
    kv = memory_needs(resolve_model("qwen3.6-27b"), served(tensor=2, longest=32_768)).kv
    full = next(group for group in kv.groups if group.kind == "full")
    blocks = 290_864 // full.block_tokens * 4 + 3
    held = blocks / sum(group.blocks(32_768) for group in kv.groups)
    return f"{held:.2f} x 32,768 tokens, from the blocks in the log", abs(held - 33.04) < 0.01


def sharded_cache() -> Answer:
    model = resolve_model("qwen3-32b")
    one, four = (memory_needs(model, served(tensor=size)).kv.bytes_per_token for size in (1, 4))
    return f"a GPU of four keeps 1/{one / four:.0f} of each token", one == 4 * four


def ollama_parallel() -> Answer:
    kv = memory_needs(resolve_model("llama-3-8b"), served(by="ollama", weights="q4_0")).kv
    tokens = kv.bytes_for(sequences=4, tokens=4096) / kv.bytes_per_token
    return f"{tokens:,.0f} tokens", tokens == 16_384


def ollama_sixty_four() -> Answer:
    found = row(
        "llama-3-8b",
        "a100-40g-sxm/4g.20gb",
        engine="ollama 0.2",
        precision="q4_0",
        context=Tokens(2048),
        concurrency=64,
    )
    assert found.placement is not None
    most, whole = found.placement.most_gpu_layers, found.placement.all_layers
    needed = sum(term.size_bytes.value for term in memory(found).terms) / GIB
    return f"{found.verdict}: {needed:.0f} GiB, {most}/{whole} layers fit", not found.fits


def gpt_oss_users() -> Answer:
    held = [
        int(memory(row("gpt-oss-120b", f"{gpu}:1", context=Tokens(32_768))).max_concurrency.value)
        for gpu in ("rtx-pro-6000-se", "h100-sxm", "h200-sxm")
    ]
    text = f"full contexts that memory holds: {held[0]}, {held[1]} and {held[2]}"
    return text, held[0] >= 5 and held[1] >= 7 and held[2] >= 26


def eight_billion_on_h100() -> Answer:
    found = row("llama-3.1-8b", "h100-sxm:1", engine="vllm 0.15", knobs=Knobs(memory_fraction=0.95))
    held, pool = weights(found) / GIB, memory(found).kv_pool_bytes.value / GIB
    tokens = memory(found).kv_tokens.value
    text = f"weights {held:.2f}, KV pool {pool:.1f} GiB, {tokens:,.0f} tokens"
    right = abs(held / 15 - 1) < 0.01 and abs(pool / 58 - 1) < 0.03
    return text, right and abs(tokens / 475_000 - 1) < 0.03


def tensor_sizes(model: str | ModelSpec, stored: str, *, refused: int, most: int) -> Answer:
    spec = resolve_model(model) if isinstance(model, str) else model
    problem = layout_problem(
        spec, Layout(tensor=refused), weight_format(stored), engine=engine("vllm")
    )
    assert problem is not None
    legal = [size for size in problem.legal_sizes if size <= most]
    text = f"TP{refused} refused ({problem.rule.value}); legal: {', '.join(map(str, legal))}"
    return text, refused not in legal


def three_stages() -> Answer:
    model = resolve_model("llama-3.1-70b")
    bf16 = weight_format("bf16")
    three = layout_problem(model, Layout(tensor=3), bf16, engine=engine("vllm"))
    staged = layout_problem(model, Layout(pipeline=3), bf16, engine=engine("vllm"))
    said = "refused" if three else "legal", "refused" if staged else "legal"
    return f"TP3 {said[0]}, PP3 {said[1]}", said == ("refused", "legal")


def experts_in_blocks() -> Answer:
    model, stored = resolve_model("qwen3.8-flash-next-fp8"), weight_format("fp8-block")
    layouts = [Layout(tensor=size) for size in (1, 2, 4, 8)]
    legal = [str(each) for each in layouts if layout_problem(model, each, stored) is None]
    text = f"legal: {', '.join(legal)} (a shared expert of 640 forbids TP with EP too)"
    return text, legal == ["TP1"]


def unequal_tensor_group() -> Answer:
    both = row("openhermes-2-mistral-7b", "RTX 3090 + RTX 3070", precision="fp16")
    alone = row("openhermes-2-mistral-7b", "rtx-3090:1", precision="fp16")
    text = f"3090 + 3070 as {both.layout}: {both.verdict}; one 3090: {alone.verdict}"
    return text, not both.fits and alone.fits


def smallest_of_three() -> Answer:
    found = row("llama-3.1-8b", "rtx-5090 + 2x rtx-4000-ada", tp=1, pp=3)
    usable = memory(found).usable_bytes * 3 / GIB
    cards = [gpu_catalogue().get(name) for name in found.cards]
    least = min(card.usable_bytes for card in cards) * 3 / GIB
    text = f"32 + 20 + 20 GB serve as 3 x the smallest: {usable:.0f} GiB"
    return text, usable <= least


def latent_replicated() -> Answer:
    model = resolve_model("glm-5.2")
    one, eight = (memory_needs(model, served(tensor=size)).kv.bytes_per_token for size in (1, 8))
    return f"TP1 and TP8 keep {one:,.0f} bytes a token each", one == eight


def joined_slices() -> Answer:
    found = row("llama-3.1-8b", "A100 SXM/3g.40gb:2")
    return found.reason, found.layout is None


def format_support(
    gpu: str,
    stored: str,
    by: str,
    expected: Support,
    *,
    version: str | None = None,
    kv: bool = False,
) -> Answer:
    card, spec = gpu_catalogue().get(gpu), engine(by, version)
    answer = (
        kv_support(card, kv_format(stored), spec, version=version)
        if kv
        else weight_support(card, weight_format(stored), spec, version=version)
    )
    return f"{stored} on {card.name}: {answer.support.value}", answer.support is expected


def small_cloud_cards() -> Answer:
    found = {
        gpu: weight_support(gpu_catalogue().get(gpu), weight_format("fp8"), engine("vllm"))
        for gpu in ("t4", "a10g", "l4")
    }
    said = ", ".join(f"{gpu}: {answer.support.value}" for gpu, answer in found.items())
    told = "multiple of 64" in found["a10g"].reason
    return f"{said} (A10G: only tiles of 64)", told and found["l4"].runs and not found["t4"].runs


def slow_e4m3() -> Answer:
    answer = kv_support(
        gpu_catalogue().get("a100-40g-sxm"), kv_format("fp8"), engine("vllm"), version="0.6"
    )
    return answer.reason, "70 % slower" in answer.reason


def activation_by_format() -> Answer:
    found = row("llama-3.1-8b", "rtx-4090:1", engine="vllm 0.7", precision="fp8", context=8192)
    peak = next(term.size_bytes for term in memory(found).terms if term.name == "activation")
    low, high = peak.low / GB, peak.high / GB
    text = f"one peak for all formats: {peak.value / GB:.2f} ({low:.2f}–{high:.2f}) GB"
    return text, low <= 1.5 <= high


CASES: tuple[Case, ...] = (
    Case(
        id="fit-dsv3-fp8-8x80g",
        source="InternLM/lmdeploy#2960",
        truth="8 x 80 GB out of memory; 8 x 96 GB loads, 83 to 84 GB each",
        ours=deepseek_by_eight,
    ),
    Case(
        id="fit-kimi-k3-8xgb200",
        source="vllm-project/recipes#934",
        truth="8 are too few, 16 at least",
        ours=kimi_on_gb200,
    ),
    Case(
        id="fit-vllm-13b-38gb-prealloc",
        source="vllm-project/vllm#823",
        truth="26 GB of weights; 90 % of every card is claimed",
        ours=reserved_by_vllm,
    ),
    Case(
        id="fit-qwen35-9b-q4-8gb",
        source="AlexsJones/llmfit#302",
        truth="runs on 8 GB at 2k to 8k; the 26.3 GB are for 262k",
        ours=nine_billion_on_a_laptop,
    ),
    Case(
        id="fit-ream-awq-12gb",
        source="odysseus-dev/odysseus#377",
        truth="37.4 GB on disk: no",
        ours=coder_in_awq,
    ),
    Case(
        id="fit-rerank-m3-138g",
        source="gpustack/gpustack#2412",
        truth="926 MiB, not 13.8 GiB",
        why="an encoder: not served, and refused with that reason rather than guessed at",
    ),
    Case(
        id="fit-gguf-q06b-65pct",
        source="tobocop2/lilbee#761",
        truth="the output layer counts as one of n_gpu_layers, tables stay on the host",
        ours=head_alone,
    ),
    Case(
        id="fit-gguf-ngl1-output",
        source="gpustack/gguf-parser-go#42",
        truth="the output layer alone: 80.60 MiB of OLMoE",
        ours=head_alone,
    ),
    Case(
        id="fit-tgi-warmup-oom",
        source="huggingface/text-generation-inference#2744",
        truth="a start at 30,816 tokens is no proof: it died later",
        ours=start_is_no_proof,
    ),
    Case(
        id="fit-gptoss20b-mac16",
        source="ggml-org/Llama-macOS#58",
        truth="12 GB needed (weights 11.3) of a budget of 11: no",
        ours=gpt_oss_on_a_mac,
    ),
    Case(
        id="fit-mac48-35b-mxfp8",
        source="osaurus-ai/osaurus#1958",
        truth="42.7 GB of a working set of 36: no",
        why="MLX is no engine of Caudal's and MXFP8 no format; Apple cards count by working set",
    ),
    Case(
        id="fit-mac96-87gb",
        source="antirez/ds4#46",
        truth="yes with the wired limit raised to 92,000 MiB",
        why="ds4 is no engine of Caudal's; `--free 92000MiB` states a raised limit",
    ),
    Case(
        id="fit-m3-16-1184",
        source="AlexsJones/llmfit#754",
        truth="11.84 GB of 16",
        why="the catalogue begins with 64 GB; `--free 11.84GB` states it",
    ),
    Case(
        id="fit-free-vs-total",
        source="AlexsJones/llmfit#835",
        truth="free memory is what counts",
        ours=free_is_compared,
    ),
    Case(
        id="fit-fp8-activation-15",
        source="vllm-project/vllm#14270",
        truth="0.7 GB for FP16 and INT8, 1.5 GB for FP8",
        ours=activation_by_format,
    ),
    Case(
        id="ctx-qwen38-27b-2x3090",
        source="mitchross/talos-argocd-proxmox#1995",
        truth="302,921 tokens, 32 KiB a token",
        ours=native_context_on_two_3090,
    ),
    Case(
        id="ctx-llama-slots-6",
        source="ggml-org/llama.cpp#11681",
        truth="27,306 tokens a slot",
        ours=slots_share,
    ),
    Case(
        id="ctx-kv-formula-8x",
        source="jranaraki/vllm-fit#2",
        truth="2 x layers x KV heads x head size x bytes",
        ours=formula,
    ),
    Case(
        id="conc-70b-w8a8-1381",
        source="vllm-project/vllm#12569",
        truth="67.72 GiB, 22,096 tokens",
        ours=int8_70b,
    ),
    Case(
        id="conc-client-100",
        source="vllm-project/vllm#14513",
        truth="the client's connection pool is the limit",
        why="a matter of the load test, not of memory",
    ),
    Case(
        id="conc-hybrid-log-wrong",
        source="vllm-project/vllm#40691",
        truth="33.04 x 32,768",
        ours=hybrid_log,
    ),
    Case(
        id="conc-tp-kv-undersized",
        source="huggingface/transformers#48566",
        truth="834k tokens over four GPUs, not 208k",
        ours=sharded_cache,
    ),
    Case(
        id="conc-ollama-parallel4",
        source="ollama/ollama#9246",
        truth="16,384 tokens",
        ours=ollama_parallel,
    ),
    Case(
        id="conc-ollama-par64",
        source="ollama/ollama#5756",
        truth="32 GB, 15/33 layers on a slice of 20 GB",
        ours=ollama_sixty_four,
    ),
    Case(
        id="conc-gptoss120b-users32k",
        source="millstoneai.com, gpt-oss-120b",
        truth="5, 7 and 26 users on RTX PRO 6000, H100, H200",
        differs=True,
        why="users of a chat do not all fill 32k at once, and speed bounds the first card",
        ours=gpt_oss_users,
    ),
    Case(
        id="conc-8b-h100-58gib",
        source="llm-d-incubation/llm-d-planner#205",
        truth="15 and 58 GiB, 475k tokens",
        ours=eight_billion_on_h100,
    ),
    Case(
        id="mg-52heads-tp8",
        source="vllm-project/vllm#2652",
        truth="52 heads: not by 8; 1, 2, 4, 13",
        ours=partial(tensor_sizes, wizard_33b(), "bf16", refused=8, most=16),
    ),
    Case(
        id="mg-70b-3xa100",
        source="vllm-project/vllm#5003",
        truth="TP3 refused, PP3 works",
        ours=three_stages,
    ),
    Case(
        id="mg-gpustack-gemma27b-tp3",
        source="gpustack/gpustack#2259",
        truth="32 heads: not by 3",
        ours=partial(tensor_sizes, "gemma-3-27b", "bf16", refused=3, most=16),
    ),
    Case(
        id="mg-flashnext-fp8-tp",
        source="vllm-project/vllm#54178",
        truth="TP2, 4 and 8 fail; TP1 or expert parallel",
        ours=experts_in_blocks,
    ),
    Case(
        id="mg-awq-78b-tp2",
        source="vllm-project/vllm#21695",
        truth="231 groups: TP1 only",
        ours=partial(tensor_sizes, "internvl3-78b", "awq", refused=2, most=16),
    ),
    Case(
        id="mg-3090-3070",
        source="vllm-project/vllm#2317",
        truth="the 8 GB card runs out; one 3090 holds it",
        ours=unequal_tensor_group,
    ),
    Case(
        id="mg-uneven-32-20-20",
        source="vllm-project/vllm#50735",
        truth="3 x 20 GB usable",
        ours=smallest_of_three,
    ),
    Case(
        id="mg-exl2-tp-pcie",
        source="turboderp-org/exllamav2#734",
        truth="TP 379, layer split 1,046 tok/s",
        why="a question of speed; fit warns of tensor groups over PCIe",
    ),
    Case(
        id="mg-trt-pp-vs-tp",
        source="NVIDIA/TensorRT-LLM#1144",
        truth="TP4 6.4 s, TP2·PP2 10.2 s",
        why="a question of speed",
    ),
    Case(
        id="mg-mla-kv-replicated",
        source="inference-sim/inference-sim#1534",
        truth="the latent is whole on every rank",
        ours=latent_replicated,
    ),
    Case(
        id="mg-mig-tp",
        source="vllm-project/vllm#7211",
        truth="slices are not joined",
        ours=joined_slices,
    ),
    Case(
        id="q-fp8-ampere-vllm",
        source="vllm-project/vllm#5975",
        truth="weight-only",
        ours=partial(format_support, "a10", "fp8", "vllm", Support.WEIGHT_ONLY),
    ),
    Case(
        id="q-fp8-a100-trtllm",
        source="NVIDIA/TensorRT-LLM#1428",
        truth="no",
        ours=partial(format_support, "a100-80g-sxm", "fp8", "tensorrt-llm", Support.UNSUPPORTED),
    ),
    Case(
        id="q-fp8-rowwise-4090",
        source="NVIDIA/TensorRT-LLM#2229",
        truth="not in 0.13, later yes",
        why="row-wise FP8 is not told from per-channel FP8; `unknown` would hide the later yes",
    ),
    Case(
        id="q-fp8block-ada-trtllm",
        source="NVIDIA/TensorRT-LLM#4599",
        truth="no",
        ours=partial(
            format_support,
            "rtx-6000-ada",
            "fp8-block",
            "tensorrt-llm",
            Support.UNSUPPORTED,
            version="0.21",
        ),
    ),
    Case(
        id="q-fp8-t4-a10g-rhoai",
        source="rh-aiservices-bu/rhoai-maas-guide#53",
        truth="L4 yes; T4 no; A10G no for a width of 6,448",
        ours=small_cloud_cards,
    ),
    Case(
        id="q-mxfp4-cc75",
        source="vllm-project/vllm#23203",
        truth="vLLM no on T4",
        ours=partial(format_support, "t4", "mxfp4", "vllm", Support.UNSUPPORTED, version="0.10.1"),
    ),
    Case(
        id="q-nvfp4-3090",
        source="noonghunna/club-3090#670",
        truth="weight-only",
        ours=partial(format_support, "rtx-3090", "nvfp4", "vllm", Support.WEIGHT_ONLY),
    ),
    Case(
        id="q-nvfp4-hopper",
        source="NVlabs/QeRL#10",
        truth="weights only",
        ours=partial(format_support, "h100-sxm", "nvfp4", "vllm", Support.WEIGHT_ONLY),
    ),
    Case(
        id="q-fp8kv-e5m2-a10",
        source="vllm-project/vllm#4827",
        truth="storage only",
        ours=partial(
            format_support, "a10", "fp8_e5m2", "vllm", Support.STORAGE_ONLY, version="0.4", kv=True
        ),
    ),
    Case(
        id="q-fp8kv-e4m3-a100-slow",
        source="vllm-project/vllm#2279",
        truth="E4M3 about 70 % slower",
        ours=slow_e4m3,
    ),
    Case(
        id="q-fp8-a100-regression",
        source="vllm-project/vllm#39610",
        truth="0.19.0 yes, a nightly of April 2026 no",
        ours=partial(
            format_support,
            "a100-80g-sxm",
            "fp8-block",
            "vllm",
            Support.WEIGHT_ONLY,
            version="0.19.0",
        ),
    ),
)


def status(case: Case) -> str:
    """Return in a word or two how Caudal stands to the truth."""
    if case.ours is None:
        return "out of scope"
    return "agrees" if case.ours()[1] else "differs"


def page() -> str:
    """Return docs/cases.md."""
    lines = [
        "# Cases",
        "",
        "Questions that people asked about memory, the answer that measurements, logs or",
        "maintainers gave, and Caudal's. Made by `scripts/cases.py` from",
        "`tests/fit_answers.py`; a test fails if an answer changes.",
        "",
        "| case | truth | Caudal | status |",
        "|---|---|---|---|",
    ]
    for case in CASES:
        parts = [case.why] if case.ours is None else [case.ours()[0], case.why]
        said = "; ".join(part.rstrip(".") for part in parts if part)
        lines.append(f"| {case.id} ({case.source}) | {case.truth} | {said} | {status(case)} |")
    return "\n".join(lines) + "\n"
