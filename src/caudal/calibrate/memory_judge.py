"""Which terms of a row of start-up figures are judged, and what is predicted for each.

- **weights_gib**: printed by the server, with the number of GPUs known, in a format that
  fixes the bits of a weight (not EXL3, AQLM, or a GGUF mix that isn't named), and the model
  not itself inferred from figures. Not with LoRA on, whose adapters are loaded with the
  weights at a rank that no row prints.
- **kv_bytes_per_token**: printed or derived, with the number of GPUs known. Where layers are
  kept in several ways vLLM's token count is no capacity, so bytes are those of one request of
  max_model_len: `pool ÷ (max_concurrency · max_model_len)`; without a printed concurrency it
  is not judged. llama.cpp: the total over devices ÷ n_ctx, with sliding layers only where
  n_ubatch is printed. A printed recurrent state is judged instead, per slot.
  SGLang prints keys and values without recurrent states, so there bytes a token are judged.
- **kv_cache_gib**: card and fraction both known, and the pool not capped by max_total_tokens.
  SGLang: from the free memory it printed after loading; TensorRT-LLM: from the free memory it
  printed, else from the card. With LoRA on, from the weights that the row prints. Not where
  the GPU shares the host's memory: there the pool depends on what else the host holds (one
  configuration on DGX Spark gave 10.68 and 5.09 GiB), so card and fraction pin down nothing.
- **kv_tokens**, **max_concurrency**: from the row's own pool where it prints one (the pool is
  judged for itself), else from the predicted one if that is judged. Mixed models:
  max_concurrency · max_model_len for tokens.
- **verdicts**: one request of max_model_len at the limits the row ran with, on its card with
  the fraction it printed; where it printed none, in the pool that it printed, and failing
  that with the engine's default. SGLang and TensorRT-LLM start with less than the longest
  prompt, so there it is a request of the tokens that they hold. A success whose max_model_len
  isn't known is not judged. llama.cpp: on one card whose memory is known, beside the weights
  that it printed there, for all slots. "Uncertain" is neither a fit nor a refusal.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from caudal.calibrate.memory_rows import MemoryRow
from caudal.calibrate.memory_servings import RowServing, serving_of
from caudal.facts.model import ModelSpec
from caudal.fit.budget import Verdict, verdict_of
from caudal.fit.needs import MemoryNeeds, PoolRule, memory_needs
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import GIB

_PRINTED: Final = 0.005 * GIB  # logs print pools to a hundredth of a GiB
_SNAPSHOTS: Final = re.compile(r"(\d+) rs_seq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One term of one row: bytes, tokens or requests, predicted and measured."""

    row: str
    engine: str
    family: str
    field: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Return |predicted − measured| ÷ measured."""
        return abs(self.predicted - self.measured) / self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedVerdict:
    """Whether a server that started, or did not, was predicted to fit."""

    row: str
    engine: str
    family: str
    verdict: Verdict
    started: bool

    @property
    def false_fit(self) -> bool:
        """Return whether a failure was called a fit."""
        return self.verdict is Verdict.FITS and not self.started

    @property
    def false_refusal(self) -> bool:
        """Return whether a success was refused."""
        return self.verdict is Verdict.DOES_NOT_FIT and self.started


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCase:
    """A row, the model it ran, how it was served, and what Caudal says it needs."""

    row: MemoryRow
    model: ModelSpec
    described: RowServing
    needs: MemoryNeeds

    @property
    def engine(self) -> str:
        """Return the engine's name."""
        return self.described.serving.engine.name

    @property
    def with_lora(self) -> bool:
        """Return whether adapters were loaded with the weights."""
        return "lora" in self.row.text("notes").lower()

    @property
    def longest(self) -> int:
        """Return the longest sequence that the server accepted."""
        return self.needs.kv.longest_tokens

    @property
    def slots(self) -> int:
        """Return llama.cpp's slots."""
        return self.row.counts.get("max_num_seqs", 1)


