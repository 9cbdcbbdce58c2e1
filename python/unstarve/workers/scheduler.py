"""Decides which part of which batch is made next, for threads and worker processes.

The first batches of an epoch, as many as there are workers, are split into runs of a few samples, which go to idle
workers and are collated when the last run is done: the first batch is ready early. Every other batch is one task of the
next idle worker, which avoids transferring samples, and so are batches of cheap samples, by the measured time per
sample. The result is the same (see torch_job).

Threads: one at a time; the pools hold a lock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

# A batch that takes less than the first time is one task; runs of longer batches take about the second.
_WHOLE_SECONDS = 0.020
_RUN_SECONDS = 0.010


class Batch:
    """A submitted batch. `index`: its list of indices, or one index without automatic batching; None for streams."""

    def __init__(self, serial: int, index: Any, position: int, worker: int | None = None) -> None:
        self.serial, self.index, self.position, self.worker = serial, index, position, worker
        self.dealt = 0  # samples in runs so far
        self.missing = 0  # runs without a result
        self.parts: dict[int, Any] = {}  # by first sample of the run: its result
        self.failed: tuple[int, Any] | None = None  # (first sample of the run, error)
        self.whole = False  # its samples cannot be transferred
        self.ready = False
        self.result: Any = None
        self.error: Any = None

    def finish(self, result: Any = None, error: Any = None) -> None:
        self.result, self.error, self.ready = result, error, True
        self.parts = {}


def ready_batch(batches: Mapping[int, Batch], serial: int | None = None) -> Batch | None:
    """Returns batch `serial`, or any batch if it is None, if it is ready; otherwise None."""
    if serial is not None:
        batch = batches.get(serial)
        return batch if batch and batch.ready else None
    return next((batch for batch in batches.values() if batch.ready), None)


# (kind, batch, first, given): see Scheduler
Task: TypeAlias = "tuple[str, Batch, int, Any]"


class Outcome(NamedTuple):
    """What a worker returned for a task. `samples`: their number, if the time for them was measured."""

    result: Any
    error: Any
    samples: int = 0
    seconds: float = 0.0


class Scheduler:
    """Splits batches into tasks (kind, batch, first, given).

    Kinds are "run", given its indices; "collate", given the results of the runs in order; and "whole".
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._splits = True  # False: every batch is one task
        self._begun = 0  # batches of this epoch whose first task was handed out
        self._rejected = False  # samples could not be transferred
        self._seconds: float | None = None  # per sample, recent runs weighted most
        self._waiting: deque[Batch] = deque()
        self._collate: deque[Batch] = deque()

    def add(self, batch: Batch) -> None:
        self._waiting.append(batch)

    def begin(self, splits: bool) -> None:
        """Begins an epoch. `splits`: batches may be made in parts."""
        self.clear()
        self._begun = 0
        self._splits = splits and not self._rejected

    def clear(self) -> None:
        self._waiting.clear()
        self._collate.clear()

    def next(self) -> Task | None:
        """Returns the next task, or None if all tasks have been handed out."""
        if self._collate:
            batch = self._collate.popleft()
            parts, batch.parts = batch.parts, {}
            return "collate", batch, 0, [parts[first] for first in sorted(parts)]
        while self._waiting:
            batch = self._waiting[0]
            length = self._run_length(batch)
            self._begun += batch.dealt == 0
            if length is None:
                self._waiting.popleft()
                return "whole", batch, 0, None
            if batch.dealt >= len(batch.index):
                self._waiting.popleft()
                continue
            first = batch.dealt
            indices = batch.index[first:first + length]
            batch.dealt += len(indices)
            batch.missing += 1
            if batch.dealt >= len(batch.index):
                self._waiting.popleft()
            return "run", batch, first, indices
        return None

    def _run_length(self, batch: Batch) -> int | None:
        """Returns the number of samples of the batch's next run; None if the batch is one task."""
        if batch.whole:
            return None
        divisible = self._splits and isinstance(batch.index, (list, tuple)) and len(batch.index) > 1
        if batch.dealt == 0 and (not divisible or self._begun >= self._workers):
            return None
        if self._seconds is None:
            return max(1, len(batch.index) // (4 * self._workers))
        if batch.dealt == 0 and self._seconds * len(batch.index) <= _WHOLE_SECONDS:
            return None
        return max(1, math.ceil(_RUN_SECONDS / max(self._seconds, 1e-9)))

    def done(self, kind: str, batch: Batch, first: int, outcome: Outcome) -> list[Any]:
        """Records the outcome of a task. Returns the results of runs that are no longer needed."""
        result, error = outcome.result, outcome.error
        if outcome.samples:
            each = outcome.seconds / outcome.samples
            # Adapts within a few runs; the limit of 2 keeps one slow sample from dominating.
            self._seconds = each if self._seconds is None else min(0.75 * self._seconds + 0.25 * each,
                                                                   2 * self._seconds)
        if kind != "run":
            batch.finish(result, error)
            return []
        if batch.whole:
            return [result] if error is None else []
        batch.missing -= 1
        if error is None:
            batch.parts[first] = result
        elif batch.failed is None or first < batch.failed[0]:
            batch.failed = (first, error)
        if batch.missing or batch.dealt < len(batch.index):
            return []
        if batch.failed is None:
            self._collate.append(batch)
            return []
        spent = list(batch.parts.values())
        batch.finish(error=batch.failed[1])
        return spent

    def again(self, batch: Batch) -> list[Any]:
        """Makes this and later batches as one task, since samples cannot be transferred. Returns unneeded results."""
        self._rejected, self._splits = True, False
        if batch.whole:
            return []
        spent = list(batch.parts.values())
        batch.parts, batch.whole = {}, True
        if batch in self._waiting:
            self._waiting.remove(batch)
        self._waiting.appendleft(batch)
        return spent
