"""GPUs for one model, side by side: what each holds, how fast it decodes, what it costs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.budget import Verdict
from caudal.fit.fit_rows import FitRow
from caudal.fit.needs import memory_needs
from caudal.fit.rules_of_thumb import (
    BYTES_AT_4_BIT_STORED,
    BYTES_AT_16_BIT,
    largest_model_parameters,
    prudent_parameters,
)
from caudal.fit.serving import Serving
from caudal.offers.book import OfferBook
from caudal.offers.offer import Offer, Term
from caudal.offers.query import OfferQuery
from caudal.speed.ceiling import decode_ceiling
from caudal.speed.gpus import GpuColumns
from caudal.speed.steps import decode_step_seconds, spread
from caudal.speed.work import step_work
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.units import Bytes, Tokens

CONTEXT: Final = Tokens(2048)  # chosen: a chat's length, at which a stream's speed is given


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuStanding:
    """One GPU as far as one model in one precision is concerned."""

    gpu: GpuSpec
    largest_16_bit: int  # parameters that fit by the 80 % rule
    largest_4_bit: int
    ceiling_tokens_per_s: float  # one stream on one GPU, bandwidth over weights: an upper bound
    gpus: int | None  # the fewest of one node that surely hold the model, None: none do
    layout: Layout | None
    stream_tokens_per_s: Estimate | None  # predicted for one stream on so many GPUs
    offer: Offer | None  # the cheapest GPU-hour
    age_days: int | None


def gpu_standings(
    model: ModelSpec,
    *,
    precision: str,
    book: OfferBook,
    term: Term | None = Term.HOURLY,
    gpus: Sequence[GpuSpec] = (),
) -> tuple[GpuStanding, ...]:
    """Return every GPU with what it does for `model` stored in `precision`.

    Raises:
        UnknownPrecisionError: with the nearest names.
    """
    specs = tuple(gpus) or gpu_catalogue().all
    stored = weight_format(model.checkpoint.weight_format if precision == "native" else precision)
    rows = smallest_rows(model, precision=stored.name, gpus=specs)
    speeds = stream_speeds(model, precision=stored.name, rows=rows)
    serving = Serving(engine=engine("vllm"), weight_format=stored, kv_format=kv_format("bf16"))
    weights = Bytes(round(memory_needs(model, serving).weights.value))
    offers = cheapest_gpu_hours(book, term)
    return tuple(
        _standing(
            spec,
            row=rows.get(spec.id),
            speed=speeds.get(spec.id),
            offer=offers.get(spec.id),
            weights=weights,
            today=book.today,
        )
        for spec in specs
    )


def smallest_rows(
    model: ModelSpec, *, precision: str, gpus: Iterable[GpuSpec]
) -> Mapping[str, FitRow]:
    """Return, for each GPU that holds the model at 8k tokens, the row with the fewest GPUs."""
    return _smallest_rows(model, precision, tuple(spec.id for spec in gpus))


@lru_cache(maxsize=256)
def _smallest_rows(
    model: ModelSpec, precision: str, gpu_ids: tuple[str, ...]
) -> Mapping[str, FitRow]:
    asked = FitAsked(
        model=model,
        gpus=gpu_ids,
        precision=precision,
        context=Tokens(min(8192, model.max_context_tokens)),
    )
    found: dict[str, FitRow] = {}
    for row in answer_fit_question(asked).report.rows:
        if row.verdict is Verdict.FITS and row.support.runs:
            found.setdefault(row.gpu_id, row)
    return found


def stream_speeds(
    model: ModelSpec, *, precision: str, rows: Mapping[str, FitRow]
) -> Mapping[str, Estimate]:
    """Return the tokens a second of one stream on each row, all GPUs of a layout at once."""
    catalogue = gpu_catalogue()
    by_layout: dict[Layout, list[str]] = {}
    for gpu_id, row in rows.items():
        assert row.layout is not None, "what fits has a layout"
        by_layout.setdefault(row.layout, []).append(gpu_id)
    found: dict[str, Estimate] = {}
    for layout, ids in by_layout.items():
        serving = Serving(
            engine=engine("vllm"),
            weight_format=weight_format(precision),
            kv_format=kv_format("bf16"),
            layout=layout,
        )
        work = step_work(model, serving)
        columns = GpuColumns.of([catalogue.get(gpu_id) for gpu_id in ids])
        seconds = decode_step_seconds(work, columns, batch=1.0, context_tokens=float(CONTEXT))
        factors, bases = spread(work, columns, "tpot")
        for at, gpu_id in enumerate(ids):
            if seconds[at] > 0:
                found[gpu_id] = Estimate.within(
                    1 / float(seconds[at]), float(factors[at]), bases[at]
                )
    return found


@lru_cache(maxsize=16)
def cheapest_gpu_hours(book: OfferBook, term: Term | None) -> Mapping[str, Offer]:
    """Return the offer with the cheapest GPU-hour of each GPU, whole GPUs only."""
    query = OfferQuery(terms=None if term is None else frozenset({term}), fractions=False)
    found: dict[str, Offer] = {}
    for offer in book.find(query):
        found.setdefault(offer.gpu_id, offer)
    return found


def _standing(
    spec: GpuSpec,
    *,
    row: FitRow | None,
    speed: Estimate | None,
    offer: Offer | None,
    weights: Bytes,
    today: date,
) -> GpuStanding:
    memory = spec.usable_bytes if spec.unified_memory else spec.memory_bytes
    return GpuStanding(
        gpu=spec,
        largest_16_bit=prudent_parameters(
            largest_model_parameters(memory, bytes_per_parameter=BYTES_AT_16_BIT)
        ),
        largest_4_bit=prudent_parameters(
            largest_model_parameters(memory, bytes_per_parameter=BYTES_AT_4_BIT_STORED)
        ),
        ceiling_tokens_per_s=decode_ceiling(spec.memory_bytes_per_s, weight_bytes=weights),
        gpus=None if row is None else row.gpus,
        layout=None if row is None else row.layout,
        stream_tokens_per_s=speed,
        offer=offer,
        age_days=None if offer is None else offer.age_days(today),
    )
