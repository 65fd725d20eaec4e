"""Everything that can go wrong for a caller, as one tree.

    CaudalError
    ├── InvalidInputError        invalid      what was given cannot be meant
    │   ├── InvalidQuantityError     a quantity that does not parse, or has the wrong unit
    │   ├── InvalidModelFileError    a model file that is damaged, absurd or contradictory
    │   ├── InvalidLogError          a start-up log that states nothing, or is no engine's
    │   ├── InvalidFactError         a row of our own or imported data that is out of range
    │   ├── InvalidLayoutError       a parallel layout that the model does not allow
    │   └── ContradictoryOptionsError
    ├── UnknownNameError         unknown      a name that is not in the catalogue
    │   ├── UnknownModelError
    │   ├── UnknownGpuError
    │   ├── UnknownPrecisionError
    │   └── UnknownEngineError
    ├── UnsupportedModelError    unknown      an architecture Caudal has no rule for
    ├── InfeasibleError          infeasible   nothing meets what was asked
    │   └── DoesNotFitError
    └── UnavailableError         unavailable  a source or file that cannot be reached now
        ├── ModelNotDownloadedError
        └── MissingExtraError        a package that a plain installation leaves out

A door maps `kind` to an exit code or an HTTP status; `code` is stable and meant for machines.
Each code is explained in docs/errors.md.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import ClassVar


class Kind(StrEnum):
    """What a caller can do about an error: mend the input, the name, the wish, or wait."""

    INVALID = "invalid"
    UNKNOWN = "unknown"
    INFEASIBLE = "infeasible"
    UNAVAILABLE = "unavailable"


class CaudalError(Exception):
    """A problem that Caudal can explain: what is wrong, and what to do about it."""

    code: ClassVar[str] = "error"
    kind: ClassVar[Kind] = Kind.INVALID

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


class InvalidInputError(CaudalError):
    """What was given cannot be meant."""

    code = "invalid-input"


class InvalidQuantityError(InvalidInputError):
    """A quantity does not parse, has the wrong unit, or is out of range."""

    code = "invalid-quantity"


class InvalidModelFileError(InvalidInputError):
    """A model file is damaged, absurd or contradicts itself; the message names file and field."""

    code = "invalid-model-file"


class InvalidLogError(InvalidInputError):
    """A start-up log is no known engine's, or states no term of memory."""

    code = "invalid-log"


class InvalidFactError(InvalidInputError):
    """A row of the catalogue or of an import is out of range; the message says where."""

    code = "invalid-fact"


class InvalidLayoutError(InvalidInputError):
    """The model cannot be split as asked; the message names the rule and legal sizes."""

    code = "invalid-layout"


class ContradictoryOptionsError(InvalidInputError):
    """Two options exclude each other, or one needs another that is missing."""

    code = "contradictory-options"


class UnknownNameError(CaudalError):
    """A name is not in the catalogue; the remedy lists the nearest ones that are."""

    code = "unknown-name"
    kind = Kind.UNKNOWN
    noun: ClassVar[str] = "name"

    def __init__(self, name: str, *, known: Iterable[str], hint: str = "") -> None:
        nearest = nearest_names(name, known)
        meant = f"Did you mean {', '.join(nearest)}?" if nearest else ""
        super().__init__(
            f"Unknown {self.noun} {name!r}.",
            remedy=" ".join(part for part in (meant, hint) if part) or "Check the spelling.",
        )
        self.name = name
        self.nearest = nearest


class UnknownModelError(UnknownNameError):
    """No facts are known about a model of this name."""

    code, noun = "unknown-model", "model"


class UnknownGpuError(UnknownNameError):
    """No facts are known about a GPU of this name."""

    code, noun = "unknown-gpu", "GPU"


class UnknownPrecisionError(UnknownNameError):
    """No weight format of this name is known."""

    code, noun = "unknown-precision", "precision"


class UnknownEngineError(UnknownNameError):
    """No serving engine of this name is known."""

    code, noun = "unknown-engine", "engine"


class UnsupportedModelError(CaudalError):
    """The file is sound, but Caudal has no rule for this architecture: no number is better."""

    code = "unsupported-model"
    kind = Kind.UNKNOWN


class InfeasibleError(CaudalError):
    """Nothing meets what was asked."""

    code = "infeasible"
    kind = Kind.INFEASIBLE


class DoesNotFitError(InfeasibleError):
    """Weights, KV cache and overhead exceed the memory offered."""

    code = "does-not-fit"


class UnavailableError(CaudalError):
    """A source, file or service cannot be reached now."""

    code = "unavailable"
    kind = Kind.UNAVAILABLE


class ModelNotDownloadedError(UnavailableError):
    """A hub id names a model that is neither in the catalogue nor on this machine."""

    code = "model-not-downloaded"


class MissingExtraError(UnavailableError):
    """A package is needed that a plain installation leaves out; the remedy names the extra."""

    code = "missing-extra"


def nearest_names(name: str, known: Iterable[str], *, most: int = 5) -> tuple[str, ...]:
    """Return the known names that look most like `name`, best first, without regard to case."""
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    wanted = name.casefold()
    inside = [folded for folded in by_folded if len(wanted) > 2 and wanted in folded]
    alike = get_close_matches(wanted, list(by_folded), n=most, cutoff=0.6)
    ranked = dict.fromkeys([*alike, *sorted(inside, key=len)])
    return tuple(by_folded[folded] for folded in list(ranked)[:most])
