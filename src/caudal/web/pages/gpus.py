"""GPUs for LLM inference: the table, up to four side by side, and a page for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from caudal.documents.gpu_overview import GpuStanding, gpu_standings, smallest_rows, stream_speeds
from caudal.documents.offers import OfferDocument, find_offers, offer_query
from caudal.documents.offers_history import find_history
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import compare_gpus, gpu_catalogue, nearest_alternatives
from caudal.facts.layout import Layout
from caudal.facts.models import model_catalogue
from caudal.offers.offer import Offer, Term
from caudal.vocabulary.errors import CaudalError, InfeasibleError, InvalidQuantityError
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.quantities import parse_bytes
from caudal.web.asking import model_named
from caudal.web.charts.lines import Line, line_chart
from caudal.web.languages import later
from caudal.web.page import Page, Shown
from caudal.web.pages.home import PRECISIONS, TERMS

USUAL_MODEL: Final = "llama-3.1-8b"
MOST_COMPARED: Final = 4  # chosen: fits beside each other on a laptop
# What a GPU's page shows it serving: well-known sizes from 1B to 671B.
SERVED: Final = (
    *("llama-3.2-1b", "llama-3.1-8b", "qwen3-14b", "gemma-3-27b", "qwen3-32b"),
    *("llama-3.1-70b", "gpt-oss-120b", "qwen3-235b-a22b", "llama-3.1-405b", "deepseek-v3"),
)
ASCENDING: Final = frozenset({"name", "price"})
FIGURES: Final = {
    "memory, nominal": later("Memory, nominal"),
    "memory, usable": later("Memory, usable"),
    "bandwidth": later("Bandwidth"),
    "16 bit, dense": later("16 bit, dense"),
    "FP8, dense": later("FP8, dense"),
    "INT8, dense": later("INT8, dense"),
    "FP4, dense": later("FP4, dense"),
    "link, one direction": later("Link, one direction"),
    "power": later("Power"),
}
UNITS: Final = {
    "bytes": ("GB", 1e9),
    "bytes/s": ("GB/s", 1e9),
    "FLOP/s": ("TFLOPS", 1e12),
    "W": ("W", 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One model on one GPU: the fewest of them, and how fast."""

    model: str
    precision: str
    gpus: int | None
    layout: Layout | None
    users: float | None  # requests of 8k tokens at once
    speed: Estimate | None


def show_gpus(page: Page) -> Shown:
    """Return the table of GPUs for a chosen model."""
    model = model_named(page, page.get("model", USUAL_MODEL) or USUAL_MODEL)
    precision = page.get("precision", "bf16") or "bf16"
    standings = gpu_standings(
        model, precision=precision, book=page.services.book(), term=_term(page)
    )
    least = page.read(
        "min_memory", lambda text: parse_bytes(text if text[-1:].isalpha() else f"{text}GB")
    )
    vendor = page.get("vendor")
    rows = [
        row
        for row in standings
        if (page.get("priced") == "no" or row.offer is not None)
        and (not page.get("fp8") or row.gpu.native_fp8)
        and (not page.get("holds") or row.gpus is not None)
        and (not vendor or row.gpu.vendor == vendor)
        and (least is None or max(row.gpu.memory_bytes, row.gpu.usable_bytes) >= least)
    ]
    sort = page.get("sort", "memory")
    key = _SORTS.get(sort, _SORTS["memory"])
    descending = page.get("order", "asc" if sort in ASCENDING else "desc") == "desc"
    known = [row for row in rows if key(row) is not None]
    unknown = [row for row in rows if key(row) is None]
    ordered = [
        *sorted(known, key=lambda row: (key(row), row.gpu.name), reverse=descending),
        *unknown,
    ]
    return Shown(
        "gpus.html",
        {
            "rows": ordered,
            "all_count": len(gpu_catalogue().all),
            "model": model,
            "models": model_catalogue().entries,
            "precision": precision,
            "precision_pairs": [(name, name) for name in PRECISIONS],
            "term": page.get("term", "hourly"),
            "term_pairs": [(term.value, page.gettext(name)) for term, name in TERMS.items()],
            "vendors": [(name, name) for name in sorted({g.vendor for g in gpu_catalogue().all})],
            "sort": sort,
            "descending": descending,
            "order_of": lambda name: _order(name, sort=sort, descending=descending),
            "terms": TERMS,
        },
    )


def _order(name: str, *, sort: str, descending: bool) -> str:
    """Return the order that a click on a header asks for: the other one where it is sorted by."""
    if name == sort:
        return "asc" if descending else "desc"
    return "asc" if name in ASCENDING else "desc"


def _term(page: Page) -> Term | None:
    text = page.get("term", "hourly")
    if text == "any":
        return None
    try:
        return Term(text or "hourly")
    except ValueError:
        raise InvalidQuantityError(
            f"There is no term {text[:20]!r}.", remedy=f"Choose {', '.join(Term)}."
        ) from None


