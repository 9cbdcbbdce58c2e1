"""A pool of worker processes, forked or spawned, connected by sockets.

    consumer ── submit ──▶ Scheduler ── tasks ──▶ one socket from which idle workers receive (streams: one each)
        ▲                      ▲                                    │
        └─ take ── batches ── receiver thread ◀── results, one socket per worker; data in the worker's arena

With map-style datasets a task belongs to no worker until one receives it. The death of a worker closes its socket,
which ends every wait with an error that names the worker. The pool has no names in the file system, and no shared
semaphore that a dying process could hold.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import socket
import subprocess
import threading
import time
import traceback
from collections import deque
from typing import Any

from unstarve.errors import ArgumentError, CancelledError, MissingError
from unstarve.workers import job_pickling, launch, transport
from unstarve.workers.exceptions import reraise_pickled
from unstarve.workers.job import Job, Resume
from unstarve.workers.scheduler import Batch, Outcome, Scheduler, Task, ready_batch

_MESSAGE_BYTES = 96 << 10  # larger than any message: larger data is in an arena
_CLOSE_SECONDS = 6.0  # longer than process_main._GRACE_SECONDS, after which workers end


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
        self._count, self._streams, self._name, self._forks = count, streams, name, forks
        self._since = 0  # number of the epoch whose job the workers must have entered
        self._scheduler = Scheduler(count)
        self._arena = transport.Arena()
        self._arenas = [transport.Arena() for _ in range(count)]
        self._views = [transport.View(arena.fd) for arena in self._arenas]
        self._parent = transport.View(self._arena.fd)
        self._changed = threading.Condition()  # guards all members below
        self._batches: dict[int, Batch] = {}  # of this epoch, by serial number, until taken
        self._requests: deque[Batch] = deque()  # for streams
        self._outstanding = 0  # tasks sent without a result
        self._epoch: tuple[int, int, int, int, bytes, bytes | None] | None = None  # see worker.Worker._enter
        self._number = 0
        self._jobs: deque[tuple[int, bytes]] = deque()  # (epoch number, message in the arena)
        self._entered = [0] * count  # newest epoch that each worker is known to have entered
        self._dead: str | None = None  # reason why no more results will arrive
        self._closed = False
        self._single_use = False  # the job has descriptors that only new processes can inherit
        self._needs_main = False
        self._pid = os.getpid()
        self._tasks: list[socket.socket] = []
        self._results: list[socket.socket] = []
        self._processes: list[launch.Process] = []
        self._wake: socket.socket | None = None
        self._woken: socket.socket | None = None
        self._receiver: threading.Thread | None = None

    # --- an epoch ---------------------------------------------------------------------------------------------------

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        """See Pool.begin()."""
        with self._changed:
            if self._dead or self._closed or os.getpid() != self._pid:
                return False
            started = bool(self._processes)
            inherited: list[int] = []
            if started and not fresh:
                message = self._jobs[-1][1]
            elif self._forks:
                if started:
                    return False
                message = b""  # the workers inherit the job
            else:
                if started and self._single_use:
                    return False
                message, inherited = self._packed(job)
                if started and inherited:
                    return False
            self._forget()
            self._scheduler.begin(job.splits)
            self._number += 1
            if fresh or not started:
                self._since = self._number
            if not self._jobs or message is not self._jobs[-1][1]:
                self._jobs.append((self._number, message))
            points = None if resume is None else transport.pack(resume, self._arena)
            self._epoch = (self._number, base_seed, sample_seed, self._since, message, points)
            if not started:
                self._single_use = bool(inherited)
                self._launch(job, inherited)
        return True

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        """See Pool.submit()."""
        with self._changed:
            batch = self._batches[serial] = Batch(serial, index, position, worker)
            if self._streams:
                self._requests.append(batch)
            else:
                self._scheduler.add(batch)
            self._send()

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
        worker, message = batch.result
        if message is None:
            return None
        return self._views[worker].unpack(message)

    def forget(self) -> None:
        """See Pool.forget()."""
        if os.getpid() != self._pid:
            return  # a fork may have copied the lock while it was held
        with self._changed:
            self._forget()
            self._changed.notify_all()

    def _forget(self) -> None:
        for batch in self._batches.values():
            for worker, message in [*batch.parts.values(), *([batch.result] if batch.result else [])]:
                if message is not None:
                    self._views[worker].release(message)
        self._batches = {}
        self._requests.clear()
        self._scheduler.clear()
        self._epoch = None

    def _packed(self, job: Job) -> tuple[bytes, list[int]]:
        """Returns (message of the job in the arena, descriptors that workers must inherit).

        An unchanged job has the same message as before.
        """
        head, buffers, inherited = job_pickling.dump_job(job)
        self._needs_main = b"__main__" in head
        if self._needs_main and not job_pickling.main_can_be_imported():
            raise ArgumentError("DataLoader: the dataset, or a function of it, is defined in a notebook, at a prompt "
                                "or by `python -c`; expected a module that spawned worker processes can import. "
                                "Move it to a module, or use multiprocessing_context='fork' or workers='threads'.")
        if self._jobs and self._parent.holds(self._jobs[-1][1], head, buffers):
            return self._jobs[-1][1], inherited
        return transport.store(head, buffers, self._arena), inherited

    # --- tasks and results --------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """Sends up to two tasks per worker, so that no worker is idle while this process is busy."""
        if self._dead or self._epoch is None:
            return
        while self._streams and self._requests:
            batch = self._requests[0]
            assert batch.worker is not None
            if not self._put(self._tasks[batch.worker], ("next", batch, 0, None), batch.index):
                return
            self._requests.popleft()
        while not self._streams and self._outstanding < 2 * self._count and (task := self._scheduler.next()):
            kind, batch, first, given = task
            if kind == "run":
                body = (batch.position + first, given)
            else:
                body = (batch.position, batch.index if kind == "whole" else given)
            # The sockets buffer far more than two small tasks per worker, so a blocking send does not wait.
            self._put(self._tasks[0], task, transport.pack(body, self._arena))

    def _put(self, tasks: socket.socket, task: Task, body: Any) -> bool:
        kind, batch, first, _ = task
        try:
            tasks.sendall(pickle.dumps((self._epoch, batch.serial, kind, first, body), 5))
        except (BrokenPipeError, ConnectionResetError):
            return False  # all workers have died; the receiver thread handles it
        self._outstanding += 1
        return True

    def _receive(self) -> None:
        """The receiver thread: processes results until the pool is closed or a worker dies."""
        try:
            self._receive_results()
        except BaseException:  # no consumer may wait for a thread that has ended
            with self._changed:
                self._dead = f"{self._name}: receiving results failed.\nOriginal {traceback.format_exc()}"
                self._changed.notify_all()

    def _receive_results(self) -> None:
        with selectors.DefaultSelector() as selector:
            assert self._woken is not None
            selector.register(self._woken, selectors.EVENT_READ, None)
            for worker, results in enumerate(self._results):
                selector.register(results, selectors.EVENT_READ, (worker, results))
            while True:
                ready = selector.select()
                messages = []
                for key, _ in ready:
                    if key.data is None:
                        return
                    worker, results = key.data
                    try:
                        messages.append((worker, results.recv(_MESSAGE_BYTES)))
                    except ConnectionResetError:
                        messages.append((worker, b""))
                dead = [worker for worker, message in messages if not message]
                death = self._death(dead) if dead else None
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
        self._entered[worker] = max(self._entered[worker], number)
        while len(self._jobs) > 1 and min(self._entered) >= self._jobs[1][0]:
            self._parent.release(self._jobs.popleft()[1])
        batch = self._batches.get(serial) if self._epoch and number == self._epoch[0] else None
        if batch is None:
            spent = [result] if result else []
        elif rejected:
            spent = self._scheduler.again(batch)
        else:
            spent = self._scheduler.done(kind, batch, first, Outcome(result, error, samples, seconds))
        for owner, message in spent:
            if message is not None:
                self._views[owner].release(message)

    def _death(self, dead: list[int]) -> str:
        descriptions = []
        for worker in dead:
            process = self._processes[worker]
            try:
                code = process.wait(5)
            except subprocess.TimeoutExpired:
                code = None
            if code is not None and code < 0:
                how = f"killed by {signal.Signals(-code).name}"
                if code == -signal.SIGKILL:
                    how += ", possibly because the machine ran out of memory"
            else:
                how = f"exit code {code}"
            # "pid(s)" as in torch's message.
            descriptions.append(f"(pid(s) {process.pid}) exited unexpectedly: {how}")
        return f"{self._name} worker {', worker '.join(descriptions)}"

    # --- processes ----------------------------------------------------------------------------------------------------

    def _launch(self, job: Job, inherited: list[int]) -> None:
        prepare = {} if self._forks else launch.preparation(self._needs_main)
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                 for _ in range(self._count if self._streams else 1)]
        self._tasks = [ours for ours, _ in pairs]
        self._wake, self._woken = socket.socketpair()
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for worker in range(self._count):
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._results.append(ours)
                tasks = pairs[worker if self._streams else 0][1]
                arenas = [arena.fd for arena in self._arenas]
                setup = {"path": prepare.get("sys_path"), "prepare": prepare, "name": self._name, "worker": worker,
                         "workers": self._count, "tasks": tasks.fileno(), "results": theirs.fileno(), "arenas": arenas,
                         "parent_arena": self._arena.fd, "parent": os.getpid(), "epoch": self._epoch,
                         "message_bytes": _MESSAGE_BYTES}
                if self._forks:
                    process = launch.fork(setup, job, [*self._tasks, *self._results, self._wake, self._woken])
                else:
                    process = launch.spawn(setup, [*arenas, self._arena.fd, tasks.fileno(), theirs.fileno(),
                                                   *inherited])
                self._processes.append(process)
                theirs.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            for _, theirs in pairs:
                theirs.close()
        self._receiver = threading.Thread(target=self._receive, name="unstarve-workers", daemon=True)
        self._receiver.start()

    @property
    def renewable(self) -> bool:
        return not self._forks

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

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
        if self._receiver is not None and self._wake is not None:
            self._wake.send(b"x")
            if self._receiver is not threading.current_thread():
                self._receiver.join()
        for end in (*self._tasks, *self._results, *filter(None, (self._wake, self._woken))):
            with contextlib.suppress(OSError):  # the worker has ended
                end.shutdown(socket.SHUT_RDWR)  # effective even if a forked process holds a copy of the socket
            end.close()
        until = time.monotonic() + _CLOSE_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for arena in (self._arena, *self._arenas):
            arena.close()

