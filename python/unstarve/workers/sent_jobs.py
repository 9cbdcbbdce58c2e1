"""The jobs that a pool has sent to its worker processes, as messages in the pool's arena."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from unstarve.errors import ArgumentError
from unstarve.workers import job_pickling, transport
from unstarve.workers.job import Job


class JobMessage(NamedTuple):
    """A packed job."""

    message: bytes  # a result of transport.store(); empty if the workers inherit the job
    inherited: Sequence[int]  # descriptors of the job that only new workers can inherit
    needs_main: bool  # the job requires something of the main module


INHERITED_JOB = JobMessage(b"", (), False)  # the job is in the memory of forked workers


class SentJobs:
    """Numbers the epochs of a pool, and keeps the messages of jobs that workers may still enter.

    Threads: one at a time.
    """

    def __init__(self, arena: transport.Arena, workers: int) -> None:
        self._arena, self._view = arena, transport.View(arena.fd)
        self._number = 0  # of the newest epoch
        self._since = 0  # number of the epoch whose job the workers must have entered
        self._sent: deque[tuple[int, JobMessage]] = deque()  # with the number of the first epoch of each
        self._entered = [0] * workers  # newest epoch that each worker is known to have entered

    @property
    def newest(self) -> JobMessage:
        """The job of the newest epoch."""
        return self._sent[-1][1]

    def pack(self, job: Job) -> JobMessage:
        """Returns the job in the arena. An unchanged job has the same message as before.

        Raises ArgumentError if it cannot be pickled, or not be unpickled in a spawned process.
        """
        head, buffers, inherited = job_pickling.dump_job(job)
        needs_main = b"__main__" in head
        if needs_main and not job_pickling.main_can_be_imported():
            raise ArgumentError("DataLoader: the dataset, or a function of it, is defined in a notebook, at a prompt "
                                "or by `python -c`; expected a module that spawned worker processes can import. "
                                "Move it to a module, or use multiprocessing_context='fork' or workers='threads'.")
        unchanged = self._sent and self._view.holds(self.newest.message, head, buffers)
        message = self.newest.message if unchanged else transport.store(head, buffers, self._arena)
        return JobMessage(message, inherited, needs_main)

    def begin(self, job: JobMessage, fresh: bool) -> tuple[int, int]:
        """Begins an epoch. Returns (its number, number of the epoch whose job the workers must have entered).

        `fresh`: The workers must enter the job again, even if it is unchanged.
        """
        self._number += 1
        if fresh:
            self._since = self._number
        if not self._sent or job.message is not self.newest.message:
            self._sent.append((self._number, job))
        return self._number, self._since

    def entered(self, worker: int, number: int) -> None:
        """Records that a worker entered epoch `number`. Releases the jobs before the one that all have entered."""
        self._entered[worker] = max(self._entered[worker], number)
        while len(self._sent) > 1 and min(self._entered) >= self._sent[1][0]:
            self._view.release(self._sent.popleft()[1].message)
