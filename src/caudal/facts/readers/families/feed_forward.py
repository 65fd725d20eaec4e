"""Dense and mixture feed-forwards as files describe them, and which layers have which."""

from dataclasses import dataclass
from typing import Final

from caudal.facts.model import DenseFeedForward, FeedForward, MixtureFeedForward
from caudal.facts.readers import bounds
from caudal.facts.readers.families.attention import present
from caudal.facts.readers.fields import ConfigFields

EXPERT_NAMES: Final = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
CHOSEN_NAMES: Final = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_top_k",
    "moe_topk",
)
EXPERT_WIDTH_NAMES: Final = ("moe_intermediate_size", "intermediate_size", "ffn_hidden_size")
SHARED_WIDTH_NAMES: Final = (
    "moe_shared_expert_intermediate_size",
    "shared_expert_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
)
SHARED_COUNT_NAMES: Final = ("n_shared_experts", "num_shared_experts")
DENSE_WIDTH_NAMES: Final = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner")
BESIDE_EXPERTS_NAMES: Final = ("dense_intermediate_size", "intermediate_size_mlp")


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureConventions:
    """What a family's code fixes about its experts and its file does not say."""

    gated: bool = True
    bias: bool = False
    router_bias: bool = False  # a score correction for each expert
    shared_gate: bool = False
    one_shared: bool = False  # a shared expert of the routed width, unsaid (Llama 4)


def expert_count(fields: ConfigFields) -> int:
    """Return how many routed experts a sparse layer has; 0 says that the model is dense."""
    return fields.integer(*EXPERT_NAMES, within=bounds.EXPERTS, default=0)


def read_mixture(fields: ConfigFields, conventions: MixtureConventions) -> MixtureFeedForward:
    """Return the experts of a sparse layer.

    Raises:
        InvalidModelFileError: a token would choose more experts than there are.
    """
    experts = expert_count(fields)
    chosen = fields.integer(*CHOSEN_NAMES, within=bounds.EXPERTS)
    if not 1 <= chosen <= experts:
        raise fields.wrong(
            present(fields, CHOSEN_NAMES), chosen, allowed=f"from 1 to the {experts} experts"
        )
    width = fields.integer(*EXPERT_WIDTH_NAMES, within=bounds.INTERMEDIATE)
    shared = fields.optional_integer(*SHARED_WIDTH_NAMES, within=bounds.WIDTH_OR_NONE)
    count = fields.integer(*SHARED_COUNT_NAMES, within=bounds.SHARED, default=0)
    if shared is None:
        shared = width if conventions.one_shared else count * width
    return MixtureFeedForward(
        experts=experts,
        experts_per_token=chosen,
        expert_intermediate=width,
        shared_intermediate=shared,
        shared_gate=conventions.shared_gate and shared > 0,
        gated=conventions.gated,
        bias=conventions.bias,
        router_bias=conventions.router_bias,
        latent_size=fields.optional_integer(
            "moe_latent_size", "routed_expert_hidden_size", within=bounds.RANK
        ),
        latent_norm=fields.flag("latent_moe_use_norm", default=False),
    )


def read_dense(
    fields: ConfigFields, *, gated: bool, bias: bool = False, default: int | None = None
) -> DenseFeedForward:
    """Return the feed-forward of a dense layer."""
    width = fields.optional_integer(*BESIDE_EXPERTS_NAMES, within=bounds.INTERMEDIATE)
    if width is None:
        width = fields.integer(*DENSE_WIDTH_NAMES, within=bounds.INTERMEDIATE, default=default)
    return DenseFeedForward(intermediate=width, gated=gated, bias=bias)


def read_feed_forwards(
    fields: ConfigFields,
    layers: int,
    *,
    gated: bool = True,
    bias: bool = False,
    dense_default: int | None = None,
    mixture: MixtureConventions | None = None,
) -> tuple[FeedForward, ...]:
    """Return the feed-forward of each layer."""
    sparse = sparse_layers(fields, layers) if expert_count(fields) else (False,) * layers
    experts = None
    if any(sparse):
        experts = read_mixture(fields, mixture or MixtureConventions(gated=gated, bias=bias))
    dense = None
    if not all(sparse):
        dense = read_dense(fields, gated=gated, bias=bias, default=dense_default)
    chosen = (experts if is_sparse else dense for is_sparse in sparse)
    return tuple(feed_forward for feed_forward in chosen if feed_forward is not None)


def sparse_layers(fields: ConfigFields, layers: int) -> tuple[bool, ...]:
    """Return which layers hold experts, by whichever of the seven ways the file uses."""
    types = fields.texts("mlp_layer_types", length=layers)
    if types is not None:
        for kind in types:
            if kind not in {"dense", "sparse"}:
                raise fields.wrong("mlp_layer_types", kind, allowed="dense or sparse")
        return tuple(kind == "sparse" for kind in types)
    if fields.is_list("moe_layer_freq"):  # MiMo-V2, MiniMax-M3
        marks = fields.integers("moe_layer_freq", within=bounds.PERIOD, length=layers) or ()
        return tuple(mark != 0 for mark in marks)
    if fields.has("first_k_dense_replace"):  # DeepSeek
        first = fields.integer("first_k_dense_replace", within=bounds.PERIOD)
        every = fields.integer("moe_layer_freq", within=bounds.LAYERS, default=1)
        return tuple(index >= first and index % every == 0 for index in range(layers))
    if fields.has("expert_layer_period"):  # Jamba
        period = fields.integer("expert_layer_period", within=bounds.LAYERS)
        offset = fields.integer("expert_layer_offset", within=bounds.PERIOD, default=0)
        return tuple(index % period == offset for index in range(layers))
    return _stepped_sparse_layers(fields, layers)


def _stepped_sparse_layers(fields: ConfigFields, layers: int) -> tuple[bool, ...]:
    if fields.is_list("moe_layers"):  # Llama 4, where it is written out
        chosen = fields.layer_indices("moe_layers", layers)
        return tuple(index in chosen for index in range(layers))
    step = fields.integer(  # Llama 4, Qwen2-MoE
        "interleave_moe_layer_step", "decoder_sparse_step", within=bounds.LAYERS, default=1
    )
    dense = fields.layer_indices("mlp_only_layers", layers)
    return tuple((index + 1) % step == 0 and index not in dense for index in range(layers))
