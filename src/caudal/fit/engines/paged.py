"""Caches without shared pages: every layer has a pool of its own, a token is a token everywhere.

SGLang and TensorRT-LLM allocate one pool per kind of layer and size them together.
"""

from dataclasses import dataclass

from caudal.facts.model import (
    CrossAttention,
    GroupedQueryAttention,
    LatentAttention,
    Mixer,
    ModelSpec,
    RecurrentMixer,
)
from caudal.fit.kv_cache import (
    KvGroup,
    KvNeeds,
    cross_bytes,
    distinct_mixers,
    grouped_query_bytes,
    indexer_bytes,
    latent_bytes,
    recurrent_bytes,
)
from caudal.fit.serving import Serving
from caudal.fit.weights import SameModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedRule:
    """How an engine without shared pages keeps what differs from plain attention."""

    windowed: bool  # whether sliding layers drop what lies outside the window
    window_share: float = 1.0  # slots of a sliding layer for each of a full one, if not windowed
    state_bytes: int  # of a recurrent state's element where the model's file asks for none
    cross_counts_as_full: bool  # cross-attention layers get a slot for every token


def paged_kv_needs(model: ModelSpec, serving: Serving, rule: PagedRule) -> KvNeeds:
    """Return one group for each kind of layer, the stage with the largest request deciding."""
    longest = serving.longest(model)
    stages = distinct_mixers(SameModel(model), serving.layout.pipeline)
    candidates = [
        KvNeeds(groups=_groups(model, serving, mixers, rule), longest_tokens=longest)
        for mixers in stages
    ]
    return max(candidates, key=lambda needs: needs.request_bytes(longest))


def _groups(
    model: ModelSpec, serving: Serving, mixers: tuple[tuple[Mixer, int], ...], rule: PagedRule
) -> tuple[KvGroup, ...]:
    sizes: dict[tuple[str, int | None], list[float]] = {}
    for mixer, count in mixers:
        kind, cap, size = _layer(model, serving, mixer, rule)
        if size:
            tally = sizes.setdefault((kind, cap), [0.0, 0])
            tally[0] += count * size
            tally[1] += count
    return tuple(
        KvGroup(
            kind=kind,
            layers=int(layers),
            block_bytes=size if kind == "state" else size * serving.block,
            block_tokens=serving.block,
            cap_tokens=cap,
            extra_blocks=1 if kind == "state" else 0,
        )
        for (kind, cap), (size, layers) in sizes.items()
    )


def _layer(
    model: ModelSpec, serving: Serving, mixer: Mixer, rule: PagedRule
) -> tuple[str, int | None, float]:
    """Return (kind, tokens kept at most, bytes a token or a sequence) of one layer."""
    match mixer:
        case GroupedQueryAttention():
            size = grouped_query_bytes(mixer, serving) + indexer_bytes(mixer)
            window = mixer.window_tokens or mixer.chunk_tokens
            if window is None:
                return "full", None, size
            if not rule.windowed:
                return "full", None, size * rule.window_share
            return "sliding", window + serving.step_tokens(model), size
        case LatentAttention():
            return "latent", None, latent_bytes(mixer, serving)
        case RecurrentMixer():
            return "state", 0, recurrent_bytes(mixer, serving, unstated=rule.state_bytes)
        case CrossAttention():
            full = rule.cross_counts_as_full
            cap = None if full else mixer.source_tokens
            return "full" if full else "cross", cap, cross_bytes(mixer, serving)
