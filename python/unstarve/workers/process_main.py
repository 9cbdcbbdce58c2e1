"""The main function of a worker process: receives tasks from a socket and writes results into its arena.

The process ends when the parent closes the pool or dies. A thread watches for that while a sample is being made.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import multiprocessing
import multiprocessing.spawn
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

from unstarve.workers.job import Job

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_RETAINED, _MOST_RETAINED = 32 << 20, 256 << 20  # bytes: of a block, and of a process
_GRACE_SECONDS = 5.0  # to finish the current sample after the pool was closed
_ORPHAN_SECONDS = 0.5  # after the parent died


def main(setup: dict[str, Any], job: Job | None = None) -> None:
    """Runs a worker process.

    Args:
        setup: See worker_processes.WorkerProcesses.start.
        job: The job of a forked process; a spawned one receives it pickled.
    """
    if job is not None:
        atexit._clear()  # exit handlers of the parent
        gc.freeze()  # a collection would copy the pages of all objects of the parent
    _retain_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    results = socket.socket(fileno=setup["results"])
    threading.Thread(target=_watch, args=(results, setup["parent"]), daemon=True).start()
    begun, failure = None, None
    try:
        if job is None:
            _prepare(setup["prepare"])
        from unstarve.workers.worker import Worker

        begun = Worker(setup, job)
    except BaseException:
        from unstarve.workers.exceptions import ExceptionWrapper

        failure = ExceptionWrapper(f"in {setup['name']} worker process {setup['worker']}, starting").pickled()
    tasks = socket.socket(fileno=setup["tasks"])
    while message := tasks.recv(setup["message_bytes"]):
        try:
            if begun is None:
                (number, *_), serial, kind, first, _ = pickle.loads(message)
                results.sendall(pickle.dumps((number, serial, kind, first, None, failure, False, 0, 0.0)))
            else:
                results.sendall(begun.run(message))
        except (BrokenPipeError, ConnectionResetError):
            break
    # Deletes the dataset and runs exit handlers, but skips the teardown of modules, nearly a second with torch.
    del begun, job
    gc.collect()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _retain_freed_memory() -> None:
    """Makes malloc keep freed blocks of images for the next sample.

    By default glibc returns them to the system, and the next sample's page faults cost a tenth of the time of decoding
    and augmenting a photograph with Pillow and torchvision.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # glibc
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_RETAINED)
        mallopt(_M_TRIM_THRESHOLD, _MOST_RETAINED)


def _prepare(preparation: dict[str, Any]) -> None:
    """Imports what the parent can import, in a spawned process."""
    current = multiprocessing.current_process()
    # Detects a main module that starts processes unguarded.
    current._inheriting = True  # type: ignore[attr-defined]
    try:
        multiprocessing.spawn.prepare(preparation)
    finally:
        del current._inheriting  # type: ignore[attr-defined]


def _watch(results: socket.socket, parent: int) -> None:
    """Ends the process if the parent has died or closed the pool and the current task does not finish in time."""
    hangup = select.poll()
    hangup.register(results, select.POLLRDHUP)
    while not hangup.poll(2000) and os.getppid() == parent:
        pass
    time.sleep(_GRACE_SECONDS if os.getppid() == parent else _ORPHAN_SECONDS)
    os._exit(1)
