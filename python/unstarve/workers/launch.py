"""Starts worker processes: spawned from a new interpreter, or forked from this process."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.spawn
import os
import pickle
import socket
import subprocess
from collections.abc import Sequence
from typing import Any, Protocol

from unstarve.workers import process_main
from unstarve.workers.job import Job

_BOOT = ("import pickle, sys; setup = pickle.load(sys.stdin.buffer); sys.path[:] = setup['path']; "
         "from unstarve.workers.process_main import main; main(setup)")


class Process(Protocol):
    """A worker process in its parent."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end. Returns the exit code, or minus the number of the signal; subprocess.TimeoutExpired."""

    def kill(self) -> None:
        """Ends the process immediately."""


def preparation(needs_main: bool) -> dict[str, Any]:
    """Returns what a spawned process requires to import what this one can.

    It runs the main module again only if the job needs something defined in it (`needs_main`): a script without `if
    __name__ == "__main__"` works unless it defines the dataset.
    """
    prepare = multiprocessing.spawn.get_preparation_data("unstarve-worker")
    prepare["authkey"] = bytes(prepare["authkey"])
    if not needs_main:
        for key in ("init_main_from_name", "init_main_from_path"):
            prepare.pop(key, None)
    return prepare


def spawn(setup: dict[str, Any], descriptors: Sequence[int]) -> Process:
    """Starts a worker in a new interpreter, which inherits `descriptors`. `setup`: see WorkerProcesses.start."""
    command = [os.fsdecode(multiprocessing.spawn.get_executable()),
               *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]
               "-c", _BOOT]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=descriptors)
    assert process.stdin is not None
    # A broken pipe: the worker has died, which the pool notices.
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(pickle.dumps(setup, 5))
    return process


class _Forked:
    """A Process of multiprocessing."""

    def __init__(self, process: multiprocessing.process.BaseProcess) -> None:
        assert process.pid is not None
        self.pid, self._process = process.pid, process

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0)
        return code

    def kill(self) -> None:
        self._process.kill()


def fork(setup: dict[str, Any], job: Job, ours: Sequence[socket.socket]) -> Process:
    """Starts a worker as a copy of this process, with `job` in its memory. It closes `ours`, the pool's sockets."""
    process = multiprocessing.get_context("fork").Process(target=_forked, args=(setup, job, ours), daemon=True)
    process.start()
    return _Forked(process)


def _forked(setup: dict[str, Any], job: Job, ours: Sequence[socket.socket]) -> None:
    for end in ours:
        os.close(end.fileno())
        end.detach()
    process_main.main(setup, job)
