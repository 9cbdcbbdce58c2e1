"""The memory that a pool shares with its worker processes."""

from __future__ import annotations

from typing import Any

from unstarve.workers import transport


class PoolMemory:
    """An arena of the pool, for jobs and tasks, and one of every worker, for results.

    A result is a pair (worker, message); the message is None at the end of a stream.

    Threads: `arena` is used by one at a time; the other members by any.
    """

    def __init__(self, workers: int) -> None:
        self.arena = transport.Arena()  # of the pool
        self.worker_arenas = [transport.Arena() for _ in range(workers)]
        self._views = [transport.View(arena.fd) for arena in self.worker_arenas]

    def unpack(self, worker: int, message: bytes | None) -> Any:
        """Returns the object of a result. Its data remains in the worker's memory until it is dropped."""
        return None if message is None else self._views[worker].unpack(message)

    def release(self, worker: int, message: bytes | None) -> None:
        """Releases the memory of a result that will not be unpacked."""
        if message is not None:
            self._views[worker].release(message)

    def close(self) -> None:
        for arena in (self.arena, *self.worker_arenas):
            arena.close()
