"""The traffic that a deployment is to carry, however the user stated it."""

from dataclasses import dataclass
from enum import StrEnum

from caudal.vocabulary.units import RequestsPerSecond, Tokens


class Mode(StrEnum):
    """How requests come."""

    OPEN = "open"  # at a rate, whether or not earlier ones are answered
    CLOSED = "closed"  # a number of users, each waiting for the answer
    BATCH = "batch"  # all queued: throughput is all that counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Mean lengths and load; exactly one of `rate` and `users` is given unless `mode` is BATCH.

    `rate` is what must be carried at the busiest time; `mean_rate`, where it differs, is what
    the day's bill is divided by.
    """

    input_tokens: Tokens
    output_tokens: Tokens
    mode: Mode
    rate: RequestsPerSecond | None = None
    mean_rate: RequestsPerSecond | None = None
    users: int | None = None
    context_tokens: Tokens | None = None  # the longest sequence that must be possible
    assumptions: tuple[str, ...] = ()

    @property
    def sequence_tokens(self) -> Tokens:
        """Return the tokens of a mean request when its last one is produced."""
        return Tokens(self.input_tokens + self.output_tokens)

    @property
    def longest_tokens(self) -> Tokens:
        """Return the context that one sequence must be able to reach."""
        return Tokens(max(self.context_tokens or 0, self.sequence_tokens))
