"""The loader of a pipeline with map(): workers (processes or threads) make its samples.

Each worker reads, decodes and augments samples with the library and then applies the functions. The samples of a batch
and their random numbers are functions of (seed, epoch, sample), as in every pipeline.
"""

from __future__ import annotations

import json
from typing import Any, Self

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.loader import Loader
from unstarve.loaders.engine import Engine
from unstarve.mapping.bad_samples import BadSamples
from unstarve.mapping.engine import MapEngine
from unstarve.mapping.workers import MapWorkers
from unstarve.user_code.user_code import UserCode
from unstarve.workers.map_job import MapJob, MappedBatch
from unstarve.workers.seeding import preserved_generators


class MappedLoader(Loader):
    """A Loader of a pipeline with map(). Images and labels are the results of its functions."""

    _mapped = True

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, chosen: _core.SampleSet | None = None,
                 users: UserCode | None = None) -> None:
        super().__init__(spec, dataset, chosen, users)
        self._check(spec)
        job = MapJob(self._spec, spec.get("order", {}).get("seed", 0), spec.get("errors", {}).get("policy", "fail"),
                     self._users.sources, self._chosen, self._users.functions, dataset, len(dataset))
        self._workers = MapWorkers(job, self._users, spec.get("execution", {}).get("prefetch"))
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
        self._workers.close()

    def _start(self) -> Engine:
        run = _core.Run(self._spec, self._chosen, self._run.stretches, self._run.position)
        return MapEngine(run, self._workers, BadSamples(json.loads(self._spec), len(self)), self._dataset)

    def _first_sample(self) -> tuple[Any, Any]:
        """Returns image and label of the first sample, made in this process."""
        if self._first is None:
            with preserved_generators():
                batch: MappedBatch = self._workers.job.fetcher(0).whole([(self._chosen.first(), 0)])
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
        own = [f"map         {function.name}{', random by rng' if function.takes_rng else ''}"
               for function in self._users.functions]
        own.append(f"execution   {self._workers.explain()}, exact order")
        at = next(i for i, line in enumerate(lines) if line.startswith("execution"))
        return "\n".join([*lines[:at], *own, *lines[at + 1:]]) + "\n"

    def _with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Any = None,
                    allocate: Any = None, device_bytes: Any = (0, 0)) -> Self:
        """Returns a copy of this loader at its resume position. Raises ArgumentError for any other argument."""
        if (dtype, layout, normalize, allocate, device_bytes) != (*(None,) * 4, (0, 0)):
            raise ArgumentError("map() with dtype, layout or normalize: unsupported, its functions determine them. "
                                "Convert in a function, or convert the batches.")
        return super()._with_output()
