"""A drop-in replacement for torch.utils.data.DataLoader with exact resume and another engine.

    loader = un.DataLoader(dataset, batch_size=256, shuffle=True, num_workers=8)

Equal to torch: the order of samples for the same sampler and generator, samplers, collate functions, worker_init_fn,
get_worker_info(), how errors are raised. It is a subclass of torch's DataLoader.

Different with num_workers > 0:

- Workers are processes or threads (argument `workers`). Processes start as torch's workers do: forked by default on
  Linux, with no import and no pickling, or spawned with multiprocessing_context="spawn" or "forkserver", and from
  daemonic processes. Spawned processes receive dataset, collate_fn and worker_init_fn pickled, once for all; they share
  one copy of large arrays and tensors, and are kept for the next loop.
- Idle workers take the next task: single samples of the first batches of an epoch, then whole batches. A slow sample
  delays only its own batch. A dataset object with mutable state per worker sees samples in an order that depends on
  timing.
- The global generators are seeded for every sample from the base seed of the epoch and the position of the sample:
  augmentation that draws from random, numpy.random or torch is the same for any number of worker processes, and after a
  resume.
- Unless persistent_workers is set, every loop has the current dataset, new seeds and a new worker_init_fn call.
- Worker processes keep the memory of deleted images for later samples, up to 256 MB each.
- Batches are zero-copy views of memory that a worker wrote, which is reused when they are dropped. /dev/shm is not
  used, except by torch if a collate_fn of yours calls default_collate. Nothing remains after any process is killed.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from unstarve.optional_packages import require_package

with require_package("torch", "DataLoader"):
    import torch
    from torch.utils.data import Dataset, IterDataPipe, MapDataPipe, Sampler
    from torch.utils.data.dataloader import _DatasetKind

from unstarve.arguments import check_int, check_state
from unstarve.errors import ArgumentError
from unstarve.loaders.representation import Rows, as_html, as_text, counted
from unstarve.suggestions import suggesting_methods
from unstarve.workers import generator_states, torch_job
from unstarve.workers.epoch import Epoch, EpochLoader
from unstarve.workers.pool import IdlePool, Pool
from unstarve.workers.process_pool import ProcessPool
from unstarve.workers.thread_pool import ThreadPool

STATE_VERSION = 1
# Keys of the state of a loop that has begun, in addition to those of every state.
_LOOP_KEYS = ("finished", "yielded", "sampler", "global", "base_seed", "round", "streams")
_Sample = TypeVar("_Sample", covariant=True)


def get_worker_info() -> Any:
    """Returns torch.utils.data.get_worker_info(), also in worker threads: id, num_workers, seed, dataset."""
    return torch_job.worker_info() or torch.utils.data.get_worker_info()


@suggesting_methods
class DataLoader(EpochLoader[_Sample]):
    """Loads batches of a torch dataset.

    Each loop is one epoch; its order is drawn from `generator` or torch's global generator, as in torch. Two loops may
    run at the same time, each with its own workers; state_dict() is that of the newest. If a worker process dies, the
    loop raises RuntimeError after the batches that were complete.

    Args:
        dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout,
            worker_init_fn, generator, prefetch_factor, persistent_workers, pin_memory_device, in_order: As in
            torch.utils.data.DataLoader. Of an iterable dataset, a worker prefetches at most 128 batches.
        multiprocessing_context: As in torch: "fork", "spawn" or "forkserver", which spawns, or such a context.
        workers: "processes" or "threads". None: threads if the interpreter has no global lock and the dataset is
            map-style, otherwise processes. Threads share one dataset object and the global random generators; in them
            torch's get_worker_info() returns None, use that of unstarve.dataloader.

    Raises:
        ArgumentError: An object cannot be sent to workers, the dataset is a DataPipe, or `prefetch_factor` is 0.
        ValueError: As in torch.

    Example:
        loader = un.DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4)
        for images, labels in loader:
            ...
        torch.save(loader.state_dict(), "loader.pt")
    """

    def __init__(self, dataset: Dataset[_Sample], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler[Any] | Iterable[Any] | None = None,
                 batch_sampler: Sampler[Any] | Iterable[Any] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: str | BaseContext | None = None, generator: torch.Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True, workers: str | None = None) -> None:
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            raise ArgumentError(f"DataLoader(dataset): found {type(dataset).__name__}, a DataPipe; expected a Dataset")
        if workers not in (None, "processes", "threads"):
            raise ArgumentError(f"DataLoader(workers): found {workers!r}; expected 'processes', 'threads' or None")
        if workers == "threads" and isinstance(dataset, torch.utils.data.IterableDataset):
            raise ArgumentError("DataLoader(workers): found 'threads' with an IterableDataset; expected 'processes', "
                                "because threads cannot share an iterator")
        if num_workers and prefetch_factor == 0:
            raise ArgumentError("DataLoader(prefetch_factor): found 0; expected 1 or more")
        self.workers = workers
        self._by_index = False
        self._first_position = 0
        self._idle_pool = IdlePool()
        self._rounds = 0
        self._epoch_base_seed = None
        self._progress = None
        self._resume: Mapping[str, Any] | None = None
        super().__init__(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,
                         drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
                         prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
                         pin_memory_device=pin_memory_device, in_order=in_order)

    def _workers_text(self) -> str:
        one, many = {"processes": ("process", "processes"), "threads": ("thread", "threads")}.get(
            self.workers or "", ("worker", "workers"))
        return counted(self.num_workers, one, many)

    def _rows(self) -> Rows:
        samples = counted(len(self.dataset), "sample", "samples") if hasattr(self.dataset, "__len__") else ""
        size = "samples without batches" if self.batch_size is None and self.batch_sampler is None else (
            f"batches of {self.batch_size}" if self.batch_size else "batches of the batch_sampler")
        return [("data", ", ".join([type(self.dataset).__name__, *[samples] * bool(samples)])), ("batches", size),
                ("workers", self._workers_text())]

    def __repr__(self) -> str:
        return as_text("DataLoader", self._rows())

    def _repr_html_(self) -> str:
        return as_html("DataLoader", self._rows())

    def __iter__(self) -> Epoch:  # type: ignore[override]  # torch declares its own iterator class
        resume, self._resume = self._resume, None
        return Epoch(self, resume)

    def close(self) -> None:
        """Stops the idle workers; the next loop starts new ones. Deleting the loader does the same."""
        self._idle_pool.close()
        self._idle_pool = IdlePool()

    # --- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position of the newest loop, after its last batch: plain data and small tensors.

        A loader created alike continues exactly, with any number of workers for a map-style dataset: the state contains
        the states of the samplers' generators at the beginning of the epoch. For an iterable dataset, its state_dict or
        that of its iterator is used; without one, the data is read again up to the position and discarded.

        Raises:
            ArgumentError: in_order=False has no defined position.
        """
        if self._resume is not None:
            return dict(self._resume)
        if self.num_workers and not self.in_order:
            raise ArgumentError("DataLoader.state_dict: found in_order=False; expected in_order=True, which has a "
                                "defined resume position")
        if self._progress is None:
            return {"version": STATE_VERSION, "begun": False,
                    "generators": generator_states.own_states(generator_states.generators_of(self))}
        return {"version": STATE_VERSION, "begun": True, **self._progress}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from `state`, a result of state_dict(), in the next loop.

        Raises:
            ArgumentError: It does not fit this loader.
        """
        check_state(state, STATE_VERSION)
        for key in ("begun", "generators", *(_LOOP_KEYS if state.get("begun") else ())):
            if key not in state:
                raise ArgumentError(f"state: found no {key!r}; expected the result of state_dict()")
        for key in ("yielded", "round") if state["begun"] else ():
            check_int(f"state: {key}", state[key], 0)
        own = len(generator_states.generators_of(self))
        if len(state["generators"]) != own:
            raise ArgumentError(f"state: generators: found {len(state['generators'])}; expected {own}, as in this "
                                "loader")
        streams = state.get("streams")
        if state["begun"] and (streams is not None) != (self._dataset_kind == _DatasetKind.Iterable):
            raise ArgumentError("state: found that of another kind of dataset; expected iterable or map-style, as in "
                                "this loader")
        if streams is not None and len(streams["workers"]) != max(1, self.num_workers):
            raise ArgumentError(f"state: workers of an iterable dataset: found {len(streams['workers'])}; expected "
                                f"{max(1, self.num_workers)}, as in this loader")
        self._resume = state

    # --- for copies -------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_idle_pool", "_progress", "_resume")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _idle_pool=IdlePool(), _progress=None, _resume=None)

    # --- for the iterator -------------------------------------------------------------------------------------------

    def _job(self) -> torch_job.TorchJob:
        return torch_job.TorchJob(
            dataset=self.dataset, collate_fn=self.collate_fn, worker_init_fn=self.worker_init_fn,
            iterable=self._dataset_kind == _DatasetKind.Iterable, auto_collation=self._auto_collation,
            drop_last=self.drop_last, batch_size=self.batch_size, by_index=self._by_index)

    def _new_pool(self) -> Pool:
        iterable = self._dataset_kind == _DatasetKind.Iterable
        free = not getattr(sys, "_is_gil_enabled", lambda: True)()
        if self.workers == "threads" or self.workers is None and free and not iterable:
            return ThreadPool(self.num_workers)
        return ProcessPool(self.num_workers, iterable, forks=self._forks())

    def _forks(self) -> bool:
        """Returns whether workers are forked; daemonic processes cannot have children of multiprocessing."""
        context = self.multiprocessing_context or multiprocessing.get_context()
        return context.get_start_method() == "fork" and not multiprocessing.current_process().daemon
