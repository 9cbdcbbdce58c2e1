"""What all pools of workers can do, the pool that has none, and where pools stay between the epochs."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from unstarve.workers.job import Job, Resume
from unstarve.workers.schedule import Batch
from unstarve.workers.seeding import kept_generators


class Pool(Protocol):
    """Workers that make batches: processes.HelperPool, threads.ThreadPool, Inline. Used by one thread at a time, but
    take() and value() may be called by another one than the rest."""

    @property
    def pids(self) -> Sequence[int]:
        """Of the helper processes."""

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        """The submitted batches are of a new epoch. False: this pool cannot take the job, a new one can.

        fresh: workers get the dataset as it is now, and are seeded and initialised anew. resume: for streams, the state
            and the number of batches given of every worker. Raises ArgumentError when the job cannot be sent.
        """

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        """Asks for batch `serial`; index: see schedule.Batch, for streams the number of samples or None."""

    def take(self, serial: int | None = None, timeout: float | None = None) -> Batch | None:
        """Waits for batch `serial`, or for any; it is the caller's then. None after `timeout` seconds.

        RuntimeError when a helper died, CancelledError when the epoch was ended meanwhile.
        """

    def value(self, batch: Batch) -> Any:
        """The data of a batch that was taken. Raises its error. Of a stream: (data, state), or None at its end."""

    def forget(self) -> None:
        """The epoch is over: what is not taken will not be."""

    def close(self) -> None:
        """Ends the workers; batches that were given stay."""


class Inline:
    """The Pool of num_workers=0: batches are made where they are taken."""

    pids: Sequence[int] = ()

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}

    def begin(self, job: Job, _base_seed: int, sample_seed: int, _fresh: bool,
              resume: Resume | None = None) -> bool:
        self._job, self._batches = job, {}
        if job.iterable:
            self._stream = job.stream(resume[0] if resume else None)
        else:
            # torch leaves the caller's generators alone here; a loader that seeds by index puts them back.
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
        with kept_generators():
            return self._fetcher.whole(batch.index, batch.position)

    def forget(self) -> None:
        self._batches = {}

    def close(self) -> None:
        pass


class Home:
    """Where a loader's workers stay between loops: at most one idle pool. The loader's end ends it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: list[Pool | None] = [None]
        self._closed = False
        self._finalizer = weakref.finalize(self, _close_idle, self._idle)

    def take(self) -> Pool | None:
        with self._lock:
            pool, self._idle[0] = self._idle[0], None
            return pool

    def give(self, pool: Pool) -> None:
        with self._lock:
            if not self._closed and self._idle[0] is None:
                self._idle[0] = pool
                return
        pool.close()

    def close(self) -> None:
        self._closed = True
        self._finalizer()


def _close_idle(idle: list[Pool | None]) -> None:
    if idle[0] is not None:
        idle[0].close()
