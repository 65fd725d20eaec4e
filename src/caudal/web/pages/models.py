"""Models: the catalogue, and for each its shape, its memory, and what serves it."""

from dataclasses import dataclass
from typing import Final

from caudal.documents.gpu_overview import GpuStanding, gpu_standings
from caudal.documents.models import ModelDocument, list_models
from caudal.facts.engines import engine
from caudal.facts.model import (
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    MixtureFeedForward,
    ModelSpec,
    RecurrentMixer,
)
from caudal.facts.models import ModelEntry, model_catalogue
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.vocabulary.errors import CaudalError
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.home import TERMS

STORED: Final = ("bf16", "fp8", "int8", "int4", "q4_k_m")
CONTEXTS: Final = (8_192, 32_768, 131_072)
_SORTS: Final = ("name", "total", "active", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a model takes in one precision."""

    precision: str
    weights_bytes: float
    bytes_per_token: float
    requests: tuple[tuple[int, float | None], ...]  # context → bytes of one request's cache


def show_models(page: Page) -> Shown:
    """Return the catalogue, filtered and sorted."""
    family = page.get("family")
    failure, status = None, 200
    entries: tuple[ModelEntry, ...] = ()
    try:
        entries = list_models(family=family).models
    except CaudalError as error:
        failure, status = failure_shown(error)
    sort = page.get("sort", "name")
    descending = page.get("order", "asc" if sort == "name" else "desc") == "desc"
    ordered = sorted(entries, key=lambda entry: _key(entry, sort), reverse=descending)
    return Shown(
        "models.html",
        {
            "entries": ordered,
            "count": len(model_catalogue().entries),
            "sort": sort,
            "descending": descending,
            "failure": failure,
        },
        status,
    )


def _key(entry: ModelEntry, sort: str) -> tuple[float, str]:
    name = entry.short_name
    match sort:
        case "total":
            return (float(entry.total_parameters), name)
        case "active":
            return (float(entry.active_parameters), name)
        case "context":
            return (float(entry.max_context_tokens or 0), name)
    return (0.0, name)


def show_model(page: Page) -> Shown:
    """Return all that is known about one model."""
    name = page.names["name"]
    entry = model_catalogue().find(name)
    if entry is not None and entry.problem:
        return Shown("model_unplanned.html", {"entry": entry})
    model = page.services.model(name)
    precision = page.get("precision", model.checkpoint.weight_format)
    standings = gpu_standings(model, precision=precision, book=page.services.book(), term=None)
    holding = [row for row in standings if row.gpus is not None]
    holding.sort(key=lambda row: (_usd_an_hour(row) is None, _usd_an_hour(row) or 0.0))
    return Shown(
        "model.html",
        {
            "document": ModelDocument.of(model),
            "model": model,
            "short": name if entry is None else entry.short_name,
            "layer_text": lambda layer: _layer_text(page, layer),
            "stored": list(_stored(model)),
            "contexts": CONTEXTS,
            "standings": holding if page.get("all") else holding[:15],
            "found": len(holding),
            "precision": precision,
            "usd_an_hour": _usd_an_hour,
            "terms": TERMS,
        },
    )


def _usd_an_hour(row: GpuStanding) -> float | None:
    """Return the price of all GPUs that hold the model, at the cheapest GPU-hour."""
    if row.offer is None or row.gpus is None:
        return None
    return float(row.offer.price_usd_per_gpu_hour) * row.gpus


def _stored(model: ModelSpec) -> list[Stored]:
    names = dict.fromkeys((model.checkpoint.weight_format, *STORED))
    found = []
    for name in names:
        stored = weight_format(name)
        kept = "bf16"
        host = "llama.cpp" if stored.is_gguf else "vllm"
        if stored.is_gguf:
            kept = "f16"
        serving = Serving(engine=engine(host), weight_format=stored, kv_format=kv_format(kept))
        needs = memory_needs(model, serving)
        found.append(
            Stored(
                precision=stored.name,
                weights_bytes=needs.weights.value,
                bytes_per_token=needs.kv.bytes_per_token,
                requests=tuple(
                    (
                        tokens,
                        needs.kv.request_bytes(tokens)
                        if tokens <= model.max_context_tokens
                        else None,
                    )
                    for tokens in CONTEXTS
                ),
            )
        )
    return found


def _layer_text(page: Page, layer: Layer) -> str:
    """Return one kind of layers in the field's words."""
    parts = []
    for mixer in layer.mixers:
        match mixer:
            case GroupedQueryAttention():
                kind = "MHA" if mixer.kv_heads == mixer.heads else "GQA"
                kind = "MQA" if mixer.kv_heads == 1 else kind
                window = mixer.window_tokens or mixer.chunk_tokens
                text = page.gettext(
                    "%(kind)s, %(heads)s heads, %(kv)s KV heads of %(size)s",
                    kind=kind,
                    heads=mixer.heads,
                    kv=mixer.kv_heads,
                    size=mixer.head_dim,
                )
                if window:
                    text += ", " + page.gettext(
                        "window of %(tokens)s tokens", tokens=page.figures.number(window)
                    )
                parts.append(text)
            case LatentAttention():
                parts.append(
                    page.gettext(
                        "MLA, %(heads)s heads, latent %(rank)s + %(rope)s",
                        heads=mixer.heads,
                        rank=mixer.kv_lora_rank,
                        rope=mixer.rope_head_dim,
                    )
                )
            case RecurrentMixer():
                parts.append(page.gettext("%(kind)s, a fixed state a sequence", kind=mixer.kind))
            case _:
                parts.append(page.gettext("cross-attention"))
    feed = layer.feed_forward
    if isinstance(feed, MixtureFeedForward):
        parts.append(
            page.gettext(
                "%(chosen)s of %(experts)s experts of %(size)s",
                chosen=feed.experts_per_token,
                experts=feed.experts,
                size=page.figures.number(feed.expert_intermediate),
            )
        )
    elif feed is not None:
        parts.append(page.gettext("dense %(size)s", size=page.figures.number(feed.intermediate)))
    return "; ".join(parts)
