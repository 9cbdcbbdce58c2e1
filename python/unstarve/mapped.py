"""A pipeline with functions of its user: its samples are made by workers, helper processes or threads, one batch each.

Each worker runs the library's part, from reading to the operations, and the functions after it. Which samples are in a
batch, and their randomness, follow from (seed, epoch, sample) as in every pipeline.
"""

from __future__ import annotations

import json
import os
import sys
import time
import weakref
from collections import deque
from typing import Any, cast

import numpy as np

from unstarve import _core, functions, state
from unstarve.errors import ArgumentError, CancelledError, InputError
from unstarve.loader import Loader
from unstarve.running import Core
from unstarve.workers.chain import Bad, Batch, ChainJob
from unstarve.workers.pools import Home, Inline, Pool
from unstarve.workers.seeding import kept_generators

_RATE_PROBATION = 1000  # samples before a rate of bad ones means something, as in the library (spec.h)


class MappedLoader(Loader):
    """A Loader whose samples the functions of `Pipeline.map` had a part in; images and labels are what they make."""

    mapped = True

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, chosen: _core.SampleSet | None = None,
                 users: Any = None) -> None:
        super().__init__(spec, dataset, chosen, users)
        self._check(spec)
        errors = spec.get("errors", {})
        self._limits: tuple[int, float] = errors.get("limit", 1000), errors.get("rate", 1.0)
        seed = spec.get("order", {}).get("seed", 0)
        self._job = ChainJob(self._spec, seed, errors.get("policy", "fail"), self._users.sources, self._chosen,
                             self._users.functions, dataset, len(dataset))
        self._workers: int = _core.usable_cores() if self._users.workers is None else self._users.workers
        self._kind = self._users.kind or ("processes" if getattr(sys, "_is_gil_enabled", lambda: True)() else "threads")
        if self._workers and self._kind == "processes":
            functions.check_sendable(self._users.functions)
        ahead = max(1, spec.get("execution", {}).get("prefetch", self._workers + 1))
        self._prefetch: int = ahead if self._workers else 0
        self._home = Home()
        self._first: tuple[Any, Any] | None = None  # image and label of the first sample

    @staticmethod
    def _check(spec: dict[str, Any]) -> None:
        execution, cache = spec.get("execution", {}), spec.get("cache", {})
        if spec.get("batch_operations"):
            raise ArgumentError("map() with operations on whole batches: these come before what Python makes; do them "
                                "where the batches are used")
        if "pad" in spec["batch"] or spec["batch"].get("last") == "pad":
            raise ArgumentError("batch(pad) or batch(last='pad') with map(): its functions' images are stacked as they "
                                "are; expected images of one size, and last='drop' or 'keep'")
        if execution.get("order", "exact") != "exact":
            raise ArgumentError("options(order) with map(): expected 'exact'")
        for key in ("threads", "read_ahead", "memory_limit_mb", "cpu_limit", "autotune"):
            if key in execution:
                raise ArgumentError(f"options({key.removesuffix('_mb')}) with map(): its samples are made by workers; "
                                    "expected options(workers=, kind=, prefetch=)")
        if cache and not (cache["what"] == "pixels" and cache["folder"]):
            raise ArgumentError(f"cache({cache['what']!r}) with map(): every worker would have its own; expected "
                                "cache('pixels', folder=), which all share")

    def close(self) -> None:
        """Ends the workers and frees the memory; iterating starts them again. Also the end of a `with` block.

        From another thread it ends a loop that waits: CancelledError there. Idle workers end at once, one amid a sample
        within a few seconds.
        """
        super().close()
        self._home.close()
        self._home = Home()

    def _start(self) -> Core:
        return _MapRun(self)

    def _copy(self, spec: dict[str, Any]) -> Loader:
        return MappedLoader(spec, self._dataset, self._chosen, self._users)

    def _made_alone(self) -> tuple[Any, Any]:
        """Image and label of the first sample that takes part, made here."""
        if self._first is None:
            with kept_generators():
                batch: Batch = self._job.fetcher(0).whole([(self._chosen.first(), 0)])
            if batch.images is None or batch.labels is None:
                (batch.failure or batch.bad[0]).reraise()
            else:
                self._first = batch.images[0], batch.labels[0]
        assert self._first is not None
        return self._first

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Of one sample's image and label. Makes the first sample, in this process."""
        image, label = self._made_alone()
        return image.shape, label.shape

    @property
    def dtype(self) -> str:
        """Of the images, as NumPy names it. Makes the first sample, in this process."""
        return str(self._made_alone()[0].dtype)

    @property
    def label_dtype(self) -> str:
        """Of the labels. Makes the first sample, in this process."""
        return str(self._made_alone()[1].dtype)

    def explain(self) -> str:
        """What will run: source, order, operations, every optimisation with whether it applies and why; functions."""
        lines = _core.explain(self._spec, self._dataset, self._chosen).splitlines()
        many = f"{self._workers} {'helper ' if self._kind == 'processes' else ''}{self._kind}"
        told = [f"map         {function.name}{', random by rng' if function.wants_rng else ''}"
                for function in self._users.functions]
        told.append(f"execution   {many if self._workers else 'this thread'} for the samples, {self._prefetch} batches "
                    "ahead, exact order")
        at = next(i for i, line in enumerate(lines) if line.startswith("execution"))
        return "\n".join([*lines[:at], *told, *lines[at + 1:]]) + "\n"

    def with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Any = None,
                    allocate: Any = None, on_device: Any = (0, 0)) -> Loader:
        """A loader like this one, standing where this one stands. ArgumentError for what the functions decide."""
        if (dtype, layout, normalize, allocate, on_device) != (*(None,) * 4, (0, 0)):
            raise ArgumentError("map(): dtype, layout and normalize are what its functions make; do it in them, or "
                                "with the batches")
        return super().with_output()

    def _new_pool(self) -> Pool:
        if self._workers == 0:
            return cast("Pool", Inline())
        if self._kind == "threads":
            from unstarve.workers.threads import ThreadPool

            return ThreadPool(self._workers, "map()")
        from unstarve.workers.processes import HelperPool

        return HelperPool(self._workers, False, "map()")

    def _pool(self) -> Pool:
        """Workers that have begun."""
        pool = self._home.take()
        for _ in range(2):
            fresh = pool is None
            pool = pool or self._new_pool()
            try:
                if pool.begin(self._job, 0, 0, fresh):
                    return pool
            except BaseException:
                pool.close()
                raise
            pool.close()  # a helper of it has died
            pool = None
        raise CancelledError("map(): its workers ended while they were started")


