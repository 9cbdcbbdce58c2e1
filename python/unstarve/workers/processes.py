"""Helper processes that make samples: started anew (never forked), fed and heard over sockets.

    consumer ── submit ──▶ Schedule ── tasks ──▶ one socket, from which whoever is free takes (streams: one each)
        ▲                     ▲                                     │
        └─ take ── batches ── pump thread ◀── results, one socket per helper; their data in its arena

Map-style datasets: no task belongs to a helper before the helper takes it. A helper's death ends its socket, which ends
every wait with an error that names it. Nothing has a name in the file system; no semaphore is shared that a dying
process could hold.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.spawn
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

from unstarve.errors import CancelledError, MissingError
from unstarve.workers import jobs, transport
from unstarve.workers.caught import reraise_pickled
from unstarve.workers.job import Job, Resume
from unstarve.workers.schedule import Batch, Schedule, Task, ready_batch

_MESSAGE_BYTES = 96 << 10  # more than any message: what is larger lies in an arena
_CLOSE_SECONDS = 6.0  # a helper ends by itself within process_main._GRACE_SECONDS
_BOOT = ("import pickle, sys; setup = pickle.load(sys.stdin.buffer); sys.path[:] = setup['path']; "
         "from unstarve.workers.process_main import main; main(setup)")


class HelperPool:
    """`count` helper processes. begin() an epoch, submit() its batches, take() them. By one thread at a time.

    streams: every batch is made by the helper that it is submitted for. name: of what they work for, in messages.
    """

    def __init__(self, count: int, streams: bool, name: str = "DataLoader") -> None:
        if not hasattr(os, "memfd_create"):
            raise MissingError(f"{name}: helper processes need Linux (memfd_create); use threads")
        self._count, self._streams, self._name = count, streams, name
        self._since = 0  # the epoch whose job and seeds the helpers are to have
        self._schedule = Schedule(count)
        self._arena = transport.Arena()
        self._arenas = [transport.Arena() for _ in range(count)]
        self._views = [transport.View(arena.fd) for arena in self._arenas]
        self._parent = transport.View(self._arena.fd)
        self._changed = threading.Condition()  # guards all below
        self._batches: dict[int, Batch] = {}  # of this epoch, by serial number, until they are taken
        self._requests: deque[Batch] = deque()  # for streams
        self._outstanding = 0  # tasks sent whose results have not come
        self._epoch: tuple[int, int, int, int, bytes, bytes | None] | None = None  # see helper.Helper._enter
        self._number = 0
        self._jobs: deque[tuple[int, bytes]] = deque()  # (epoch number, message): in the arena
        self._entered = [0] * count  # the newest epoch of which each helper is known to be
        self._dead: str | None = None  # why nothing more will come
        self._closed = False
        self._single_use = False  # the job has descriptors that only new processes can be given
        self._needs_main = False
        self._pid = os.getpid()
        self._tasks: list[socket.socket] = []
        self._results: list[socket.socket] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._wake: socket.socket | None = None
        self._woken: socket.socket | None = None
        self._pump: threading.Thread | None = None

    # --- an epoch ---------------------------------------------------------------------------------------------------

    def begin(self, job: Job, base_seed: int, sample_seed: int, fresh: bool,
              resume: Resume | None = None) -> bool:
        """The submitted batches are of a new epoch. False: this pool cannot take the job, a new one can.

        fresh: helpers get the dataset as it is now, and are seeded and initialised anew. Raises ArgumentError when it
            cannot be pickled.
        """
        with self._changed:
            if self._dead or self._closed or os.getpid() != self._pid:
                return False
            started = bool(self._processes)
            if started and not fresh:
                message = self._jobs[-1][1]
                inherited: list[int] = []
            else:
                if started and self._single_use:
                    return False
                message, inherited = self._packed(job)
                if started and inherited:
                    return False
            self._forget()
            self._schedule.begin(job.splits)
            self._number += 1
            if fresh or not started:
                self._since = self._number
            if not self._jobs or message is not self._jobs[-1][1]:
                self._jobs.append((self._number, message))
            points = None if resume is None else transport.pack(resume, self._arena)
            self._epoch = (self._number, base_seed, sample_seed, self._since, message, points)
            if not started:
                self._single_use = bool(inherited)
                self._launch(inherited)
        return True

    def submit(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        """Asks for batch `serial`; index: see schedule.Batch, for streams the number of samples or None."""
        with self._changed:
            batch = self._batches[serial] = Batch(serial, index, position, worker)
            if self._streams:
                self._requests.append(batch)
            else:
                self._schedule.add(batch)
            self._send()

    def take(self, serial: int | None = None, timeout: float | None = None) -> Batch | None:
        """Waits for batch `serial`, or for any; it is the caller's then. None after `timeout` seconds.

        RuntimeError when a helper died.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: ready_batch(self._batches, serial) or self._dead or not self._batches, timeout)
            batch = ready_batch(self._batches, serial)
            if batch is None:
                if self._dead:
                    raise RuntimeError(self._dead)
                if not self._batches:
                    raise CancelledError(f"{self._name}: the loop was ended while a batch was waited for")
                return None
            return self._batches.pop(batch.serial)

    def value(self, batch: Batch) -> Any:
        """The data of a batch that was taken, in the helper's memory until they are dropped. Raises its error.

        Of a stream: (data, state), or None at its end.
        """
        if batch.error is not None:
            reraise_pickled(*batch.error)
        worker, message = batch.result
        if message is None:
            return None
        return self._views[worker].unpack(message)

    def forget(self) -> None:
        """The epoch is over: what is not taken will not be."""
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
        self._schedule.clear()
        self._epoch = None

    def _packed(self, job: Job) -> tuple[bytes, list[int]]:
        """(message of the job in the arena, descriptors that helpers must inherit); the message that is there already
        where the job is the same."""
        head, buffers, inherited = jobs.dump(job)
        self._needs_main = b"__main__" in head
        if self._jobs and self._parent.holds(self._jobs[-1][1], head, buffers):
            return self._jobs[-1][1], inherited
        return transport.store(head, buffers, self._arena), inherited

    # --- tasks and results --------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """Sends what may be sent: so much that nobody is idle while this process is busy elsewhere."""
        if self._dead or self._epoch is None:
            return
        while self._streams and self._requests:
            batch = self._requests[0]
            assert batch.worker is not None
            if not self._put(self._tasks[batch.worker], ("next", batch, 0, None), batch.index):
                return
            self._requests.popleft()
        while not self._streams and self._outstanding < 2 * self._count and (task := self._schedule.next()):
            kind, batch, first, given = task
            if kind == "run":
                body = (batch.position + first, given)
            else:
                body = (batch.position, batch.index if kind == "whole" else given)
            # The sockets hold far more than two small tasks per helper: a blocking send does not wait.
            self._put(self._tasks[0], task, transport.pack(body, self._arena))

    def _put(self, tasks: socket.socket, task: Task, body: Any) -> bool:
        kind, batch, first, _ = task
        try:
            tasks.sendall(pickle.dumps((self._epoch, batch.serial, kind, first, body), 5))
        except (BrokenPipeError, ConnectionResetError):
            return False  # all of them are gone, which the pump will hear
        self._outstanding += 1
        return True

    def _hear(self) -> None:
        """The pump thread: takes results until the pool is closed or a helper died."""
        try:
            self._pump_results()
        except BaseException:  # nobody may wait for a thread that is gone
            with self._changed:
                self._dead = f"{self._name}: hearing the helpers failed.\nOriginal {traceback.format_exc()}"
                self._changed.notify_all()

    def _pump_results(self) -> None:
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
                fate = self._fate(dead) if dead else None
                with self._changed:
                    for worker, message in messages:
                        if message:
                            self._answer(worker, pickle.loads(message))
                    if fate:
                        self._dead = fate
                    else:
                        self._send()
                    self._changed.notify_all()
                if fate:
                    return

    def _answer(self, worker: int, answer: tuple[Any, ...]) -> None:
        number, serial, kind, first, result, error, refused, samples, seconds = answer
        self._outstanding -= 1
        self._entered[worker] = max(self._entered[worker], number)
        while len(self._jobs) > 1 and min(self._entered) >= self._jobs[1][0]:
            self._parent.release(self._jobs.popleft()[1])
        batch = self._batches.get(serial) if self._epoch and number == self._epoch[0] else None
        if batch is None:
            spent = [result] if result else []
        elif refused:
            spent = self._schedule.again(batch)
        else:
            spent = self._schedule.done(kind, batch, first, result, error, samples, seconds)
        for owner, message in spent:
            if message is not None:
                self._views[owner].release(message)

    def _fate(self, dead: list[int]) -> str:
        stories = []
        for worker in dead:
            process = self._processes[worker]
            try:
                code = process.wait(5)
            except subprocess.TimeoutExpired:
                code = None
            if code is not None and code < 0:
                how = f"killed by {signal.Signals(-code).name}"
                if code == -signal.SIGKILL:
                    how += ", perhaps because memory ran out"
            else:
                how = f"exit code {code}"
            stories.append(f"(pid(s) {process.pid}) exited unexpectedly: {how}")
        return f"{self._name} worker {', worker '.join(stories)}"

    # --- processes ----------------------------------------------------------------------------------------------------

    def _launch(self, inherited: list[int]) -> None:
        prepare = multiprocessing.spawn.get_preparation_data("unstarve-worker")
        prepare["authkey"] = bytes(prepare["authkey"])
        # The main module is run again in the helpers only where something that they need is defined in it: a script
        # without `if __name__ == "__main__"` is fine as long as its dataset is not its own.
        if not self._needs_main:
            for key in ("init_main_from_name", "init_main_from_path"):
                prepare.pop(key, None)
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
                setup = {"path": prepare["sys_path"], "prepare": prepare, "name": self._name, "worker": worker,
                         "workers": self._count, "tasks": tasks.fileno(), "results": theirs.fileno(), "arenas": arenas,
                         "parent_arena": self._arena.fd, "parent": os.getpid(), "epoch": self._epoch,
                         "message_bytes": _MESSAGE_BYTES}
                command = [os.fsdecode(multiprocessing.spawn.get_executable()),
                           *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]
                           "-c", _BOOT]
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE,
                    pass_fds=[*arenas, self._arena.fd, tasks.fileno(), theirs.fileno(), *inherited])
                self._processes.append(process)
                theirs.close()
                assert process.stdin is not None
                with contextlib.suppress(BrokenPipeError), process.stdin as stdin:  # its end is heard by the pump
                    stdin.write(pickle.dumps(setup, 5))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            for _, theirs in pairs:
                theirs.close()
        self._pump = threading.Thread(target=self._hear, name="unstarve-helpers", daemon=True)
        self._pump.start()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def close(self) -> None:
        """Ends the helpers, idle ones at once, one amid a sample within a few seconds; batches that were given stay."""
        if os.getpid() != self._pid:
            return  # a forked copy of the owner: the helpers are not its own
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._dead = self._dead or f"{self._name}: closed while it was waited for"
            self._forget()
            self._changed.notify_all()
        if self._pump is not None and self._wake is not None:
            self._wake.send(b"x")
            if self._pump is not threading.current_thread():
                self._pump.join()
        for end in (*self._tasks, *self._results, *filter(None, (self._wake, self._woken))):
            with contextlib.suppress(OSError):  # the other side has gone
                end.shutdown(socket.SHUT_RDWR)  # heard even if a process that was forked meanwhile holds a copy of it
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