_SORTS: Final[dict[str, Callable[[GpuStanding], float | str | None]]] = {
    "name": lambda row: row.gpu.name.casefold(),
    "memory": lambda row: float(row.gpu.memory_bytes),
    "bandwidth": lambda row: float(row.gpu.memory_bytes_per_s),
    "fp8": lambda row: row.gpu.dense_fp8_flop_per_s,
    "largest16": lambda row: float(row.largest_16_bit),
    "largest4": lambda row: float(row.largest_4_bit),
    "ceiling": lambda row: row.ceiling_tokens_per_s,
    "speed": lambda row: None if row.stream_tokens_per_s is None else row.stream_tokens_per_s.value,
    "price": lambda row: None if row.offer is None else float(row.offer.price_usd_per_gpu_hour),
}


def show_compared(page: Page) -> Shown:
    """Return up to four GPUs side by side.

    Raises:
        InvalidQuantityError: none or more than four are named.
    """
    names = page.get_all("gpu")
    specs: dict[str, GpuSpec] = {}
    for name in names:
        for spec in gpu_catalogue().resolve(name).specs:
            specs[spec.id] = spec
    if not specs or len(specs) > MOST_COMPARED:
        raise InvalidQuantityError(
            f"{len(specs)} GPUs are chosen; one to {MOST_COMPARED} fit side by side.",
            remedy="Choose some of the table, at most four.",
        )
    chosen = tuple(specs.values())
    model = model_named(page, page.get("model", USUAL_MODEL) or USUAL_MODEL)
    precision = page.get("precision", "bf16") or "bf16"
    standings = gpu_standings(
        model, precision=precision, book=page.services.book(), term=_term(page), gpus=chosen
    )
    return Shown(
        "gpus_compared.html",
        {
            "specs": chosen,
            "lines": compare_gpus(chosen),
            "labels": FIGURES,
            "units": UNITS,
            "standings": standings,
            "model": model,
            "precision": precision,
            "terms": TERMS,
        },
    )


def show_gpu(page: Page) -> Shown:
    """Return all that is known about one GPU."""
    gpu = gpu_catalogue().get(page.names["gpu"])
    offers = _offers(page, gpu)
    return Shown(
        "gpu.html",
        {
            "gpu": gpu,
            "lines": compare_gpus([gpu]),
            "labels": FIGURES,
            "units": UNITS,
            "served": _served(page, gpu),
            "offers": offers,
            "history": _history(page, gpu),
            "memory_gb": memory_gb,
            "near": nearest_alternatives(gpu, gpu_catalogue().all),
            "terms": TERMS,
        },
    )


def memory_gb(offer: Offer) -> float:
    """Return the memory of all GPUs of an instance, in a datasheet's GB."""
    return float(gpu_catalogue().get(offer.gpu_id).memory_bytes) / 1e9 * float(offer.total_gpus)


def _served(page: Page, gpu: GpuSpec) -> list[Served]:
    found = []
    for name in SERVED:
        model = page.services.model(name)
        for precision in ("bf16", "fp8", "int4"):
            rows = smallest_rows(model, precision=precision, gpus=[gpu])
            speed = stream_speeds(model, precision=precision, rows=rows).get(gpu.id)
            row = rows.get(gpu.id)
            memory = None if row is None else row.memory
            found.append(
                Served(
                    model=name,
                    precision=precision,
                    gpus=None if row is None else row.gpus,
                    layout=None if row is None else row.layout,
                    users=None if memory is None else memory.max_concurrency.low,
                    speed=speed,
                )
            )
    return found


def _offers(page: Page, gpu: GpuSpec) -> OfferDocument | None:
    try:
        return find_offers([gpu.id], offer_query(), book=page.services.book(), top=12)
    except InfeasibleError:
        return None


def _history(page: Page, gpu: GpuSpec) -> dict[str, object] | None:
    """Return the prices over time as chart and rows, None where fewer than two days are known."""
    try:
        document = find_history(gpu.id, today=page.today, database=page.services.settings.database)
    except CaudalError:
        return None
    daily = document.daily
    if len({point.day for point in daily}) < 2:
        return None
    lines = [
        Line(
            name=page.gettext(TERMS[term]),
            points=tuple(
                (float(point.day.toordinal()), float(point.least_usd_per_gpu_hour))
                for point in daily
                if point.term is term
            ),
        )
        for term in dict.fromkeys(point.term for point in daily)
    ]
    chart = line_chart(
        lines,
        title=page.gettext("Cheapest GPU-hour seen, by day"),
        x_title=page.gettext("day"),
        y_title=page.gettext("US$/GPU-h"),
        x_text=lambda value: page.figures.date(type(page.today).fromordinal(max(1, int(value)))),
        y_text=lambda value: page.figures.significant(value, 2),
    )
    return {"chart": chart or Markup(""), "daily": daily[-60:]}
