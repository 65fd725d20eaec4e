"""Jobs: work of more than a moment, one at a time, with progress that can be watched and stopped.

A job is known by an id that cannot be guessed. Finished ones are kept until newer ones need their
place, so that whoever was away finds the answer.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVarTuple

from caudal.documents.failure import ErrorBody
from caudal.documents.jobs import JobDocument, JobState
from caudal.http.failures import BusyError, ServerFaultError
from caudal.http.settings import API
from caudal.http.work import Rendered
from caudal.vocabulary.errors import CaudalError, UnknownNameError

MOST_UNFINISHED: Final = 16  # chosen: at some seconds each, the last waits a minute
KEPT: Final = 64  # chosen: finished jobs, some 100 kB each
Progress = Callable[[int, int], None]
Work = Callable[[Progress], Rendered]
Values = TypeVarTuple("Values")


class UnknownJobError(UnknownNameError):
    """No job has this id, or it was finished long ago."""

    code, noun = "unknown-job", "job"


class JobStoppedError(Exception):
    """Raised in the thread of a job to end it; nobody is told."""


class Job:
    """One job; its fields are read in the server's loop and written there too."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.id = secrets.token_urlsafe(12)
        self.state = JobState.WAITING
        self.done = 0
        self.total = 0
        self.answer: Rendered | None = None
        self.error: CaudalError | None = None
        self._work = work
        self._loop = loop
        self._stopped = False
        self._changed = asyncio.Event()

    @property
    def document(self) -> JobDocument:
        """Return where it stands."""
        return JobDocument(
            id=self.id,
            state=self.state,
            done=self.done,
            total=self.total,
            answer=f"{API}/jobs/{self.id}/answer" if self.answer is not None else None,
            error=None if self.error is None else ErrorBody.of(self.error),
        )

    def stop(self) -> None:
        """End it at its next sign of progress."""
        self._stopped = True
        if self.state is JobState.WAITING:
            self._tell(JobState.CANCELLED)

    async def changes(self) -> AsyncIterator[JobDocument]:
        """Yield where it stands, now and after each change, until nothing more will happen."""
        while True:
            changed = self._changed
            document = self.document
            yield document
            if document.state.is_final:
                return
            await changed.wait()

    def run(self) -> None:
        """Do the work, in a thread of its own."""
        if self._stopped:
            return
        self._later(self._tell, JobState.RUNNING)
        try:
            answer = self._work(self._progress)
        except JobStoppedError:
            self._later(self._tell, JobState.CANCELLED)
        except CaudalError as error:
            self._later(self._fail, error)
        except Exception:
            self._later(self._fail, ServerFaultError())
            raise
        else:
            self._later(self._finish, answer)

    def _progress(self, done: int, total: int) -> None:
        if self._stopped:
            raise JobStoppedError
        self._later(self._count, done, total)

    def _later(self, told: Callable[[*Values], None], *values: *Values) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(told, *values)

    def _count(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self._wake()

    def _finish(self, answer: Rendered) -> None:
        self.answer = answer
        self._tell(JobState.DONE)

    def _fail(self, error: CaudalError) -> None:
        self.error = error
        self._tell(JobState.FAILED)

    def _tell(self, state: JobState) -> None:
        self.state = state
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Jobs:
    """The jobs of one server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None

    def start(self, work: Work) -> Job:
        """Return a new job that will do `work`.

        Raises:
            BusyError: too many are unfinished.
        """
        if sum(not job.state.is_final for job in self._jobs.values()) >= MOST_UNFINISHED:
            raise BusyError(
                f"{MOST_UNFINISHED} jobs run or wait.",
                remedy="Try again in a minute, or stop one of yours.",
            )
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="caudal-job")
        job = Job(work, asyncio.get_running_loop())
        self._jobs[job.id] = job
        self._forget()
        self._thread.submit(job.run)
        return job

    def get(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            UnknownJobError: there is none of this id.
        """
        found = self._jobs.get(job_id)
        if found is None:
            raise UnknownJobError(
                job_id, known=(), hint="Finished jobs are kept for a while only: start it again."
            )
        return found

    def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs.values():
            job.stop()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)

    def _forget(self) -> None:
        finished = [job.id for job in self._jobs.values() if job.state.is_final]
        for job_id in finished[: max(0, len(finished) - KEPT)]:
            del self._jobs[job_id]
