"""The interface of all pools of workers, the pool without workers, and the idle pool of a loader."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from unstarve.workers.job import Job, Resume
from unstarve.workers.scheduler import Batch
from unstarve.workers.seeding import preserved_generators


class Pool(Protocol):
    """Workers that make batches: ProcessPool, ThreadPool, InlinePool.

    Threads: one at a time; take() and value() may be called from another thread than the rest.
    """

    @property
    def renewable(self) -> bool:
        """Whether begin() accepts a new job; otherwise only the next epoch of the same job."""

    @property
    def pids(self) -> Sequence[int]:
        """Process ids of the worker processes."""

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        """Begins an epoch. Returns False if this pool cannot accept the job; a new pool can.

        Args:
            job: What the workers execute.
            base_seed: Seed of the epoch, given to Job.enter().
            sample_seed: Seed of the samples, given to Job.fetcher().
            fresh: Send the dataset again, seed the workers and initialise them.
            resume: The states of the streams to continue.

        Raises:
            ArgumentError: The job cannot be pickled.
        """

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        """Requests batch `serial`. `index`: see scheduler.Batch; for streams the number of samples, or None."""

    def take(self, serial: int | None = None, timeout: float | None = None) -> Batch | None:
        """Waits for batch `serial`, or for any batch if it is None. Returns None after `timeout` seconds.

        Raises RuntimeError if a worker process died, CancelledError if the epoch was ended.
        """

    def value(self, batch: Batch) -> Any:
        """Returns the data of a taken batch, or raises its error. Streams: (data, state), or None at the end."""

    def forget(self) -> None:
        """Ends the epoch and drops all batches that were not taken."""

    def close(self) -> None:
        """Stops the workers. Batches that were taken remain valid."""


class InlinePool:
    """The Pool of num_workers=0: value() makes the batch in the calling thread."""

    pids: Sequence[int] = ()
    renewable = True

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}

    def begin(self, job: Job, _base_seed: int, sample_seed: int, _fresh: bool,
              resume: Resume | None = None) -> bool:
        self._job, self._batches = job, {}
        if job.iterable:
            self._stream = job.stream(resume[0] if resume else None)
        else:
            # torch does not seed the caller's generators; a loader that seeds by index restores them.
            self._fetcher = job.fetcher(sample_seed, seeded=job.by_index)
        return True

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        self._batches[serial] = Batch(serial, index, position, worker)

    def take(self, serial: int | None = None, _timeout: float | None = None) -> Batch:
        return self._batches.pop(next(iter(self._batches)) if serial is None else serial)

    def value(self, batch: Batch) -> Any:
        if self._job.iterable:
            try:
                return self._stream.next(batch.index), copy.deepcopy(self._stream.state())
            except StopIteration:
                return None
        if not self._job.by_index:
            return self._fetcher.whole(batch.index, batch.position)
        with preserved_generators():
            return self._fetcher.whole(batch.index, batch.position)

    def forget(self) -> None:
        self._batches = {}

    def close(self) -> None:
        pass


class IdlePool:
    """Holds the workers of a loader between loops: at most one idle pool. It is closed when the loader is deleted."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pools: list[Pool | None] = [None]
        self._finalizer = weakref.finalize(self, _close_pool, self._pools)

    def take(self) -> Pool | None:
        with self._lock:
            pool, self._pools[0] = self._pools[0], None
            return pool

    def give(self, pool: Pool) -> None:
        """Keeps the pool, or closes it if there is one already or this object is closed."""
        with self._lock:
            # If an exception refers to the loop, the garbage collector runs the finalizer before the deletion of the
            # loop, which gives its workers.
            if self._finalizer.alive and self._pools[0] is None:
                self._pools[0] = pool
                return
        pool.close()

    def close(self) -> None:
        with self._lock:
            self._finalizer()


def _close_pool(pools: list[Pool | None]) -> None:
    if pools[0] is not None:
        pools[0].close()
