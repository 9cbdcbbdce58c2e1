"""The loader of a pipeline with map(): workers (processes or threads) make its samples.

Each worker reads, decodes and augments samples with the library and then applies the functions. The samples of a batch
and their random numbers are functions of (seed, epoch, sample), as in every pipeline.
"""

from __future__ import annotations

import json
import os
import sys
import time
import weakref
from collections import deque
from typing import Any, Self, cast

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError, CancelledError, InputError
from unstarve.loader import Loader
from unstarve.loaders.engine import BadSample, Engine
from unstarve.loaders.run_state import Progress
from unstarve.user_code.user_code import UserCode
from unstarve.workers.map_job import BadRecord, MapJob, MappedBatch, check_picklable
from unstarve.workers.pool import IdlePool, InlinePool, Pool
from unstarve.workers.process_pool import ProcessPool
from unstarve.workers.seeding import preserved_generators
from unstarve.workers.thread_pool import ThreadPool

_MIN_SAMPLES_FOR_RATE = 1000  # before the rate of bad samples is checked, as in the library (spec.h)


class MappedLoader(Loader):
    """A Loader of a pipeline with map(). Images and labels are the results of its functions."""

    _mapped = True

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, chosen: _core.SampleSet | None = None,
                 users: UserCode | None = None) -> None:
        super().__init__(spec, dataset, chosen, users)
        self._check(spec)
        errors = spec.get("errors", {})
        self._limits: tuple[int, float] = errors.get("limit", 1000), errors.get("rate", 1.0)
        seed = spec.get("order", {}).get("seed", 0)
        self._job = MapJob(self._spec, seed, errors.get("policy", "fail"), self._users.sources, self._chosen,
                           self._users.functions, dataset, len(dataset))
        self._workers: int = _core.usable_cores() if self._users.workers is None else self._users.workers
        self._kind = self._users.kind or ("processes" if getattr(sys, "_is_gil_enabled", lambda: True)() else "threads")
        if self._workers and self._kind == "processes":
            check_picklable(self._users.functions)
        prefetch = max(1, spec.get("execution", {}).get("prefetch", self._workers + 1))
        self._prefetch: int = prefetch if self._workers else 0
        self._idle_pool = IdlePool()
        self._first: tuple[Any, Any] | None = None  # image and label of the first sample

    @staticmethod
    def _check(spec: dict[str, Any]) -> None:
        execution, cache = spec.get("execution", {}), spec.get("cache", {})
        if spec.get("batch_operations"):
            raise ArgumentError("map() with batch operations: unsupported. Apply them to the batches in the training "
                                "loop.")
        if "pad" in spec["batch"] or spec["batch"].get("last") == "pad":
            raise ArgumentError("batch(pad) or batch(last='pad') with map(): unsupported; expected images of one size, "
                                "and last='drop' or 'keep'")
        if execution.get("order", "exact") != "exact":
            raise ArgumentError(f"options(order) with map(): found {execution['order']!r}; expected 'exact'")
        for key in ("threads", "read_ahead", "memory_limit_mb", "cpu_limit", "autotune"):
            if key in execution:
                raise ArgumentError(f"options({key.removesuffix('_mb')}) with map(): unsupported; expected "
                                    "options(workers=, kind=, prefetch=)")
        if cache and not (cache["what"] == "pixels" and cache["folder"]):
            raise ArgumentError(f"cache({cache['what']!r}) with map(): every worker would have its own cache; expected "
                                "cache('pixels', folder=), which the workers share")

    def close(self) -> None:
        """Stops the workers and frees the memory. The end of a `with` block does the same; iterating restarts.

        May be called from another thread: a loop that waits for a batch then raises CancelledError. Idle workers end
        immediately, a busy one within a few seconds.
        """
        super().close()
        self._idle_pool.close()
        self._idle_pool = IdlePool()

    def _start(self) -> Engine:
        return _MapEngine(self)

    def _first_sample(self) -> tuple[Any, Any]:
        """Returns image and label of the first sample, made in this process."""
        if self._first is None:
            with preserved_generators():
                batch: MappedBatch = self._job.fetcher(0).whole([(self._chosen.first(), 0)])
            if batch.images is None or batch.labels is None:
                (batch.failure or batch.bad[0]).reraise()
            else:
                self._first = batch.images[0], batch.labels[0]
        assert self._first is not None
        return self._first

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Shapes of one sample's image and label. Makes the first sample in this process."""
        image, label = self._first_sample()
        return image.shape, label.shape

    @property
    def dtype(self) -> str:
        """Dtype of the images, as NumPy names it. Makes the first sample in this process."""
        return str(self._first_sample()[0].dtype)

    @property
    def label_dtype(self) -> str:
        """Dtype of the labels, as NumPy names it. Makes the first sample in this process."""
        return str(self._first_sample()[1].dtype)

    def explain(self) -> str:
        """Describes what runs: source, order, operations, functions, and for each optimisation whether it applies."""
        lines = _core.explain(self._spec, self._dataset, self._chosen).splitlines()
        workers = f"{self._workers} {'worker ' if self._kind == 'processes' else ''}{self._kind}"
        own = [f"map         {function.name}{', random by rng' if function.takes_rng else ''}"
               for function in self._users.functions]
        own.append(f"execution   {workers if self._workers else 'this thread'} for the samples, {self._prefetch} "
                   "batches prefetched, exact order")
        at = next(i for i, line in enumerate(lines) if line.startswith("execution"))
        return "\n".join([*lines[:at], *own, *lines[at + 1:]]) + "\n"

    def _with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Any = None,
                    allocate: Any = None, device_bytes: Any = (0, 0)) -> Self:
        """Returns a copy of this loader at its resume position. Raises ArgumentError for any other argument."""
        if (dtype, layout, normalize, allocate, device_bytes) != (*(None,) * 4, (0, 0)):
            raise ArgumentError("map() with dtype, layout or normalize: unsupported, its functions determine them. "
                                "Convert in a function, or convert the batches.")
        return super()._with_output()

    def _new_pool(self) -> Pool:
        if self._workers == 0:
            return cast("Pool", InlinePool())
        if self._kind == "threads":
            return ThreadPool(self._workers, "map()")
        return ProcessPool(self._workers, False, "map()")

    def _started_pool(self) -> Pool:
        """Returns workers that have begun the epoch."""
        pool = self._idle_pool.take()
        for _ in range(2):
            fresh = pool is None
            pool = pool or self._new_pool()
            try:
                if pool.begin(self._job, 0, 0, fresh):
                    return pool
            except BaseException:
                pool.close()
                raise
            pool.close()  # one of its workers died
            pool = None
        raise CancelledError("map(): the workers ended during startup")


