"""The worker processes of a pool and the sockets that connect them to it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from unstarve.workers import launch
from unstarve.workers.job import Job
from unstarve.workers.pool_memory import PoolMemory
from unstarve.workers.sent_jobs import JobMessage

_MESSAGE_BYTES = 96 << 10  # larger than any message: larger data is in an arena
_CLOSE_SECONDS = 6.0  # longer than process_main._GRACE_SECONDS, after which workers end


class WorkerProcesses:
    """Processes that run process_main.main(), none before start(). See ProcessPool for the arguments.

    Threads: results() and describe_deaths() in one thread; the other methods one at a time, also during results().
    """

    def __init__(self, count: int, streams: bool, name: str, forks: bool) -> None:
        self.count, self._streams, self._name, self.forks = count, streams, name, forks
        self._tasks: list[socket.socket] = []  # streams: one per worker; otherwise one for all
        self._results: list[socket.socket] = []
        self._processes: list[launch.Process] = []
        self._wake: socket.socket | None = None
        self._woken: socket.socket | None = None

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def start(self, job: Job, sent: JobMessage, epoch: tuple[Any, ...], memory: PoolMemory) -> None:
        """Starts the processes. `sent`: the message of the job; `epoch`: the first one, see worker.Worker._enter."""
        prepare = {} if self.forks else launch.preparation(sent.needs_main)
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                 for _ in range(self.count if self._streams else 1)]
        self._tasks = [ours for ours, _ in pairs]
        self._wake, self._woken = socket.socketpair()
        arenas = [arena.fd for arena in memory.worker_arenas]
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for worker in range(self.count):
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._results.append(ours)
                tasks = pairs[worker if self._streams else 0][1]
                setup = {"path": prepare.get("sys_path"), "prepare": prepare, "name": self._name, "worker": worker,
                         "workers": self.count, "tasks": tasks.fileno(), "results": theirs.fileno(), "arenas": arenas,
                         "parent_arena": memory.arena.fd, "parent": os.getpid(), "epoch": epoch,
                         "message_bytes": _MESSAGE_BYTES}
                if self.forks:
                    process = launch.fork(setup, job, self._ends())
                else:
                    process = launch.spawn(setup, [*arenas, memory.arena.fd, tasks.fileno(), theirs.fileno(),
                                                   *sent.inherited])
                self._processes.append(process)
                theirs.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            for _, theirs in pairs:
                theirs.close()

    def _ends(self) -> list[socket.socket]:
        """Returns the sockets of this process."""
        return [*self._tasks, *self._results, *filter(None, (self._wake, self._woken))]

    def send(self, task: bytes, worker: int | None) -> bool:
        """Sends a task to a worker or, without streams, to any. False if that worker, or every one, has died."""
        try:
            self._tasks[worker or 0].sendall(task)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def results(self) -> Iterator[list[tuple[int, bytes]]]:
        """Yields pairs (worker, message) as they arrive, until wake(). The message of a dead worker is empty."""
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
                yield messages
                if self._woken.fileno() < 0:
                    return  # the pool was closed in this thread

    def wake(self) -> None:
        """Ends results()."""
        assert self._wake is not None
        self._wake.send(b"x")

    def describe_deaths(self, dead: list[int]) -> str:
        """Returns the pids of dead workers and how they ended."""
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

    def close(self) -> None:
        """Ends the processes: idle ones immediately, a busy one within a few seconds."""
        for end in self._ends():
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
