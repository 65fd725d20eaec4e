"""How large a field of a model file may be, and why: beyond these a file is damaged or a joke."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bound:
    """The whole numbers that a field may hold, both ends included."""

    least: int
    most: int

    def __contains__(self, number: int) -> bool:
        return self.least <= number <= self.most

    def __str__(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"


# All chosen: at least eight times the largest published value, which each line names.
LAYERS: Final = Bound(1, 2_048)  # Nemotron Ultra 253B: 162
HIDDEN: Final = Bound(1, 262_144)  # PaLM 540B: 18,432
HEADS: Final = Bound(1, 4_096)  # Falcon 180B: 232; linear attention heads: 256
HEAD_DIM: Final = Bound(1, 8_192)  # DeepSeek V4, Gemma 4 full layers: 512
INTERMEDIATE: Final = Bound(1, 2_097_152)  # Llama 3.1 405B: 53,248; BLOOM 176B: 57,344
RANK: Final = Bound(1, 65_536)  # Kimi K3 routed experts' latent: 3,584
VOCABULARY: Final = Bound(1, 16_777_216)  # Gemma: 262,208
EXPERTS: Final = Bound(0, 16_384)  # Kimi K3: 896; 0 says dense
SHARED: Final = Bound(0, 256)  # shared experts, DeepSeek V2: 2
WIDTH_OR_NONE: Final = Bound(0, INTERMEDIATE.most)  # 0 says that the part is absent
CONTEXT: Final = Bound(1, 1_073_741_824)  # Llama 4 Scout: 10,485,760
CONTEXT_OR_NONE: Final = Bound(0, CONTEXT.most)
STATE: Final = Bound(1, 16_384)  # Falcon-H1: 256
PERIOD: Final = Bound(0, LAYERS.most)  # every how many layers something happens
GROUPS: Final = Bound(1, 4_096)  # Mamba groups, output groups
IMAGE: Final = Bound(1, 65_536)  # pixels, patches, channels of an image encoder
POSITIONS: Final = Bound(0, 16_777_216)  # rows of a position table
LARGE_TABLE: Final = Bound(0, 1_000_000_000)  # n-gram tables, Qwen3.8-Flash-Next: 20,000,000
TOTAL_PARAMETERS: Final = Bound(1, 100_000_000_000_000)  # Kimi K3: 2.8 x 10^12
CATALOGUE_COUNT: Final = Bound(0, 1_000_000_000_000_000)  # bytes or parameters we wrote ourselves
