"""`caudal models`: the catalogue as a list, or one model in full."""

from collections.abc import Iterator
from typing import Final

import click

from caudal.cli.figures import UNKNOWN
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED
from caudal.cli.output import print_document, print_sections, print_text, terminal_width
from caudal.cli.quantity_types import AMOUNT
from caudal.cli.table import Column, render_pairs, render_table, wrap_text
from caudal.cli.teaching import TaughtCommand, TaughtGroup
from caudal.documents.models import ModelDocument, list_models
from caudal.facts.model import (
    CrossAttention,
    DenseFeedForward,
    FeedForward,
    GroupedQueryAttention,
    LatentAttention,
    Layer,
    Mixer,
    MixtureFeedForward,
    ModelSpec,
    RecurrentMixer,
)
from caudal.facts.models import ModelEntry, model_catalogue, resolve_model
from caudal.vocabulary.formats import format_bytes_gib, format_count

COLUMNS: Final = (
    Column(title="model"),
    Column(title="parameters", numeric=True),
    Column(title="active", numeric=True),
    Column(title="context", unit="tokens", numeric=True),
    Column(title="stored as", priority=70),
    Column(title="hub id", wraps=True, priority=80),
    Column(title="shape from", priority=40),
    Column(title="licence", wraps=True, priority=30),
)


@click.group(
    "models",
    cls=TaughtGroup,
    default="list",
    examples=(
        ("caudal models --family qwen --max-params 40B", "Qwen models up to 40B"),
        ("caudal models show deepseek-v3", "one in full, with the source of its shape"),
    ),
    notes=(HOW_MODELS_ARE_NAMED,),
)
def models_group() -> None:
    """List and show the models whose shape is known."""


@models_group.command(
    "list",
    cls=TaughtCommand,
    examples=(("caudal models list --family llama", "all whose name or family says llama"),),
    notes=(HOW_MODELS_ARE_NAMED,),
)
@click.option("--family", default="", help="Part of a name, alias or family, such as qwen.")
@click.option("--max-params", type=AMOUNT, help="At most this many parameters: 40B.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(*, family: str, max_params: int | None, as_json: bool) -> None:
    """List the models of the catalogue."""
    document = list_models(family=family, most_parameters=max_params)
    if as_json:
        print_document("models list", document)
        return
    found, known = document.models, len(model_catalogue().entries)
    width = terminal_width()
    print_text(render_table(COLUMNS, [_row(entry) for entry in found], width=width))
    print_text("")
    closing = f"{len(found)} of {known} models. {HOW_MODELS_ARE_NAMED}"
    print_text("\n".join(wrap_text(closing, width)))


@models_group.command(
    "show",
    cls=TaughtCommand,
    examples=(
        ("caudal models show deepseek-v3", "from the catalogue"),
        ("caudal models show ./my-model/", "as a config.json of yours is read"),
    ),
    notes=(HOW_MODELS_ARE_NAMED,),
)
@click.argument("model")
@click.option("--offline", is_flag=True, help="Never ask the hub for a model that is not known.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show_command(*, model: str, offline: bool, as_json: bool) -> None:
    """Show the shape of MODEL, and where it was read."""
    spec = resolve_model(model, online=not offline)
    document = ModelDocument.of(spec)
    if as_json:
        print_document("models show", document)
        return
    print_sections(_sections(spec, document, width=terminal_width()))


def _row(entry: ModelEntry) -> list[str]:
    context = entry.max_context_tokens
    return [
        entry.short_name,
        format_count(entry.total_parameters),
        format_count(entry.active_parameters),
        UNKNOWN if context is None else f"{context:,}",
        entry.weight_format or UNKNOWN,
        entry.id,
        entry.confidence.value,
        entry.licence,
    ]


def _sections(
    model: ModelSpec, document: ModelDocument, *, width: int
) -> Iterator[tuple[str, str]]:
    size, kv_bytes = model.checkpoint_bytes, document.kv_bytes_per_token
    pairs = [
        ("family", model.family),
        ("parameters", f"{model.total_parameters:,} ({format_count(model.total_parameters)})"),
        ("active a token", f"{model.active_parameters:,}"),
        ("context", f"{model.max_context_tokens:,} tokens"),
        ("stored as", model.checkpoint.weight_format),
        ("checkpoint", UNKNOWN if size is None else format_bytes_gib(size)),
        ("hidden", f"{model.hidden:,}"),
        ("vocabulary", f"{model.vocabulary:,}" + (", tied" if model.tied_embeddings else "")),
        (
            "KV a token",
            f"{format_bytes_gib(kv_bytes)} in 16 bit on one GPU, in a long context",
        ),
        ("licence", model.licence),
        ("also called", ", ".join(model.aliases) or UNKNOWN),
        ("shape from", f"{model.confidence.value}: {model.source.where} ({model.source.read_on})"),
    ]
    pairs += [("vision", format_count(model.vision_parameters))] * bool(model.vision_parameters)
    pairs += [("MTP", format_count(model.mtp_parameters))] * bool(model.mtp_parameters)
    pairs += [("note", model.note)] * bool(model.note)
    yield model.id, render_pairs(pairs, width=width)
    layers = [(f"{group.count} x", _layer_text(group.layer)) for group in document.layer_groups]
    yield f"{len(model.layers)} layers", render_pairs(layers, width=width)


def _layer_text(layer: Layer) -> str:
    parts = [_mixer_text(mixer) for mixer in layer.mixers]
    parts += [] if layer.feed_forward is None else [_feed_forward_text(layer.feed_forward)]
    return "; ".join(parts) or "norms only"


def _mixer_text(mixer: Mixer) -> str:
    match mixer:
        case GroupedQueryAttention():
            reach = f", window {mixer.window_tokens:,}" if mixer.window_tokens else ""
            reach += f", chunks of {mixer.chunk_tokens:,}" if mixer.chunk_tokens else ""
            reach += "" if mixer.owns_kv else ", reads an earlier layer's KV"
            return (
                f"attention: {mixer.heads} heads, {mixer.kv_heads} KV, dim {mixer.head_dim}{reach}"
            )
        case LatentAttention():
            indexer = f", indexer of top {mixer.indexer.top_tokens:,}" if mixer.indexer else ""
            return (
                f"latent attention: {mixer.heads} heads, latent {mixer.kv_lora_rank} + "
                f"{mixer.rope_head_dim}{indexer}"
            )
        case RecurrentMixer():
            return f"{mixer.kind}: {mixer.heads} heads, state of {mixer.state_elements:,}"
        case CrossAttention():
            return f"cross-attention to {mixer.source_tokens:,} tokens: {mixer.kv_heads} KV heads"


def _feed_forward_text(feed_forward: FeedForward) -> str:
    match feed_forward:
        case DenseFeedForward():
            return f"feed-forward {feed_forward.intermediate:,}"
        case MixtureFeedForward():
            shared = feed_forward.shared_intermediate
            return (
                f"{feed_forward.experts_per_token} of {feed_forward.experts} experts of "
                f"{feed_forward.expert_intermediate:,}"
                + (f" + shared {shared:,}" if shared else "")
            )
