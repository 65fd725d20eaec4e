"""Which card a log names: as drivers, engines and environment reports print it."""

import re
from collections.abc import Sequence
from typing import Final

_CARD: Final = re.compile(
    r"(?:GPU \d{1,3}: |Device \d{1,3}: |(?:CUDA|ROCm|Vulkan)\d{1,3} \(|device_name=['\"]?"
    r"|using device \w{1,12} \(|\bon \d{0,3} ?x? ?)"
    r"((?:NVIDIA|AMD|Tesla|GeForce|Quadro|Intel|Apple)[ \w./+-]{1,60}?)"
    r"(?=\s*(?:[,()'\"|:]|UUID|$)| - )",
    re.ASCII,
)
_TABLE: Final = re.compile(
    r"\|\s+\d{1,3}\s+((?:NVIDIA|Tesla|GeForce|Quadro)[ \w./+-]{1,40}?)\s{2,}", re.ASCII
)
# A kernel's tuning file carries the card's name: "device_name=NVIDIA_H100_80GB_HBM3,dtype=...".
_TUNING: Final = re.compile(r"device_name=([A-Z][A-Za-z0-9_-]{2,60})", re.ASCII)
_LISTED: Final = re.compile(r"(Device \d{1,3}|GPU \d{1,3}): ((?:NVIDIA|AMD))", re.ASCII)


def card_named(lines: Sequence[str]) -> str:
    """Return the first card that a log names, "" where it names none."""
    for line in lines:
        for pattern in (_TUNING, _CARD, _TABLE):
            found = pattern.search(line)
            if found is not None:
                return found[1].replace("_", " ").strip(" .")
    return ""


def cards_counted(lines: Sequence[str]) -> int | None:
    """Return how many cards a log lists one by one, None where it lists none."""
    seen = {found[0] for line in lines for found in _LISTED.findall(line)}
    return len(seen) or None
