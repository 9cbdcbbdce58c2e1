"""Executes the tasks of a worker process."""

from __future__ import annotations

import pickle
import sys
import time
from typing import Any, TypeAlias

from unstarve.workers import transport
from unstarve.workers.exceptions import ExceptionWrapper
from unstarve.workers.job import Fetcher, Job, Stream


# result of a task: ((worker, message) or (worker, None) at the end of a stream, samples, seconds for the samples)
_Made: TypeAlias = "tuple[tuple[int, bytes | None], int, float]"


class Unpicklable(Exception):
    """Samples cannot be pickled; their batch may be."""


class Worker:
    """The state of a worker process between tasks.

    Args:
        setup: See worker_processes.WorkerProcesses.start.
        inherited: The job of a forked process, which never changes. None: epochs bring the job.
    """

    def __init__(self, setup: dict[str, Any], inherited: Job | None = None) -> None:
        self._name, self._worker, self._workers = setup["name"], setup["worker"], setup["workers"]
        self._arena = transport.Arena(setup["arenas"][self._worker])
        self._views = [transport.View(fd) for fd in setup["arenas"]]
        self._from_parent = transport.View(setup["parent_arena"])
        self._epoch: int | None = None
        self._since: int | None = None
        self._job: Job | None = None
        self._fetcher: Fetcher | None = None
        self._stream: Stream | None = None
        self._failure: ExceptionWrapper | None = None
        self._enter(setup["epoch"], inherited)

    def _enter(self, epoch: tuple[int, int, int, int, bytes, bytes | None], inherited: Job | None = None) -> None:
        """Enters an epoch: (number, base seed, sample seed, since, message of the job, message of the stream states).

        `since` is the epoch in which the job was sent; this worker may have had no task in it.
        """
        number, base_seed, sample_seed, since, job, resume = epoch
        if number == self._epoch:
            return
        self._epoch, self._failure = number, None
        # A new private mapping for every epoch: pages that were written to would show the data of the previous epoch.
        private = transport.View(self._from_parent.fd, private=True)
        try:
            if since != self._since or self._job is None:
                self._since = since
                if self._job is not None:
                    self._job.leave()
                self._stream = self._fetcher = self._job = None
                self._job = private.unpack(job) if inherited is None else inherited
                if "torch" in sys.modules:
                    sys.modules["torch"].set_num_threads(1)
                    from unstarve.workers import batch_memory

                    batch_memory.use(self._arena)
                self._job.enter(self._worker, self._workers, base_seed, in_thread=False)
            if self._job.iterable:
                points = None if resume is None else private.unpack(resume)
                self._stream = self._job.stream(points and points[self._worker])
            else:
                self._fetcher = self._job.fetcher(sample_seed)
        except Exception:
            self._failure = self._caught()

    def run(self, message: bytes) -> bytes:
        """Executes a task. Returns (epoch, serial, kind, first, result, error, rejected, samples, seconds), pickled.

        `error` is a result of ExceptionWrapper.pickled() or None; `rejected` means that the samples cannot be pickled.
        """
        epoch, serial, kind, first, body = pickle.loads(message)
        self._enter(epoch)
        result, error, rejected, samples = None, self._failure, False, 0
        begin = time.perf_counter()
        seconds = 0.0
        if error is None:
            try:
                result, samples, seconds = getattr(self, f"_{kind}")(body, begin)
            except StopIteration if kind == "next" else ():
                result = (self._worker, None)  # end of the stream
            except Unpicklable:
                rejected = True
            except Exception:
                error = self._caught()
        failure = None if error is None else error.pickled()
        return pickle.dumps((epoch[0], serial, kind, first, result, failure, rejected, samples, seconds), 5)

    # Each returns (result, samples, seconds for the samples).

    def _run(self, body: bytes, begin: float) -> _Made:
        assert self._fetcher is not None
        position, indices = self._from_parent.unpack(body)
        samples = self._fetcher.samples(indices, position)
        seconds = time.perf_counter() - begin
        try:
            return (self._worker, transport.pack(samples, self._arena)), len(indices), seconds
        except Exception as error:
            raise Unpicklable(f"{type(error).__name__}: {error}") from None

    def _whole(self, body: bytes, begin: float) -> _Made:
        assert self._fetcher is not None
        position, index = self._from_parent.unpack(body)
        batch = self._fetcher.whole(index, position)
        seconds = time.perf_counter() - begin
        count = len(index) if isinstance(index, (list, tuple)) else 1
        return (self._worker, transport.pack(batch, self._arena)), count, seconds

    def _collate(self, body: bytes, _: object) -> _Made:
        assert self._fetcher is not None
        position, parts = self._from_parent.unpack(body)
        samples = []
        for worker, message in parts:
            samples += self._views[worker].unpack(message)
        batch = self._fetcher.collate(samples, position)
        return (self._worker, transport.pack(batch, self._arena)), 0, 0.0

    def _next(self, size: int | None, _: object) -> _Made:
        assert self._stream is not None
        batch = self._stream.next(size)
        return (self._worker, transport.pack((batch, self._stream.state()), self._arena)), 0, 0.0

    def _caught(self) -> ExceptionWrapper:
        return ExceptionWrapper(f"in {self._name} worker process {self._worker}")
