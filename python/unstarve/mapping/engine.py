"""The batches of a run with map()."""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError, InputError
from unstarve.loaders.engine import BadSample
from unstarve.loaders.run_state import Progress
from unstarve.mapping.bad_samples import BadSamples
from unstarve.mapping.profile import MapProfile
from unstarve.mapping.workers import MapWorkers
from unstarve.workers.map_job import MappedBatch
from unstarve.workers.pool import Pool


class MapEngine:
    """The Engine of a MappedLoader. It refers to no loader: dropping the loader ends its workers.

    Used by one thread; close() may be called from any thread.

    Args:
        run: The order of the samples, from the position where the engine begins.
        workers: The workers, which are started.
        bad_samples: Collects the bad samples.
        dataset: The data, for messages.
    """

    def __init__(self, run: _core.Run, workers: MapWorkers, bad_samples: BadSamples, dataset: _core.Dataset) -> None:
        self._process = os.getpid()
        self._pool: Pool | None = None
        self._run = run
        self._workers = workers
        self._bad_samples = bad_samples
        self._dataset = dataset
        self._submitted: deque[tuple[int, int, int, bool]] = deque()  # serial, epoch, batch, last
        self._serial = 0
        self._profile = MapProfile()
        self._form: tuple[Any, ...] | None = None  # shapes and dtypes of the first batch, and its first sample
        self._idle = workers.idle
        self._pool = workers.start()
        for _ in range(workers.prefetch):
            self._submit(self._pool)

    @property
    def forked(self) -> bool:
        return os.getpid() != self._process

    def _submit(self, pool: Pool) -> None:
        epoch, batch, last, samples = self._run.next()
        pool.submit(self._serial, samples, 0)
        self._submitted.append((self._serial, epoch, batch, last))
        self._serial += 1

    def next(self) -> tuple[Any, Any, Any, None, int, int, int, bool] | None:
        if self.forked:
            raise ArgumentError(f"loader: started in process {self._process}, used in its fork {os.getpid()}; expected "
                                "the process that started it. Create the loader in the new process, or start processes "
                                "by spawn.")
        while True:
            batch_position = self._next()
            if batch_position is None:
                return None
            batch, epoch, index, last = batch_position
            if batch.images is not None and batch.labels is not None:
                self._check_form(batch.images, batch.labels, int(batch.ids[0]))
                return batch.images, batch.labels, batch.ids, None, len(batch.ids), epoch, index, last
            self._bad_samples.check_omitted(batch, epoch, index, last)
            if last:
                none = np.empty(0)
                return none, none, batch.ids, None, 0, epoch, index, last

    def _next(self) -> tuple[MappedBatch, int, int, bool] | None:
        """Returns the next batch, possibly without samples, its epoch, its index and whether it is the last."""
        pool = self._pool
        if pool is None:
            return None
        if not self._submitted or self._workers.prefetch:
            self._submit(pool)
        serial, epoch, index, last = self._submitted.popleft()
        try:
            taken = pool.take(serial)
            assert taken is not None
            batch: MappedBatch = pool.value(taken)
        except RuntimeError:
            if self._pool is None:
                return None  # close() was called
            raise
        self._profile.add(batch)
        if batch.failure is not None:
            batch.failure.reraise()
        self._bad_samples.add(batch, self._profile.tried)
        return batch, epoch, index, last

    def _check_form(self, images: Any, labels: Any, first: int) -> None:
        """Raises InputError unless all batches have the same shapes and dtypes."""
        form = (images.dtype, images.shape[1:], labels.dtype, labels.shape[1:])
        if self._form is None:
            self._form = (form, first)
        elif form != self._form[0]:
            found, expected = (f"image {one[0]} {one[1]} and label {one[2]} {one[3]}"
                               for one in (form, self._form[0]))
            raise InputError(f"map: sample {first} ({self._dataset.location(first)}) became {found}, sample "
                             f"{self._form[1]} {expected}; expected one shape and dtype for all samples")

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.forget()
            self._idle.give(pool)

    def __del__(self) -> None:
        if not self.forked and not sys.is_finalizing():
            self.close()

    # --- reports ----------------------------------------------------------------------------------------------------

    def explain(self) -> str:
        raise AssertionError("MappedLoader.explain() describes what runs")

    def memory(self) -> list[tuple[str, int, int]]:
        return []

    def progress(self) -> Progress:
        raise AssertionError("only relaxed order, which map() rejects, has a progress")

    def profile(self) -> str:
        return self._profile.as_json(self._workers)

    def bad_samples(self, most: int) -> list[BadSample]:
        return self._bad_samples.first(most)