def memory_case(row: MemoryRow, model_of: Callable[[str], ModelSpec]) -> MemoryCase:
    """Return the row with what is predicted for it.

    Raises:
        CaudalError: the model or the engine is not known.
    """
    model = model_of(row.model)
    described = serving_of(row, model)
    return MemoryCase(
        row=row, model=model, described=described, needs=memory_needs(model, described.serving)
    )


def judge_terms(case: MemoryCase) -> Iterator[Judged]:
    """Yield every term that the row pins down, predicted and measured."""
    pool = _pool(case)
    terms: Mapping[str, tuple[float, float] | None] = {
        "weights_gib": _weights(case),
        "kv_bytes_per_token": _bytes_per_token(case),
        "kv_cache_gib": pool,
        "kv_tokens": _tokens(case, pool),
        "max_concurrency": _concurrency(case, pool),
    }
    for field, term in terms.items():
        if term is not None:
            predicted, measured = term
            yield Judged(
                row=case.row.id,
                engine=case.engine,
                family=case.model.family,
                field=field,
                predicted=predicted,
                measured=measured,
            )


def _weights(case: MemoryCase) -> tuple[float, float] | None:
    row, described = case.row, case.described
    measured = row.gib("weights_gib")
    if (
        measured is None
        or row.flag("model_inferred")
        or case.with_lora
        or not described.layout_stated
        or not described.weights_stated
    ):
        return None
    return case.needs.weights.value, measured


def _bytes_per_token(case: MemoryCase) -> tuple[float, float] | None:
    row, kv = case.row, case.needs.kv
    state = row.gib("recurrent_state_gib")
    if state is not None:
        found = _SNAPSHOTS.search(row.text("quote"))
        copies = 1 + int(found.group(1)) if found else 1
        return kv.state_bytes, state / case.slots / copies
    measured = row.numbers.get("kv_bytes_per_token")
    if measured is None or not case.described.layout_stated:
        return None
    if case.needs.rule is PoolRule.WHOLE:
        return _cell_bytes(case, measured)
    if kv.is_mixed and case.needs.rule is PoolRule.OF_TOTAL:
        return _request_bytes(case)
    return kv.bytes_per_token, measured


def _cell_bytes(case: MemoryCase, measured: float) -> tuple[float, float] | None:
    """Return llama.cpp's bytes a token: all cells of all devices over the whole context."""
    kv = case.needs.kv
    if kv.shared_bytes and "n_ubatch" not in case.row.counts:
        return None
    context = case.longest // case.slots
    return kv.bytes_for(sequences=case.slots, tokens=context) / (context * case.slots), measured


def _request_bytes(case: MemoryCase) -> tuple[float, float] | None:
    """Return the bytes a token of one request of the longest length, for mixed models."""
    row = case.row
    pool, fit = row.gib("kv_cache_gib"), row.numbers.get("max_concurrency")
    if pool is None or fit is None or "max_model_len" not in row.counts:
        return None
    return case.needs.kv.request_bytes(case.longest) / case.longest, pool / (fit * case.longest)


def _pool(case: MemoryCase) -> tuple[float, float] | None:
    row, described, needs = case.row, case.described, case.needs
    measured = row.gib("kv_cache_gib")
    if measured is None and "gpu_blocks" in row.counts and not needs.kv.is_mixed:
        tokens = row.counts["gpu_blocks"] * row.counts.get("block_size", described.serving.block)
        measured = tokens * needs.kv.bytes_per_token
    if (
        measured is None
        or not described.fraction_stated
        or "max_total_tokens" in row.counts
        or not described.layout_stated
    ):
        return None
    predicted = _predicted_pool(case)
    return None if predicted is None else (predicted, measured)


def _predicted_pool(case: MemoryCase) -> float | None:
    row, described, needs = case.row, case.described, case.needs
    fraction = needs.fraction
    if needs.rule is PoolRule.STATIC:
        if needs.kv.is_mixed:  # states have a pool of their own, which no row prints
            return None
        after = row.gib("avail_after_load_gib")
        if after is None:
            return None
        return after - (1 - fraction) * (after + needs.weights.value)
    free = row.gib("free_before_kv_gib")
    if needs.rule is PoolRule.OF_FREE and free is not None:
        return fraction * free
    if (
        described.total_bytes is None
        or described.unified
        or not described.card_stated
        or not described.weights_stated
    ):
        return None
    pool = needs.kv_pool_bytes(described.total_bytes).value
    loaded = row.gib("weights_gib")
    if case.with_lora and loaded is not None:
        pool += needs.weights.value - loaded
    return pool


