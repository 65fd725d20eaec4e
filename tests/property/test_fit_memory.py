"""Laws of memory: it grows with what is asked, and no split, card or format makes bytes vanish."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import weight_formats
from caudal.fit.budget import Verdict, memory_budget
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.fit.weights import weight_needs
from caudal.vocabulary.units import GIB, Bytes, Tokens
from memory_cases import served
from model_files import DEEPSEEK, LLAMA, MIXTRAL, read_model

ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp")
H100 = gpu_catalogue().get("h100-sxm")
CONTEXTS = st.integers(1, 100_000)
SEQUENCES = st.integers(1, 500)
MEMORY = st.integers(8, 300).map(lambda gib: Bytes(gib * GIB))


@st.composite
def models(draw: st.DrawFn) -> ModelSpec:
    """A small model of any kind of attention: grouped, sliding in part, latent, with experts."""
    base = draw(st.sampled_from([LLAMA, MIXTRAL, DEEPSEEK]))
    changes: dict[str, object] = {
        "num_hidden_layers": draw(st.integers(4, 12)),
        "vocab_size": draw(st.integers(1000, 50_000)),
        "tie_word_embeddings": draw(st.booleans()),
    }
    if base is LLAMA and draw(st.booleans()):
        every = draw(st.integers(2, 4))
        changes["layer_types"] = [
            "full_attention" if index % every == 0 else "sliding_attention"
            for index in range(int(str(changes["num_hidden_layers"])))
        ]
        changes["sliding_window"] = draw(st.sampled_from([128, 1024, 4096]))
        changes["model_type"] = "olmo3"
    return read_model({**base, **changes})


@st.composite
def servings(draw: st.DrawFn) -> Serving:
    return served(
        by=draw(st.sampled_from(ENGINES)),
        cache=draw(st.sampled_from(["bf16", "fp8"])),
        tensor=draw(st.sampled_from([1, 2, 4, 8])),
    )


@given(models(), servings(), CONTEXTS, CONTEXTS, SEQUENCES)
def test_cache_grows_with_context_and_concurrency(
    model: ModelSpec, serving: Serving, one: int, other: int, sequences: int
) -> None:
    kv = memory_needs(model, serving).kv
    short, long = sorted((one, other))

    assert kv.request_bytes(short) <= kv.request_bytes(long)
    few = kv.bytes_for(sequences=sequences, tokens=long)
    assert few <= kv.bytes_for(sequences=sequences + 1, tokens=long)


@given(models(), st.sampled_from(ENGINES), st.data())
def test_weights_grow_with_bytes_a_weight(
    model: ModelSpec, engine: str, data: st.DataObject
) -> None:
    plain = [stored for stored in weight_formats() if not stored.is_gguf]
    one, other = data.draw(st.lists(st.sampled_from(plain), min_size=2, max_size=2))
    if one.kept_roles != other.kept_roles or "fp4" in one.name + other.name:
        return
    small, large = sorted((one, other), key=lambda stored: stored.bytes_per_weight)
    serving = served(by=engine)

    less = weight_needs(model, replace(serving, weight_format=small))
    more = weight_needs(model, replace(serving, weight_format=large))

    assert less.total.value <= more.total.value * (1 + 1e-12)


@given(models(), st.sampled_from(ENGINES), st.sampled_from([1, 2, 4, 8, 16]))
def test_splitting_loses_no_bytes(model: ModelSpec, engine: str, tensor: int) -> None:
    whole = memory_needs(model, served(by=engine))
    part = memory_needs(model, served(by=engine, tensor=tensor))

    held = part.weights_by_role.total.value
    assert whole.weights_by_role.total.value <= tensor * held * (1 + 1e-12)
    assert held <= whole.weights_by_role.total.value * (1 + 1e-12)
    assert whole.kv.request_bytes(4096) <= tensor * part.kv.request_bytes(4096)
    assert part.kv.request_bytes(4096) <= whole.kv.request_bytes(4096)


@given(models(), st.integers(1, 4))
def test_stages_together_hold_the_model(model: ModelSpec, stages: int) -> None:
    whole = weight_needs(model, served()).total.value
    fullest = weight_needs(model, served(pipeline=stages)).total.value

    assert whole <= stages * fullest * (1 + 1e-12)


@given(models(), servings(), CONTEXTS, SEQUENCES, MEMORY, MEMORY)
def test_a_larger_card_never_fits_less(
    model: ModelSpec,
    serving: Serving,
    context: int,
    concurrency: int,
    one: Bytes,
    other: Bytes,
) -> None:
    needs = memory_needs(model, serving)
    small, large = sorted((one, other))

    less, more = needs.kv_pool_bytes(small), needs.kv_pool_bytes(large)

    assert (less.low, less.value, less.high) <= (more.low, more.value, more.high)
    assert needs.kv.sequences(less.value, tokens=context) <= needs.kv.sequences(
        more.value, tokens=context
    )


@given(models(), servings(), MEMORY, st.integers(1, 300))
def test_memory_in_use_never_helps(
    model: ModelSpec, serving: Serving, usable: Bytes, free_gib: int
) -> None:
    needs = memory_needs(model, serving)
    free = float(free_gib * GIB)

    used = needs.kv_pool_bytes(usable, free_bytes=free)

    assert used.value <= needs.kv_pool_bytes(usable).value
    assert used.value <= free


@given(models(), servings(), CONTEXTS, SEQUENCES)
def test_asking_for_less_keeps_a_fit(
    model: ModelSpec, serving: Serving, context: int, concurrency: int
) -> None:
    full = memory_budget(model, serving, H100, context_tokens=context, concurrency=concurrency)
    half = memory_budget(
        model, serving, H100, context_tokens=context, concurrency=max(concurrency // 2, 1)
    )

    if full.verdict is Verdict.FITS:
        assert half.verdict is Verdict.FITS
    assert full.kv_needed_bytes >= half.kv_needed_bytes


@given(models(), servings(), SEQUENCES, MEMORY)
def test_the_longest_context_fits_and_one_more_token_does_not(
    model: ModelSpec, serving: Serving, sequences: int, pool: Bytes
) -> None:
    kv = memory_needs(model, replace(serving, max_model_tokens=Tokens(200_000))).kv

    longest = kv.longest_context(float(pool), sequences=sequences)

    if longest:
        assert kv.bytes_for(sequences=sequences, tokens=longest) <= pool
    if longest < kv.longest_tokens:
        assert kv.bytes_for(sequences=sequences, tokens=longest + 1) > pool
