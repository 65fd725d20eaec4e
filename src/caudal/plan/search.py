"""The search: every shape on every GPU, through the gates up to the SLO."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.precision import SupportAnswer
from caudal.facts.support import kv_support, weight_support
from caudal.fit.budget import CardMemory, card_memory
from caudal.fit.needs import memory_needs
from caudal.fit.serving import GRAPHS_FROM, Serving
from caudal.plan.candidate import Candidate, allowed_total
from caudal.plan.gates import Gates
from caudal.plan.misses import illegal_miss, latency_miss, memory_miss, offer_miss, unsupported_miss
from caudal.plan.question import Question
from caudal.plan.report import Gate
from caudal.plan.screen import Floats, Reach, curves_of, reach_on, room_of
from caudal.plan.shapes import (
    MOST_GPUS_IN_A_REPLICA,
    IllegalShape,
    Shape,
    is_usual_on,
    servings_of,
    usual_kv_formats,
    usual_weight_formats,
)
from caudal.speed.gpus import GpuColumns
from caudal.speed.work import step_work
from caudal.traffic.workload import Workload

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU under consideration; `totals` are the GPU counts allowed, None for any."""

    spec: GpuSpec
    totals: tuple[int, ...] | None
    usd_per_hour: float  # its lowest price, to rank misses; infinite where it has none


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A shape whose memory suffices on some GPUs that are rented out."""

    shape: Shape
    indices: list[int]  # of those GPUs
    concurrency: Floats  # [indices] sequences of the mean length that memory holds


@dataclass(slots=True)
class Search:
    """One pass over all shapes: what they share, and what was found."""

    question: Question
    gates: Gates
    rows: tuple[GpuRow, ...]
    found: list[Candidate] = field(default_factory=list)
    shapes: int = 0
    pairs: int = 0
    _cards: list[CardMemory] = field(init=False)
    _answers: dict[tuple[str, str, str], list[SupportAnswer]] = field(default_factory=dict)
    _classes: dict[tuple[str, Layout | bool], list[int]] = field(default_factory=dict)
    _waiting: "list[_Waiting]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cards = [card_memory(row.spec) for row in self.rows]

    def run(self) -> None:
        """Fill `found`, `shapes`, `pairs` and the gates."""
        question = self.question
        for engine in question.engines:
            for serving in servings_of(
                question.model,
                engine,
                weight_formats=question.weight_formats
                or usual_weight_formats(question.model, engine),
                kv_formats=question.kv_formats or usual_kv_formats(engine),
                counts=replica_sizes(self.rows),
                longest_tokens=question.workload.longest_tokens,
                speculation=question.speculation,
            ):
                self._consider(serving)
            self._reach_all()

    def _consider(self, serving: Serving | IllegalShape) -> None:
        gpus, stored = serving.layout.gpus, serving.weight_format.name
        native = stored == self.question.model.checkpoint.weight_format
        asked = native or bool(self.question.weight_formats)
        indices = [
            index
            for index, row in enumerate(self.rows)
            if (row.totals is None or max(row.totals) >= gpus)
            and (asked or is_usual_on(stored, row.spec))
        ]
        self.shapes += 1
        self.pairs += len(indices)
        gate = self.gates[Gate.LAYOUT]
        gate.reached += len(indices)
        if isinstance(serving, IllegalShape):
            gate.reject(len(indices), score=gpus, describe=lambda: illegal_miss(serving))
            return
        model, classes = self.question.model, self._size_classes(serving)
        members: dict[int, list[int]] = {}
        for index in self._supported(serving, indices):
            members.setdefault(classes[index], []).append(index)
        for group in members.values():
            chosen = serving.on(self.rows[group[0]].spec)
            shape = Shape(
                serving=chosen, needs=memory_needs(model, chosen), work=step_work(model, chosen)
            )
            self._screen(shape, group)

    def _size_classes(self, serving: Serving) -> list[int]:
        """Return a number for every GPU, equal for those on which the engine's limits are equal.

        Engines choose some limits by the size of the card and the layout, not by the formats, so
        GPUs of one class make one shape.
        """
        engine = serving.engine
        # A static reserve looks at the whole layout; else a tier of cards and its graphs decide.
        by_layout = engine.reserve is not None
        key = (engine.name, serving.layout if by_layout else serving.layout.tensor >= GRAPHS_FROM)
        if key not in self._classes:
            numbers: dict[Serving, int] = {}
            self._classes[key] = [
                numbers.setdefault(serving.on(row.spec), len(numbers)) for row in self.rows
            ]
        return self._classes[key]

    def _supported(self, serving: Serving, indices: Sequence[int]) -> list[int]:
        """Return the indices of the GPUs that run the formats; reject the others."""
        answers = self._support(serving)
        gate = self.gates[Gate.PRECISION]
        gate.reached += len(indices)
        fallen = [index for index in indices if not answers[index].runs]
        if fallen:
            nearest = min(fallen, key=lambda index: self.rows[index].usd_per_hour)
            gate.reject(
                len(fallen),
                score=self.rows[nearest].usd_per_hour,
                describe=lambda: unsupported_miss(
                    serving, self.rows[nearest].spec, answers[nearest]
                ),
            )
        return [index for index in indices if answers[index].runs]

    def _support(self, serving: Serving) -> list[SupportAnswer]:
        """Return, for every GPU, the answer for the weights or, where it is worse, for the KV."""
        key = (serving.engine.name, serving.weight_format.name, serving.kv_format.name)
        if key not in self._answers:
            answers = []
            for row in self.rows:
                weights = weight_support(row.spec, serving.weight_format, serving.engine)
                kept = kv_support(row.spec, serving.kv_format, serving.engine)
                answers.append(weights if kept.runs or not weights.runs else kept)
            self._answers[key] = answers
        return self._answers[key]

    def _screen(self, shape: Shape, indices: list[int]) -> None:
        """Pass the GPUs through memory, then those that are left through the SLO."""
        cards = [self._cards[index] for index in indices]
        room = room_of(shape, cards, self.question.workload)
        fits = room.short_bytes <= 0
        usable = np.array([card.visible_bytes for card in cards])
        self._reject_short(shape, indices, room.short_bytes, usable)
        offered = np.array([isfinite(self.rows[index].usd_per_hour) for index in indices])
        self._reject_unoffered(shape, indices, np.flatnonzero(fits & ~offered), int(fits.sum()))
        left = fits & offered
        kept = [index for index, keep in zip(indices, left.tolist(), strict=True) if keep]
        if kept:
            self._waiting.append(_Waiting(shape, kept, room.concurrency[left]))

    def _reach_all(self) -> None:
        """Judge all that wait by their latency, those of one weight format at once."""
        workload, slo = self.question.workload, self.question.slo
        gpus = GpuColumns.of([row.spec for row in self.rows])
        formats: dict[str, list[_Waiting]] = {}
        for waiting in self._waiting:
            formats.setdefault(waiting.shape.serving.weight_format.name, []).append(waiting)
        self._waiting.clear()
        for group in formats.values():
            sizes = [len(waiting.indices) for waiting in group]
            with np.errstate(invalid="ignore", divide="ignore"):  # NaN: no rate is published
                curve = curves_of(
                    [waiting.shape for waiting in group],
                    gpus,
                    workload,
                    shape_index=np.repeat(np.arange(len(group)), sizes),
                    gpu_index=np.concatenate([waiting.indices for waiting in group]),
                )
            concurrency = np.concatenate([waiting.concurrency for waiting in group])
            reach = reach_on(curve, concurrency, workload, slo)
            start = 0
            for waiting, size in zip(group, sizes, strict=True):
                self._judge(waiting, reach.where(slice(start, start + size)))
                start += size

    def _judge(self, waiting: "_Waiting", reach: Reach) -> None:
        """Keep the GPUs on which the SLO leaves a load to carry, and as many as may be rented."""
        shape, indices, concurrency = waiting.shape, waiting.indices, waiting.concurrency
        replicas = replicas_needed(self.question.workload, reach)
        size = shape.serving.layout.gpus
        totals = [
            allowed_total(size, count, self.rows[index].totals)
            for count, index in zip(replicas.tolist(), indices, strict=True)
        ]
        serves = np.array(totals) > 0
        self.gates[Gate.SLO].reached += len(indices)
        self._reject_slow(
            shape,
            indices,
            reach,
            concurrency=concurrency,
            fallen=np.flatnonzero(~serves),
            replicas=replicas,
        )
        answers = self._support(shape.serving)
        for position in np.flatnonzero(serves).tolist():
            self.found.append(
                Candidate(
                    shape=shape,
                    gpu=self.rows[indices[position]].spec,
                    support=answers[indices[position]],
                    replicas=totals[position] // size,
                    batch=float(reach.batch[position]),
                    largest_rate=float(reach.largest_rate[position]),
                    concurrency=float(concurrency[position]),
                    curve=reach.curve.on(position),
                    totals=self.rows[indices[position]].totals,
                )
            )

    def _reject_unoffered(
        self, shape: Shape, indices: Sequence[int], fallen: Indices, reached: int
    ) -> None:
        """Reject GPUs that nobody rents out as asked: how fast they are need not be known."""
        gate = self.gates[Gate.OFFER]
        gate.reached += reached
        if not fallen.size:
            return
        specs = [self.rows[indices[position]].spec for position in fallen.tolist()]
        fastest = max(specs, key=lambda spec: spec.memory_bytes_per_s)
        size = shape.serving.layout.gpus
        gate.reject(
            int(fallen.size),
            score=size - fastest.memory_bytes_per_s / 1e15,
            describe=lambda: offer_miss(shape, fastest),
        )

    def _reject_short(
        self, shape: Shape, indices: Sequence[int], short_bytes: Floats, usable: Floats
    ) -> None:
        gate = self.gates[Gate.FIT]
        gate.reached += len(indices)
        share = np.where(short_bytes > 0, short_bytes / usable, np.inf)
        nearest = int(share.argmin())
        short = float(short_bytes[nearest])
        gate.reject(
            int((short_bytes > 0).sum()),
            score=float(share[nearest]),
            describe=lambda: memory_miss(
                self.question, shape, self.rows[indices[nearest]].spec, short_bytes=short
            ),
        )

    def _reject_slow(
        self,
        shape: Shape,
        indices: Sequence[int],
        reach: Reach,
        *,
        concurrency: Floats,
        fallen: Indices,
        replicas: Floats,
    ) -> None:
        if not fallen.size:
            return
        # Those that meet the SLO but need more GPUs than allowed are nearer than all others.
        score = np.where(np.isfinite(replicas), replicas / 1e6, reach.slo_ratio)
        nearest = int(fallen[score[fallen].argmin()])
        needed = replicas[nearest]
        self.gates[Gate.SLO].reject(
            int(fallen.size),
            score=float(score[nearest]),
            describe=lambda: latency_miss(
                self.question,
                shape,
                self.rows[indices[nearest]].spec,
                curve=reach.curve.on(nearest),
                concurrency=float(concurrency[nearest]),
                replicas=int(needed) if np.isfinite(needed) else None,
            ),
        )


def replica_sizes(rows: Sequence[GpuRow]) -> frozenset[int]:
    """Return the GPU counts that one replica may have."""
    most = max(
        (MOST_GPUS_IN_A_REPLICA if row.totals is None else max(row.totals) for row in rows),
        default=0,
    )
    return frozenset(range(1, min(most, MOST_GPUS_IN_A_REPLICA) + 1))


def replicas_needed(workload: Workload, reach: Reach) -> Floats:
    """Return the replicas that carry the load on each GPU, infinite where none can, [gpus]."""
    feasible = reach.batch > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        if workload.users is not None:
            needed = np.ceil(workload.users / np.floor(reach.batch))
        elif workload.rate is not None:
            needed = np.ceil(workload.rate / reach.largest_rate)
        else:
            needed = np.ones_like(reach.batch)
    return np.where(feasible, needed, np.inf)
