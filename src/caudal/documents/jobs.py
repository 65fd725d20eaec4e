"""Work that outlasts a request: where it stands, and where its answer will be."""

from dataclasses import dataclass
from enum import StrEnum

from caudal.documents.failure import ErrorBody


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Return whether nothing more will happen."""
        return self in {JobState.DONE, JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDocument:
    """One job; `answer` is the path of its document once it is done."""

    id: str
    state: JobState
    done: int  # of `total`, in requests simulated or runs
    total: int
    answer: str | None
    error: ErrorBody | None  # why it failed
