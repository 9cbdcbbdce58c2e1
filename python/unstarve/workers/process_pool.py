"""A pool of worker processes, forked or spawned, connected by sockets.

    consumer ── submit ──▶ Scheduler ── tasks ──▶ one socket from which idle workers receive (streams: one each)
        ▲                      ▲                                    │
        └─ take ── batches ── receiver thread ◀── results, one socket per worker; data in the worker's arena

With map-style datasets a task belongs to no worker until one receives it. The death of a worker closes its socket,
which ends every wait with an error that names the worker. The pool has no names in the file system, and no shared
semaphore that a dying process could hold.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from typing import Any

from unstarve.errors import CancelledError, MissingError
from unstarve.workers import transport
from unstarve.workers.exceptions import reraise_pickled
from unstarve.workers.job import Job, Resume
from unstarve.workers.pool_memory import PoolMemory
from unstarve.workers.scheduler import Batch, Outcome, Scheduler, Task, ready_batch
from unstarve.workers.sent_jobs import INHERITED_JOB, SentJobs
from unstarve.workers.worker_processes import WorkerProcesses


class ProcessPool:
    """A Pool of worker processes; see pool.Pool.

    Args:
        count: Number of processes.
        streams: Each batch is made by the worker for which it was submitted.
        name: Name of the user of the pool in messages.
        forks: The processes are forked: they begin immediately, with the job in their memory, which is not pickled. A
            new job requires a new pool. Otherwise they are spawned.
    """

    def __init__(self, count: int, streams: bool, name: str = "DataLoader", forks: bool = False) -> None:
        if not hasattr(os, "memfd_create"):
            raise MissingError(f"{name}: memfd_create not found; worker processes require Linux. Use threads.")
        self._name = name
        self._pid = os.getpid()
        self._memory = PoolMemory(count)
        self._workers = WorkerProcesses(count, streams, name, forks)
        self._changed = threading.Condition()  # guards all members below
        self._scheduler = Scheduler(count)
        self._jobs = SentJobs(self._memory.arena, count)
        self._batches: dict[int, Batch] = {}  # of this epoch, by serial number, until taken
        self._outstanding = 0  # tasks sent without a result
        self._epoch: tuple[int, int, int, int, bytes, bytes | None] | None = None  # see worker.Worker._enter
        self._dead: str | None = None  # reason why no more results will arrive
        self._closed = False
        self._receiver: threading.Thread | None = None

    @property
    def renewable(self) -> bool:
        return not self._workers.forks

    @property
    def pids(self) -> list[int]:
        return self._workers.pids

    # --- an epoch ---------------------------------------------------------------------------------------------------

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        """See Pool.begin()."""
        with self._changed:
            if self._dead or self._closed or os.getpid() != self._pid:
                return False
            started = bool(self._workers.pids)
            if started and not fresh:
                sent = self._jobs.newest
            elif started and (self._workers.forks or self._jobs.newest.inherited):
                return False
            else:
                sent = INHERITED_JOB if self._workers.forks else self._jobs.pack(job)
                if started and sent.inherited:
                    return False
            self._forget()
            self._scheduler.begin(job.splits)
            number, since = self._jobs.begin(sent, fresh or not started)
            # In a slot: every request contains this message.
            points = None if resume is None else transport.pack(resume, self._memory.arena, inline=0)
            self._epoch = (number, base_seed, sample_seed, since, sent.message, points)
            if not started:
                self._workers.start(job, sent, self._epoch, self._memory)
                self._receiver = threading.Thread(target=self._receive, name="unstarve-workers", daemon=True)
                self._receiver.start()
        return True

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        """See Pool.submit()."""
        with self._changed:
            batch = self._batches[serial] = Batch(serial, index, position, worker)
            if self._dead or self._epoch is None:
                return
            if worker is None:
                self._scheduler.add(batch)
                self._send()
            else:
                self._put(("next", batch, 0, None), index)

    def take(self, serial: int | None = None, timeout: float | None = None) -> Batch | None:
        """See Pool.take()."""
        with self._changed:
            self._changed.wait_for(
                lambda: ready_batch(self._batches, serial) or self._dead or not self._batches, timeout)
            batch = ready_batch(self._batches, serial)
            if batch is None:
                if self._dead:
                    raise RuntimeError(self._dead)
                if not self._batches:
                    raise CancelledError(f"{self._name}: the loop was ended while it waited for a batch")
                return None
            return self._batches.pop(batch.serial)

    def value(self, batch: Batch) -> Any:
        """See Pool.value(). The data remains in the worker's memory until it is dropped."""
        if batch.error is not None:
            reraise_pickled(*batch.error)
        return self._memory.unpack(*batch.result)

    def forget(self) -> None:
        """See Pool.forget()."""
        if os.getpid() != self._pid:
            return  # a fork may have copied the lock while it was held
        with self._changed:
            self._forget()
            self._changed.notify_all()

    def _forget(self) -> None:
        for batch in self._batches.values():
            for result in [*batch.parts.values(), *([batch.result] if batch.result else [])]:
                self._memory.release(*result)
        self._batches = {}
        self._scheduler.clear()
        self._epoch = None

    # --- tasks and results ------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """Sends up to two tasks per worker, so that no worker is idle while this process is busy."""
        while self._outstanding < 2 * self._workers.count and (task := self._scheduler.next()):
            kind, batch, first, given = task
            if kind == "run":
                body = (batch.position + first, given)
            else:
                body = (batch.position, batch.index if kind == "whole" else given)
            # The sockets buffer far more than two small tasks per worker, so a blocking send does not wait.
            self._put(task, transport.pack(body, self._memory.arena))

    def _put(self, task: Task, body: Any) -> None:
        kind, batch, first, _ = task
        # It is not sent if the workers have died, which the receiver thread handles.
        if self._workers.send(pickle.dumps((self._epoch, batch.serial, kind, first, body), 5), batch.worker):
            self._outstanding += 1

    def _receive(self) -> None:
        """The receiver thread: processes results until the pool is closed or a worker dies."""
        try:
            self._receive_results()
        except BaseException:  # no consumer may wait for a thread that has ended
            with self._changed:
                self._dead = f"{self._name}: receiving results failed.\nOriginal {traceback.format_exc()}"
                self._changed.notify_all()

    def _receive_results(self) -> None:
        for messages in self._workers.results():
            dead = [worker for worker, message in messages if not message]
            death = self._workers.describe_deaths(dead) if dead else None
            with self._changed:
                for worker, message in messages:
                    if message:
                        self._process_result(worker, pickle.loads(message))
                if death:
                    self._dead = death
                else:
                    self._send()
                self._changed.notify_all()
            if death:
                return

    def _process_result(self, worker: int, answer: tuple[Any, ...]) -> None:
        number, serial, kind, first, result, error, rejected, samples, seconds = answer
        self._outstanding -= 1
        self._jobs.entered(worker, number)
        batch = self._batches.get(serial) if self._epoch and number == self._epoch[0] else None
        if batch is None:
            spent = [result] if result else []
        elif rejected:
            spent = self._scheduler.again(batch)
        else:
            spent = self._scheduler.done(kind, batch, first, Outcome(result, error, samples, seconds))
        for one in spent:
            self._memory.release(*one)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """See Pool.close(). Idle workers end immediately, a busy one within a few seconds."""
        if os.getpid() != self._pid:
            return  # in a fork of the owner, which does not own the workers
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._dead = self._dead or f"{self._name}: closed while a consumer waited for a batch"
            self._forget()
            self._changed.notify_all()
        if self._receiver is not None:
            self._workers.wake()
            if self._receiver is not threading.current_thread():
                self._receiver.join()
        self._workers.close()
        self._memory.close()
