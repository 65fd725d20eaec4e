"""vLLM's cache of DeepSeek V4: latents folded 4 and 128 to one, beside a window of each layer.

Every block has room for one layer of each kind in each of 21 places, so that all groups can draw
from one pool: 21 · (37,440 + 8,448 + 1,168) bytes. A request takes blocks from both folded groups
and from the groups of windows.

Sources: vllm/v1/core/kv_cache_utils.py (_get_kv_cache_config_deepseek_v4,
_get_kv_cache_groups_uniform_groups) and vllm/v1/kv_cache_interface.py (_init_mla_cache_fields),
2026; start-up logs of 15.8, 16.3 and 16.6 kB a token at 256k to 500k.
"""

from typing import Final

from caudal.facts.model import LatentAttention, Mixer
from caudal.fit.kv_cache import KvGroup, KvNeeds

_PAGE_TOKENS: Final = 256  # tokens of a page before folding
_LATENT_BYTES: Final = 584  # 448 in FP8, 64 rotary elements in 16 bit, 8 bytes of scales
_ALIGNMENT: Final = 576  # pages of the less folded layers are a multiple of this
# What a folded group's block covers. 256 in the source read; 128 is what the logs show.
_BLOCK_TOKENS: Final = 128
_WINDOW_TOKENS: Final = 64  # tokens of a window's block
# Early versions kept the compressors' partial sums in blocks of 4 and 8 tokens, each as large as
# any: 6.66 GiB for one request of 30,000 tokens (vllm-project/vllm issue 44376).
_STATE_TOKENS: Final = (4, 8)


def compressed_needs(mixers: tuple[tuple[Mixer, int], ...], *, step: int, longest: int) -> KvNeeds:
    """Return the block groups of a model with folded latents."""
    latents = [(mixer, count) for mixer, count in mixers if isinstance(mixer, LatentAttention)]
    folded: dict[int, int] = {}
    page = 0
    windows = 0
    window = 0
    for mixer, count in latents:
        if mixer.window_tokens is not None:
            windows += count
            window = max(window, mixer.window_tokens)
        if mixer.compression > 1:
            if mixer.compression not in folded:
                page += _page_bytes(mixer)
            folded[mixer.compression] = folded.get(mixer.compression, 0) + count
    places = max(folded.values())
    block = float(places * page)
    groups = [
        KvGroup(kind="latent", layers=layers, block_bytes=block, block_tokens=_BLOCK_TOKENS)
        for layers in folded.values()
    ]
    if windows:
        groups.append(
            KvGroup(
                kind="sliding",
                layers=min(places, windows),
                block_bytes=block,
                block_tokens=_WINDOW_TOKENS,
                count=-(-windows // places),
                cap_tokens=window - 1 + step,
                extra_blocks=1,
            )
        )
    states = sum(-(-step // tokens) for tokens in _STATE_TOKENS)
    return KvNeeds(groups=tuple(groups), longest_tokens=longest, doubt_bytes=states * block)


def _page_bytes(mixer: LatentAttention) -> int:
    entries = _PAGE_TOKENS // mixer.compression
    latent = entries * _LATENT_BYTES
    if mixer.indexer is not None and mixer.indexer.owns_cache:
        aligned = -(-latent // _ALIGNMENT) * _ALIGNMENT
        return aligned + entries * mixer.indexer.cache_bytes_per_token
    return latent
