"""The workers of a pipeline with map()."""

from __future__ import annotations

import sys
from typing import cast

from unstarve import _core
from unstarve.errors import CancelledError
from unstarve.user_code.user_code import UserCode
from unstarve.workers.map_job import MapJob, check_picklable
from unstarve.workers.pool import IdlePool, InlinePool, Pool
from unstarve.workers.process_pool import ProcessPool
from unstarve.workers.thread_pool import ThreadPool


class MapWorkers:
    """The workers of a loader, processes or threads, which remain for its next run.

    Threads: close() may be called from any thread, start() by one thread at a time.

    Args:
        job: What the workers execute.
        users: Has the functions, and the number and kind of the workers if the user chose them.
        prefetch: Batches to request before they are taken; None: one more than there are workers.

    Raises:
        ArgumentError: A function cannot be pickled for a process.
    """

    def __init__(self, job: MapJob, users: UserCode, prefetch: int | None) -> None:
        self.job = job
        self.count: int = _core.usable_cores() if users.workers is None else users.workers  # 0: the calling thread
        self._kind = users.kind or ("processes" if getattr(sys, "_is_gil_enabled", lambda: True)() else "threads")
        if self.count and self._kind == "processes":
            check_picklable(users.functions)
        self.prefetch = max(1, self.count + 1 if prefetch is None else prefetch) if self.count else 0
        self.idle = IdlePool()  # the engine returns its workers to it

    def explain(self) -> str:
        """Returns who makes the samples, and how many batches are prefetched."""
        workers = f"{self.count} {'worker ' if self._kind == 'processes' else ''}{self._kind}"
        return f"{workers if self.count else 'this thread'} for the samples, {self.prefetch} batches prefetched"

    def start(self) -> Pool:
        """Returns workers that have begun the epoch. Raises CancelledError if they end immediately."""
        pool = self.idle.take()
        for _ in range(2):
            fresh = pool is None
            pool = pool or self._new_pool()
            try:
                if pool.begin(self.job, 0, 0, fresh):
                    return pool
            except BaseException:
                pool.close()
                raise
            pool.close()  # one of its workers died
            pool = None
        raise CancelledError("map(): the workers ended during startup")

    def _new_pool(self) -> Pool:
        if self.count == 0:
            return cast("Pool", InlinePool())
        if self._kind == "threads":
            return ThreadPool(self.count, "map()")
        return ProcessPool(self.count, False, "map()")

    def close(self) -> None:
        """Stops the idle workers. Those of an engine that is closed later stop then; start() starts new ones."""
        self.idle.close()
        self.idle = IdlePool()
