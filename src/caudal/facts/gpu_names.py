"""GPU names as people, drivers and price lists write them → rows of the catalogue.

Each GPU has patterns in data/gpus.csv: `RTX 6000 Ada [Generation]|6000 Ada` are two ways to
write it, with the words in brackets optional. Case, spaces, hyphens and underscores do not
count. The maker's name, the generation and the memory type may stand anywhere; every other word
must belong to the pattern, so that `RTX 4080 Laptop` is not taken for an RTX 4080. A size
(`80GB`, `79 GiB`, `80g`) must agree with the nominal GB or the usable GiB to within one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.vocabulary.units import GB, GIB

_WORD: Final = re.compile(r"[a-z0-9.]+")
# A bare g counts only after a non-letter: T4G and A10G are names, A100-80g is a size.
_SIZE: Final = re.compile(
    r"(?<![\d.])(\d{1,4}(?:\.\d+)?)\s*gi?b(?![a-z0-9])|"
    r"(?<![a-z\d.])(\d{1,4})g(?![a-z0-9])"
)
_ANYWHERE: Final = frozenset({"gpu", "graphics", "card", "accelerator"})
_MAKERS: Final = {
    "NVIDIA": frozenset({"nvidia", "geforce", "tesla", "lovelace"}),
    "AMD": frozenset({"amd", "instinct", "radeon", "ryzen"}),
    "Intel": frozenset({"intel"}),
    "Apple": frozenset({"apple"}),
    "Google": frozenset({"google", "cloud"}),
    "AWS": frozenset({"aws", "amazon"}),
}


@dataclass(frozen=True, slots=True)
class NamePattern:
    """One way to write a name: letters and digits that must stand together, and free words."""

    core: str  # without separators, in lower case
    optional: frozenset[str]

    def matches(self, words: Sequence[str], anywhere: frozenset[str]) -> bool:
        """Return whether `words` hold the core once and nothing that is foreign to it."""
        free = self.optional | anywhere
        return any(
            free.issuperset(rest)
            for start in range(len(words))
            for rest in self._rests(words, start)
        )

    def _rests(self, words: Sequence[str], start: int) -> Iterable[list[str]]:
        """Yield what is left of `words` where the core begins at the word `start`."""
        joined = ""
        for end in range(start, len(words)):
            joined += words[end]
            if joined.startswith(self.core):
                tail = joined[len(self.core) :]
                yield [*words[:start], *([tail] if tail else []), *words[end + 1 :]]
                return
            if not self.core.startswith(joined):
                return


def parse_pattern(text: str) -> NamePattern:
    """Return the pattern of one alternative, such as `H100 [SXM SXM5]`."""
    core, _, optional = text.partition("[")
    return NamePattern(
        core="".join(_words(core)), optional=frozenset(_words(optional.replace("]", " ")))
    )


@dataclass(frozen=True)
class GpuNames:
    """All names of a catalogue, made once: which GPUs a text may mean."""

    specs: tuple[GpuSpec, ...]

    @cached_property
    def _patterns(self) -> tuple[tuple[GpuSpec, frozenset[str], tuple[NamePattern, ...]], ...]:
        return tuple(
            (spec, _anywhere(spec), tuple(parse_pattern(name) for name in spec.names))
            for spec in self.specs
        )

    def meant(self, text: str) -> tuple[GpuSpec, ...]:
        """Return the GPUs that `text` may mean, in the catalogue's order; none if unknown."""
        folded = text.casefold()
        # An id in its own spelling is that row alone: `h20` is the 96 GB card, `H20` is both.
        exact = [spec for spec in self.specs if text.strip() in {spec.id, spec.name}]
        if exact:
            return tuple(exact)
        whole = self._of_words(_words(folded))
        return whole or tuple(
            spec for spec in self.of_any_size(folded) if _sizes_agree(sizes_in(folded), spec)
        )

    def of_any_size(self, text: str) -> tuple[GpuSpec, ...]:
        """Return the GPUs that `text` may mean if the sizes in it are left out."""
        return self._of_words(_words(_SIZE.sub(" ", text.casefold())))

    def _of_words(self, words: Sequence[str]) -> tuple[GpuSpec, ...]:
        return tuple(
            spec
            for spec, anywhere, patterns in self._patterns
            if any(pattern.matches(words, anywhere) for pattern in patterns)
        )


def sizes_in(text: str) -> tuple[float, ...]:
    """Return the memory sizes that stand in a name, GB and GiB alike."""
    return tuple(float(match[1] or match[2]) for match in _SIZE.finditer(text.casefold()))


def split_count(text: str) -> tuple[str, str]:
    """Return a name and the number of GPUs beside it, "" where there is none.

    `H100:1..8`, `8x H100`, `8xH100`, `2 RTX 3090`, `3090x2` and `A100-80GBx8` are understood; a
    number of three digits or more before a space belongs to the name, as in `7900 XT`.
    """
    name, colon, counts = text.partition(":")
    if colon:
        return name.strip(), counts.strip()
    if before := re.match(
        r"\s*(?:(\d{1,3})\s*[x×*]\s*(?=[A-Za-z0-9])|(\d{1,2})\s+(?=[A-Za-z]))", text
    ):
        return text[before.end() :].strip(), before[1] or before[2]
    if after := re.search(r"(?:\s+|(?<=gb)|(?<=\d{4}))[x×*]\s*(\d{1,4})\s*$", text, re.IGNORECASE):
        return text[: after.start()].strip(), after[1]
    return text.strip(), ""


def short_name(spec: GpuSpec) -> str:
    """Return the shortest whole name of a GPU, such as "H100", to suggest or to group by."""
    return spec.names[0].partition("[")[0].strip()


def _anywhere(spec: GpuSpec) -> frozenset[str]:
    free = _words(f"{spec.architecture} {spec.memory_type}")
    return _ANYWHERE | _MAKERS.get(spec.vendor, frozenset({spec.vendor.casefold()})) | set(free)


def _sizes_agree(sizes: Sequence[float], spec: GpuSpec) -> bool:
    """Return whether every size is the nominal GB or the usable GiB, to within one."""
    known = (spec.memory_bytes / GB, spec.usable_bytes / GIB)
    return all(any(abs(size - figure) < 1 for figure in known) for size in sizes)


def _words(text: str) -> list[str]:
    return [word.strip(".") for word in _WORD.findall(text.casefold()) if word.strip(".")]
