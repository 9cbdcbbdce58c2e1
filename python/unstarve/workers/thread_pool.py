"""A pool of worker threads: the interface of ProcessPool, without pickling, with one job shared by all threads.

Useful if the interpreter has no global lock, or if making samples releases it. Threads share the global random
generators, which are therefore not seeded: samples that draw from them are not reproducible.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

from unstarve.errors import CancelledError
from unstarve.workers.exceptions import ExceptionWrapper
from unstarve.workers.job import Fetcher, Job, Resume
from unstarve.workers.scheduler import Batch, Outcome, Scheduler, Task, ready_batch

# Their threads must end before the interpreter exits. A thread that requests the lock of an interpreter that has exited
# is terminated inside C++ code, which aborts the process.
_open: weakref.WeakSet[ThreadPool] = weakref.WeakSet()


@atexit.register
def _close_open() -> None:
    for pool in list(_open):
        pool.close()


class ThreadPool:
    """A Pool for map-style datasets; see pool.Pool."""

    pids: Sequence[int] = ()
    renewable = True

    def __init__(self, count: int, name: str = "DataLoader") -> None:
        self._count, self._name = count, name
        self._scheduler = Scheduler(count)
        self._changed = threading.Condition()  # guards all members below
        self._batches: dict[int, Batch] = {}
        self._since = 0  # number of the epoch whose job the threads must have entered
        self._epoch: tuple[int, Job, Fetcher, int, int] | None = None  # (number, job, fetcher, base seed, since)
        self._number = 0
        self._closed = False
        self._threads: list[threading.Thread] = []
        _open.add(self)

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        with self._changed:
            if self._closed:
                return False
            self._forget()
            self._scheduler.begin(job.splits)
            self._number += 1
            if fresh or self._since == 0:
                self._since = self._number
            self._epoch = (self._number, job, job.fetcher(sample_seed, seeded=False), base_seed, self._since)
            while len(self._threads) < self._count:
                worker = len(self._threads)
                self._threads.append(threading.Thread(target=self._work, args=(worker,), daemon=True,
                                                      name=f"unstarve-worker-{worker}"))
                self._threads[-1].start()
        return True

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        with self._changed:
            batch = self._batches[serial] = Batch(serial, index, position, worker)
            self._scheduler.add(batch)
            self._changed.notify_all()

    def take(self, serial: int | None = None, timeout: float | None = None) -> Batch | None:
        with self._changed:
            self._changed.wait_for(
                lambda: ready_batch(self._batches, serial) or self._closed or not self._batches, timeout)
            batch = ready_batch(self._batches, serial)
            if batch is None:
                if self._closed or not self._batches:
                    raise CancelledError(f"{self._name}: the loop was ended while it waited for a batch")
                return None
            return self._batches.pop(batch.serial)

    def value(self, batch: Batch) -> Any:
        if batch.error is not None:
            batch.error.reraise()
        return batch.result

    def forget(self) -> None:
        with self._changed:
            self._forget()
            self._changed.notify_all()

    def _forget(self) -> None:
        self._batches = {}
        self._scheduler.clear()
        self._epoch = None

    def close(self) -> None:
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._forget()
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _work(self, worker: int) -> None:
        entered, failure = 0, None
        while True:
            with self._changed:
                task = None
                while not self._closed and (self._epoch is None or (task := self._scheduler.next()) is None):
                    self._changed.wait()
                if self._closed:
                    return
                epoch = self._epoch
                assert epoch is not None and task is not None
            number, job, fetcher, base_seed, since = epoch
            if entered < since:
                failure = self._initialise(worker, job, base_seed)
            entered = number
            self._do(worker, number, fetcher, task, failure)
            del task, job, fetcher, epoch  # a waiting worker keeps no objects alive

    def _initialise(self, worker: int, job: Job, base_seed: int) -> ExceptionWrapper | None:
        try:
            job.enter(worker, self._count, base_seed, in_thread=True)
        except BaseException:  # also SystemExit: no consumer may wait for a thread that has ended
            return ExceptionWrapper(f"in {self._name} worker thread {worker}")
        return None

    def _do(self, worker: int, number: int, fetcher: Fetcher, task: Task,
            failure: ExceptionWrapper | None) -> None:
        kind, batch, first, given = task
        result, error, samples, seconds = None, failure, 0, 0.0
        begin = time.perf_counter()
        if error is None:
            try:
                if kind == "run":
                    result = fetcher.samples(given, batch.position + first)
                    samples, seconds = len(given), time.perf_counter() - begin
                elif kind == "whole":
                    result = fetcher.whole(batch.index, batch.position)
                    samples = len(batch.index) if isinstance(batch.index, (list, tuple)) else 1
                    seconds = time.perf_counter() - begin
                else:
                    result = fetcher.collate([sample for part in given for sample in part], batch.position)
            except BaseException:
                error = ExceptionWrapper(f"in {self._name} worker thread {worker}")
        with self._changed:
            if self._epoch is not None and self._epoch[0] == number:
                self._scheduler.done(kind, batch, first, Outcome(result, error, samples, seconds))
                self._changed.notify_all()