class _MapRun:
    """What _core.Loader is to a Loader: the batches of a run from a position on. By one thread, but for close()."""

    def __init__(self, loader: MappedLoader) -> None:
        # Not kept by it, so that forgetting the loader ends its workers; who iterates holds it.
        self._loader = cast("MappedLoader", weakref.proxy(loader))
        self._process = os.getpid()
        self._pool: Pool | None = None
        self._run = _core.Run(loader._spec, loader._chosen, loader._stretches, *loader._at)
        self._asked: deque[tuple[int, int, int, bool]] = deque()  # serial, epoch, batch, last
        self._serial = self._samples = self._batches = self._tried = 0
        self._ns, self._begun = (0, 0), time.monotonic_ns()
        self._bad: dict[int, Bad] = {}
        self._left_out = 0  # batches, one after the other up to now
        self._form: tuple[Any, ...] | None = None  # of the first batch: shapes and dtypes, and its first sample
        self._home = loader._home
        self._pool = loader._pool()
        for _ in range(loader._prefetch):
            self._ask(self._pool)

    @property
    def forked(self) -> bool:
        return os.getpid() != self._process

    def _ask(self, pool: Pool) -> None:
        epoch, batch, last, samples = self._run.next()
        pool.submit(self._serial, samples, 0)
        self._asked.append((self._serial, epoch, batch, last))
        self._serial += 1

    def next(self) -> tuple[Any, Any, Any, None, int, int, int, bool] | None:
        if self.forked:
            raise ArgumentError(f"the loader was started in process {self._process}, and its workers are not those of "
                                f"process {os.getpid()}, a fork of it: make a loader there, or start processes by "
                                "spawn")
        while True:
            taken = self._next()
            if taken is None:
                return None
            batch, epoch, index, last = taken
            if batch.images is not None and batch.labels is not None:
                self._left_out = 0
                self._check_form(batch.images, batch.labels, int(batch.ids[0]))
                return batch.images, batch.labels, batch.ids, None, len(batch.ids), epoch, index, last
            self._left_out += 1
            self._refuse_empty(batch, epoch, index, last)
            if last:
                none = np.empty(0)
                return none, none, batch.ids, None, 0, epoch, index, last

    def _next(self) -> tuple[Batch, int, int, bool] | None:
        """The next batch, also one without samples; its epoch, number and whether it is the last."""
        pool = self._pool
        if pool is None:
            return None
        if not self._asked or self._loader._prefetch:
            self._ask(pool)
        serial, epoch, index, last = self._asked.popleft()
        try:
            taken = pool.take(serial)
            assert taken is not None
            batch: Batch = pool.value(taken)
        except RuntimeError:
            if self._pool is None:
                return None  # by close()
            raise
        self._count(batch)
        if batch.failure is not None:
            batch.failure.reraise()
        return batch, epoch, index, last

    def _refuse_empty(self, batch: Batch, epoch: int, index: int, last: bool) -> None:
        """As the library (Loader::State::failure_of_empty)."""
        world = json.loads(self._loader._spec).get("order", {}).get("world", 1)
        bad = batch.bad[0]
        reason = bad.reason if bad.location in bad.reason else f"{bad.location}: {bad.reason}"
        if world > 1:
            raise InputError(f"every sample of epoch {epoch} batch {index} is bad, and it cannot be left out, since "
                             f"each of {world} ranks must have equally many batches: take errors('replace'), or larger "
                             f"batches; the first: {reason}")
        if last and self._left_out >= len(self._loader):
            raise InputError(f"every sample of epoch {epoch} is bad, errors('skip') leaves nothing of it; the first of "
                             f"its last batch: {reason}")

    def _count(self, batch: Batch) -> None:
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
            if self._tried >= _RATE_PROBATION and len(self._bad) > rate * self._tried:
                raise InputError(f"{len(self._bad)} bad samples among {self._tried}, more than the limit of "
                                 f"{100 * rate:.3g} %; the latest: {bad.reason}")

    def _check_form(self, images: Any, labels: Any, first: int) -> None:
        """Batches are alike from one to the next, as samples are within one."""
        form = (images.dtype, images.shape[1:], labels.dtype, labels.shape[1:])
        if self._form is None:
            self._form = (form, first)
        elif form != self._form[0]:
            found, expected = (f"image {one[0]} {one[1]} and label {one[2]} {one[3]}"
                               for one in (form, self._form[0]))
            raise InputError(f"map: of sample {first} ({self._loader._dataset.location(first)}) {found} were made, of "
                             f"sample {self._form[1]} {expected}; expected one shape and dtype for all")

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.forget()
            self._home.give(pool)

    def __del__(self) -> None:
        if not self.forked and not sys.is_finalizing():
            self.close()

    # --- what it tells ----------------------------------------------------------------------------------------------

    def explain(self) -> str:
        return self._loader.explain()

    def memory(self) -> list[tuple[str, int, int]]:
        return []

    def progress(self) -> state.Progress:
        raise AssertionError("map() refuses relaxed order, which alone has a progress")

    def profile(self) -> str:
        """As the library's, of two stages: its own part, and the functions."""
        names = ("read, decode, augment", "map")
        stages = [{"name": name, "samples": self._tried, "busy_ns": ns, "bytes": 0}
                  for name, ns in zip(names, self._ns, strict=True)]
        return json.dumps({"version": 1, "wall_ns": time.monotonic_ns() - self._begun, "samples": self._samples,
                           "batches": self._batches, "loader_threads": self._loader._workers,
                           "prefetch_batches": self._loader._prefetch, "stages": stages})

    def bad_samples(self, most: int) -> list[tuple[int, str, str]]:
        return [(bad.id, bad.location, bad.reason) for _, bad in sorted(self._bad.items())[:most]]
