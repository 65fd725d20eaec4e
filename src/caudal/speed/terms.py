"""Step work as columns: one configuration against many GPUs, or many measured rows at once.

The formulas of `operators` are written once, over anything that NumPy can broadcast: for a plan
every field is a single number and the GPUs are the array; for a fit each field is an array with
one entry a measured row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.speed.shape import MatrixKind
from caudal.speed.work import AttentionWork, MatrixWork, StepWork

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTerm:
    """The numbers of `MatrixWork`, each a number or one a row."""

    kind: MatrixKind
    quantised: bool
    weight_bytes: Floats
    flop_per_token: Floats
    experts: Floats
    chosen: Floats
    ranks: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionTerm:
    """The numbers of `AttentionWork`, each a number or one a row."""

    window_tokens: Floats
    kv_bytes_per_token: Floats
    decode_flop_per_token: Floats
    prefill_flop_per_pair: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTerms:
    """The numbers of `StepWork`, each a number or one a row."""

    matrices: tuple[MatrixTerm, ...]
    attention: tuple[AttentionTerm, ...]
    state_bytes: Floats
    layers: Floats
    tensor: Floats
    pipeline: Floats
    data: Floats
    collectives: Floats
    collective_bytes_per_token: Floats
    chunk_tokens: Floats
    microbatches: Floats  # into which a pipeline cuts the batch
    flush_chunks: Floats

    def at(self, index: NDArray[np.intp]) -> "WorkTerms":
        """Return the terms of the works at `index`, every field [index, 1]."""
        return WorkTerms(
            matrices=tuple(
                MatrixTerm(
                    kind=term.kind,
                    quantised=term.quantised,
                    weight_bytes=_taken(term.weight_bytes, index),
                    flop_per_token=_taken(term.flop_per_token, index),
                    experts=_taken(term.experts, index),
                    chosen=_taken(term.chosen, index),
                    ranks=_taken(term.ranks, index),
                )
                for term in self.matrices
            ),
            attention=tuple(
                AttentionTerm(
                    window_tokens=_taken(term.window_tokens, index),
                    kv_bytes_per_token=_taken(term.kv_bytes_per_token, index),
                    decode_flop_per_token=_taken(term.decode_flop_per_token, index),
                    prefill_flop_per_pair=_taken(term.prefill_flop_per_pair, index),
                )
                for term in self.attention
            ),
            state_bytes=_taken(self.state_bytes, index),
            layers=_taken(self.layers, index),
            tensor=_taken(self.tensor, index),
            pipeline=_taken(self.pipeline, index),
            data=_taken(self.data, index),
            collectives=_taken(self.collectives, index),
            collective_bytes_per_token=_taken(self.collective_bytes_per_token, index),
            chunk_tokens=_taken(self.chunk_tokens, index),
            microbatches=_taken(self.microbatches, index),
            flush_chunks=_taken(self.flush_chunks, index),
        )


def _taken(column: Floats, index: NDArray[np.intp]) -> Floats:
    return np.asarray(np.atleast_1d(column)[index][:, None])


_NO_ATTENTION: Final = AttentionWork(
    window_tokens=inf,
    kv_bytes_per_token=0.0,
    decode_flop_per_token=0.0,
    prefill_flop_per_pair=0.0,
)


def work_terms(works: Sequence[StepWork]) -> WorkTerms:
    """Return the columns of `works`; one alone gives plain numbers (arrays without axes)."""
    keys = sorted({(m.kind, m.quantised) for work in works for m in work.matrices})
    slots = max(len(work.attention) for work in works)
    return WorkTerms(
        matrices=tuple(
            term
            for kind, quantised in keys
            for term in _matrix_terms(works, kind, quantised=quantised)
        ),
        attention=tuple(_attention_term(works, slot) for slot in range(slots)),
        state_bytes=_column([work.state_bytes for work in works]),
        layers=_column([work.layers for work in works]),
        tensor=_column([work.tensor for work in works]),
        pipeline=_column([work.pipeline for work in works]),
        data=_column([work.data for work in works]),
        collectives=_column([work.collectives for work in works]),
        collective_bytes_per_token=_column([work.collective_bytes_per_token for work in works]),
        chunk_tokens=_column([work.chunk_tokens for work in works]),
        microbatches=_column([work.microbatches for work in works]),
        flush_chunks=_column([work.flush_chunks for work in works]),
    )


def _matrix_terms(
    works: Sequence[StepWork], kind: MatrixKind, *, quantised: bool
) -> tuple[MatrixTerm, ...]:
    """Return the columns of one kind; a model with two sizes of expert fills two."""
    found = [
        [m for m in work.matrices if m.kind is kind and m.quantised == quantised] for work in works
    ]
    return tuple(
        _matrix_term(
            kind, [row[slot] if slot < len(row) else None for row in found], quantised=quantised
        )
        for slot in range(max(len(row) for row in found))
    )


def _matrix_term(
    kind: MatrixKind, rows: Sequence[MatrixWork | None], *, quantised: bool
) -> MatrixTerm:
    return MatrixTerm(
        kind=kind,
        quantised=quantised,
        weight_bytes=_column([0.0 if row is None else row.weight_bytes for row in rows]),
        flop_per_token=_column([0.0 if row is None else row.flop_per_token for row in rows]),
        experts=_column([1.0 if row is None else float(row.experts or 1) for row in rows]),
        chosen=_column([1.0 if row is None else float(row.chosen or 1) for row in rows]),
        ranks=_column([1.0 if row is None else float(row.ranks) for row in rows]),
    )


def _attention_term(works: Sequence[StepWork], slot: int) -> AttentionTerm:
    rows = [work.attention[slot] if slot < len(work.attention) else _NO_ATTENTION for work in works]
    return AttentionTerm(
        window_tokens=_column([row.window_tokens for row in rows]),
        kv_bytes_per_token=_column([row.kv_bytes_per_token for row in rows]),
        decode_flop_per_token=_column([row.decode_flop_per_token for row in rows]),
        prefill_flop_per_pair=_column([row.prefill_flop_per_pair for row in rows]),
    )


def _column(values: Sequence[float]) -> Floats:
    return np.asarray(values[0] if len(values) == 1 else values, dtype=np.float64)