def _own_pool(case: MemoryCase, pool: tuple[float, float] | None) -> float | None:
    """Return the pool that tokens and requests are counted in."""
    printed = case.row.gib("kv_cache_gib")
    if printed is not None:
        return printed
    return None if pool is None else pool[0]


def _tokens(case: MemoryCase, pool: tuple[float, float] | None) -> tuple[float, float] | None:
    row, kv = case.row, case.needs.kv
    if case.needs.rule is PoolRule.WHOLE or not case.described.layout_stated:
        return None
    held = _own_pool(case, pool)
    if held is None:
        return None
    if kv.is_mixed:
        fit = row.numbers.get("max_concurrency")
        if fit is None or "max_model_len" not in row.counts:
            return None
        return kv.tokens(held, tokens=case.longest), fit * case.longest
    measured = row.counts.get("kv_tokens")
    if measured is None and "gpu_blocks" in row.counts:
        measured = row.counts["gpu_blocks"] * row.counts.get("block_size", 1)
    return None if measured is None else (held / kv.bytes_per_token, float(measured))


def _concurrency(case: MemoryCase, pool: tuple[float, float] | None) -> tuple[float, float] | None:
    measured = case.row.numbers.get("max_concurrency")
    held = _own_pool(case, pool)
    if (
        measured is None
        or held is None
        or "max_model_len" not in case.row.counts
        or not case.described.layout_stated
    ):
        return None
    return case.needs.kv.sequences(held, tokens=case.longest), measured


def judge_verdict(case: MemoryCase) -> JudgedVerdict | None:
    """Return the verdict on the start that the row tells of, None where it pins none down."""
    row, described, needs = case.row, case.described, case.needs
    started = row.outcome == "ok"
    if not described.layout_stated or (started and "max_model_len" not in row.counts):
        return None
    if needs.rule is PoolRule.WHOLE:
        return _judged_cells(case, started=started)
    printed = row.gib("kv_cache_gib")
    computable = described.total_bytes is not None and described.weights_stated
    if computable and (described.fraction_stated or printed is None):
        assert described.total_bytes is not None
        pool = needs.kv_pool_bytes(described.total_bytes, unified=described.unified)
    elif printed is not None:
        pool = Estimate(printed, printed - _PRINTED, printed + _PRINTED, Basis.MEASURED)
    else:
        return None
    tokens = case.longest
    if needs.rule is not PoolRule.OF_TOTAL:
        tokens = min(tokens, row.counts.get("kv_tokens", tokens))
    return _judged(case, verdict_of(pool, needs.kv, sequences=1, tokens=tokens), started=started)


def _judged_cells(case: MemoryCase, *, started: bool) -> JudgedVerdict | None:
    """Return the verdict on a llama.cpp that ran on one card, beside the weights it printed there.

    What is on the card is the user's choice of layers and experts, so the weights are the row's.
    """
    row, described, needs = case.row, case.described, case.needs
    loaded = row.gib("gpu_weight_buffers_gib") or row.gib("weights_gib")
    total = described.total_bytes
    if row.counts.get("n_gpus") != 1 or loaded is None or total is None:
        return None
    if not described.card_stated or described.unified:
        return None
    rest = needs.activation + needs.other
    pool = rest.falling(lambda size: total - loaded - size)
    cells = verdict_of(pool, needs.kv, sequences=case.slots, tokens=case.longest // case.slots)
    return _judged(case, cells, started=started)


def _judged(case: MemoryCase, verdict: Verdict, *, started: bool) -> JudgedVerdict:
    return JudgedVerdict(
        row=case.row.id,
        engine=case.engine,
        family=case.model.family,
        verdict=verdict,
        started=started,
    )
