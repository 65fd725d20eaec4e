"""Predicted start-up memory against measured: which term of a row is judged, and how far off."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from caudal.calibrate.memory_judge import (
    Judged,
    JudgedVerdict,
    judge_terms,
    judge_verdict,
    memory_case,
)
from caudal.calibrate.memory_rows import MemoryRow
from caudal.facts.model import ModelSpec
from caudal.vocabulary.errors import CaudalError

__all__ = ["FIELDS", "ErrorSummary", "Judged", "JudgedVerdict", "MemoryAccuracy", "memory_accuracy"]

FIELDS: Final = (
    "weights_gib",
    "kv_bytes_per_token",
    "kv_cache_gib",
    "kv_tokens",
    "max_concurrency",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """How far off one field is over its judged rows, as fractions; None where none was judged."""

    n: int
    median_ape: float | None
    p90_ape: float | None

    @classmethod
    def of(cls, errors: Iterable[float]) -> "ErrorSummary":
        """Return the summary; p90 is the nearest rank above 90 %."""
        ranked = sorted(errors)
        if not ranked:
            return cls(n=0, median_ape=None, p90_ape=None)
        return cls(n=len(ranked), median_ape=_quantile(ranked, 0.5), p90_ape=_quantile(ranked, 0.9))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccuracy:
    """How right the predictions are, over all rows and by group."""

    rows: int
    answered: int
    judged: tuple[Judged, ...]
    verdicts: tuple[JudgedVerdict, ...]
    unanswered: tuple[tuple[str, str], ...]  # (row, why)
    by: Literal["engine", "family"] | None = None

    def worst(self, most: int = 10) -> tuple[Judged, ...]:
        """Return the terms that are furthest off, worst first."""
        return tuple(sorted(self.judged, key=lambda each: -each.error)[:most])

    def summary(self, field: str, *, group: str | None = None) -> ErrorSummary:
        """Return one field's errors, over all rows or over those of one group."""
        return ErrorSummary.of(
            each.error
            for each in self.judged
            if each.field == field and (group is None or self._group(each) == group)
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the engines or families that rows were judged in, in order."""
        judged: Sequence[Judged | JudgedVerdict] = (*self.judged, *self.verdicts)
        return tuple(sorted({self._group(each) for each in judged})) if self.by else ()

    def as_json(self) -> dict[str, object]:
        """Return the document that `caudal accuracy memory --json` prints."""
        document: dict[str, object] = {
            "rows": self.rows,
            "answered": self.answered,
            **self._part(None),
        }
        if self.by is not None:
            document["by"] = self.by
            document["groups"] = {group: self._part(group) for group in self.groups}
        return document

    def _part(self, group: str | None) -> dict[str, object]:
        verdicts = [each for each in self.verdicts if group is None or self._group(each) == group]
        fields = {}
        for field in FIELDS:
            summary = self.summary(field, group=group)
            fields[field] = {
                "n": summary.n,
                "median_ape": summary.median_ape,
                "p90_ape": summary.p90_ape,
            }
        return {
            "fields": fields,
            "verdicts": {
                "n": len(verdicts),
                "false_fit": sum(each.false_fit for each in verdicts),
                "false_refusal": sum(each.false_refusal for each in verdicts),
            },
        }

    def _group(self, each: Judged | JudgedVerdict) -> str:
        return each.family if self.by == "family" else each.engine


def memory_accuracy(
    rows: Sequence[MemoryRow],
    model_of: Callable[[str], ModelSpec],
    *,
    by: Literal["engine", "family"] | None = None,
) -> MemoryAccuracy:
    """Return predicted against measured memory over `rows`.

    `model_of` gives the model of a row's name; a `CaudalError` of it, or of the prediction, makes
    the row unanswered. Limits that a row doesn't print are the engine's defaults on its card.
    Which terms of a row are judged is written down in `caudal.calibrate.memory_judge`.
    """
    judged: list[Judged] = []
    verdicts: list[JudgedVerdict] = []
    unanswered: list[tuple[str, str]] = []
    for row in rows:
        try:
            case = memory_case(row, model_of)
        except CaudalError as error:
            unanswered.append((row.id, error.problem))
            continue
        judged.extend(judge_terms(case))
        verdict = judge_verdict(case)
        if verdict is not None:
            verdicts.append(verdict)
    return MemoryAccuracy(
        rows=len(rows),
        answered=len(rows) - len(unanswered),
        judged=tuple(judged),
        verdicts=tuple(verdicts),
        unanswered=tuple(unanswered),
        by=by,
    )


def _quantile(ranked: Sequence[float], share: float) -> float:
    """Return the quantile of sorted values, between two by linear interpolation."""
    place = share * (len(ranked) - 1)
    low = int(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])