class _MapEngine:
    """The Engine of a MappedLoader: the batches of a run from a position on.

    Used by one thread; close() may be called from any thread.
    """

    def __init__(self, loader: MappedLoader) -> None:
        # A weak reference: dropping the loader ends its workers. An iterator keeps the loader alive.
        self._loader = cast("MappedLoader", weakref.proxy(loader))
        self._process = os.getpid()
        self._pool: Pool | None = None
        self._run = _core.Run(loader._spec, loader._chosen, loader._stretches, loader._position)
        self._submitted: deque[tuple[int, int, int, bool]] = deque()  # serial, epoch, batch, last
        self._serial = self._samples = self._batches = self._tried = 0
        self._ns, self._begun = (0, 0), time.monotonic_ns()
        self._bad: dict[int, BadRecord] = {}
        self._omitted = 0  # consecutive batches without good samples
        self._form: tuple[Any, ...] | None = None  # shapes and dtypes of the first batch, and its first sample
        self._idle_pool = loader._idle_pool
        self._pool = loader._started_pool()
        for _ in range(loader._prefetch):
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
                self._omitted = 0
                self._check_form(batch.images, batch.labels, int(batch.ids[0]))
                return batch.images, batch.labels, batch.ids, None, len(batch.ids), epoch, index, last
            self._omitted += 1
            self._check_omitted(batch, epoch, index, last)
            if last:
                none = np.empty(0)
                return none, none, batch.ids, None, 0, epoch, index, last

    def _next(self) -> tuple[MappedBatch, int, int, bool] | None:
        """Returns the next batch, possibly without samples, its epoch, its index and whether it is the last."""
        pool = self._pool
        if pool is None:
            return None
        if not self._submitted or self._loader._prefetch:
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
        self._count(batch)
        if batch.failure is not None:
            batch.failure.reraise()
        return batch, epoch, index, last

    def _check_omitted(self, batch: MappedBatch, epoch: int, index: int, last: bool) -> None:
        """Raises InputError if a batch without good samples must not be omitted, as the library does."""
        world = json.loads(self._loader._spec).get("order", {}).get("world", 1)
        bad = batch.bad[0]
        reason = bad.reason if bad.location in bad.reason else f"{bad.location}: {bad.reason}"
        if world > 1:
            raise InputError(f"every sample of epoch {epoch} batch {index} is bad; expected at least one good sample, "
                             f"because each of {world} ranks must have equally many batches. Use errors: replace, or "
                             f"larger batches. The first: {reason}")
        if last and self._omitted >= len(self._loader):
            raise InputError(f"every sample of epoch {epoch} is bad, and errors: skip leaves none; the first of its "
                             f"last batch: {reason}")

    def _count(self, batch: MappedBatch) -> None:
        self._tried += batch.tried
        self._ns = self._ns[0] + batch.ns[0], self._ns[1] + batch.ns[1]
        self._batches += 1
        self._samples += len(batch.ids)
        if batch.failure is not None:
            return
        limit, rate = self._loader._limits
        for bad in batch.bad:
            self._bad.setdefault(bad.id, bad)
            if len(self._bad) > limit:
                samples = "sample" if len(self._bad) == 1 else "samples"
                raise InputError(f"{len(self._bad)} bad {samples}, more than the limit of {limit}; the latest: "
                                 f"{bad.reason}")
            if self._tried >= _MIN_SAMPLES_FOR_RATE and len(self._bad) > rate * self._tried:
                raise InputError(f"{len(self._bad)} bad samples among {self._tried}, more than the limit of "
                                 f"{100 * rate:.3g} %; the latest: {bad.reason}")

    def _check_form(self, images: Any, labels: Any, first: int) -> None:
        """Raises InputError unless all batches have the same shapes and dtypes."""
        form = (images.dtype, images.shape[1:], labels.dtype, labels.shape[1:])
        if self._form is None:
            self._form = (form, first)
        elif form != self._form[0]:
            found, expected = (f"image {one[0]} {one[1]} and label {one[2]} {one[3]}"
                               for one in (form, self._form[0]))
            raise InputError(f"map: sample {first} ({self._loader._dataset.location(first)}) became {found}, sample "
                             f"{self._form[1]} {expected}; expected one shape and dtype for all samples")

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.forget()
            self._idle_pool.give(pool)

    def __del__(self) -> None:
        if not self.forked and not sys.is_finalizing():
            self.close()

    # --- reports ----------------------------------------------------------------------------------------------------

    def explain(self) -> str:
        return self._loader.explain()

    def memory(self) -> list[tuple[str, int, int]]:
        return []

    def progress(self) -> Progress:
        raise AssertionError("only relaxed order, which map() rejects, has a progress")

    def profile(self) -> str:
        """Returns the profile as JSON, with two stages: the library and the functions."""
        names = ("read, decode, augment", "map")
        stages = [{"name": name, "samples": self._tried, "busy_ns": ns, "bytes": 0}
                  for name, ns in zip(names, self._ns, strict=True)]
        return json.dumps({"version": 1, "wall_ns": time.monotonic_ns() - self._begun, "samples": self._samples,
                           "batches": self._batches, "loader_threads": self._loader._workers,
                           "prefetch_batches": self._loader._prefetch, "stages": stages})

    def bad_samples(self, most: int) -> list[BadSample]:
        return [(bad.id, bad.location, bad.reason) for _, bad in sorted(self._bad.items())[:most]]
