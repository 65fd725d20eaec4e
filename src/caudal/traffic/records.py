"""What became of each request: one record type for simulated and measured requests."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caudal.vocabulary.units import Seconds, Tokens

Floats = NDArray[np.float64]

RECORD: Final = np.dtype(
    [
        ("id", "<i8"),
        ("arrival", "<i8"),  # picoseconds, as all times here; -1: never
        ("started", "<i8"),
        ("first", "<i8"),
        ("finish", "<i8"),
        ("prompt", "<i4"),
        ("output", "<i4"),
        ("cached", "<i4"),
        ("preempted", "<i4"),
        ("replica", "<i4"),
        ("restarts", "<i4"),
    ]
)
_SECONDS: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One answered request."""

    id: int
    arrival_s: Seconds
    started_s: Seconds  # when the engine first computed something for it
    first_token_s: Seconds
    finish_s: Seconds
    input_tokens: Tokens
    output_tokens: Tokens
    cached_tokens: Tokens  # of the prompt, found in the prefix cache
    preemptions: int
    replica: int
    restarts: int  # how often it was lost with its replica

    @property
    def ttft_s(self) -> Seconds:
        """Return the time to the first token, waiting included."""
        return Seconds(self.first_token_s - self.arrival_s)

    @property
    def e2e_s(self) -> Seconds:
        """Return the time to the last token."""
        return Seconds(self.finish_s - self.arrival_s)

    @property
    def tpot_s(self) -> Seconds | None:
        """Return the mean time per output token after the first; None for a single token."""
        if self.output_tokens < 2:
            return None
        return Seconds((self.e2e_s - self.ttft_s) / (self.output_tokens - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Many records as columns, in the order of arrival unless said otherwise."""

    rows: NDArray[np.void]  # of type RECORD

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def answered(self) -> "Records":
        """Return those that were answered; the others were too long for the deployment."""
        return Records(self.rows[self.rows["finish"] >= 0])

    @property
    def arrival_s(self) -> Floats:
        """Return the arrivals, [requests]."""
        return np.asarray(self.rows["arrival"] * _SECONDS)

    @property
    def finish_s(self) -> Floats:
        """Return the ends, [requests]."""
        return np.asarray(self.rows["finish"] * _SECONDS)

    @property
    def queue_s(self) -> Floats:
        """Return the times until the engine first computed something, [requests]."""
        return np.asarray((self.rows["started"] - self.rows["arrival"]) * _SECONDS)

    @property
    def ttft_s(self) -> Floats:
        """Return the times to the first token, [requests]."""
        return np.asarray((self.rows["first"] - self.rows["arrival"]) * _SECONDS)

    @property
    def e2e_s(self) -> Floats:
        """Return the times to the last token, [requests]."""
        return np.asarray((self.rows["finish"] - self.rows["arrival"]) * _SECONDS)

    @property
    def tpot_s(self) -> Floats:
        """Return the mean times per token after the first, NaN for one token, [requests]."""
        gaps = (self.rows["output"] - 1).astype(np.float64)
        gaps[gaps == 0] = np.nan
        return np.asarray((self.rows["finish"] - self.rows["first"]) * _SECONDS / gaps)

    def record(self, at: int) -> RequestRecord:
        """Return one record."""
        row = self.rows[at]
        return RequestRecord(
            id=int(row["id"]),
            arrival_s=Seconds(float(row["arrival"]) * _SECONDS),
            started_s=Seconds(float(row["started"]) * _SECONDS),
            first_token_s=Seconds(float(row["first"]) * _SECONDS),
            finish_s=Seconds(float(row["finish"]) * _SECONDS),
            input_tokens=Tokens(int(row["prompt"])),
            output_tokens=Tokens(int(row["output"])),
            cached_tokens=Tokens(int(row["cached"])),
            preemptions=int(row["preempted"]),
            replica=int(row["replica"]),
            restarts=int(row["restarts"]),
        )
