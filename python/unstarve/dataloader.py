"""A drop-in for torch.utils.data.DataLoader: its arguments, batches and errors; another engine, and exact resume.

    loader = un.DataLoader(dataset, batch_size=256, shuffle=True, num_workers=8)

What is the same: the order of samples for the same sampler and generator, samplers, collate functions, worker_init_fn,
get_worker_info(), how errors are raised; it is a torch DataLoader for isinstance.

What differs with num_workers > 0:
- Helper processes are started anew, never forked; or threads: `workers`. The dataset, collate_fn and worker_init_fn
  must be picklable for processes; they are pickled once, and large arrays and tensors in them exist once for all.
- Samples go to whoever is free, not batches to fixed workers: a slow sample delays only its own batch. A dataset object
  that keeps state of its own per worker sees samples in an order that depends on timing.
- The global generators are seeded for every sample from the epoch's base seed and the sample's position: augmentation
  that draws from random, numpy.random or torch is the same for any number of helper processes, also after a resume.
- Processes are kept for the next loop. Unless persistent_workers is set, they get the dataset as it is by then, new
  seeds and a new worker_init_fn call, as if they were new.
- Batches lie in memory that a helper wrote and this process reads without a copy, used again once they are dropped;
  /dev/shm is not used, except by torch where a collate_fn of your own calls default_collate. Nothing is left behind,
  whichever process is killed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from unstarve.frameworks import needed

with needed("torch", "DataLoader"):
    import torch
    from torch.utils.data import Dataset, IterDataPipe, MapDataPipe, Sampler
    from torch.utils.data.dataloader import DataLoader as TorchDataLoader
    from torch.utils.data.dataloader import _DatasetKind

from unstarve.arguments import whole
from unstarve.errors import ArgumentError
from unstarve.workers import generators, tasks
from unstarve.workers.epoch import Epoch
from unstarve.workers.pools import Home, Pool

STATE_VERSION = 1
# What a state has besides where a loop was begun.
_OF_BEGUN = ("finished", "yielded", "sampler", "global", "base_seed", "round", "streams")
_Sample = TypeVar("_Sample", covariant=True)


def get_worker_info() -> Any:
    """torch.utils.data.get_worker_info(), which also works in worker threads: id, num_workers, seed, dataset."""
    return tasks.worker_info() or torch.utils.data.get_worker_info()


class DataLoader(TorchDataLoader[_Sample]):
    """Batches of a torch dataset; arguments as torch.utils.data.DataLoader (dataset, batch_size, shuffle, sampler,
    batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout, worker_init_fn, generator, prefetch_factor,
    persistent_workers, pin_memory_device, in_order), and:

    workers: "processes", "threads", or None: threads where the interpreter has no global lock and the dataset is
        map-style, else processes. Threads share one dataset object and the process's random generators;
        torch's get_worker_info() is None there, unstarve.dataloader's works.
    multiprocessing_context: checked as torch does; helpers are spawned whatever it says.

    Every loop is one epoch, its order drawn from `generator` or torch's global one, as torch draws it. Two loops may
    run at the same time, each with workers of its own; state_dict is that of the newest.

    Raises ValueError and the like as torch does; ArgumentError for what cannot be sent to helpers, and for DataPipes.
    A helper that dies raises RuntimeError at the loop, after the batches that were already complete.
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
            raise ArgumentError(f"DataLoader: {type(dataset).__name__} is a DataPipe; expected a Dataset")
        if workers not in (None, "processes", "threads"):
            raise ArgumentError(f"DataLoader: workers {workers!r}, expected 'processes', 'threads' or None")
        if workers == "threads" and isinstance(dataset, torch.utils.data.IterableDataset):
            raise ArgumentError("DataLoader: workers='threads' with an IterableDataset, which threads cannot share; "
                                "expected 'processes'")
        self.workers = workers
        self._by_index = False
        self._first_position = 0  # where in the epoch the first sample of the next loop stands
        self._home = Home()
        self._rounds = 0  # epochs begun
        self._epoch_base_seed: int | None = None  # of the newest epoch; persistent workers keep it
        self._progress: dict[str, Any] | None = None
        self._resume: Mapping[str, Any] | None = None
        super().__init__(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,
                         drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
                         prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
                         pin_memory_device=pin_memory_device, in_order=in_order)
        method = self.multiprocessing_context and self.multiprocessing_context.get_start_method()
        if method == "fork":
            warnings.warn("unstarve.DataLoader: helper processes are spawned, not forked as multiprocessing_context "
                          "says", stacklevel=2)

    def __iter__(self) -> Epoch:  # type: ignore[override]  # as torch declares it: its own iterator class
        resume, self._resume = self._resume, None
        return Epoch(self, resume)

    def close(self) -> None:
        """Ends the idle workers, which the end of the loader does too; the next loop starts new ones."""
        self._home.close()
        self._home = Home()

    # --- state ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the newest loop stands, after the last batch that it gave: plain data and small tensors.

        It holds the samplers' generators (their states at the epoch's beginning), so that a loader made alike goes on
        exactly, with any number of workers for a map-style dataset. An iterable dataset's own state_dict, or its
        iterator's, is used where it has one; others are read again up to the place, unseen. ArgumentError where
        workers' batches may overtake each other (in_order=False).
        """
        if self._resume is not None:
            return dict(self._resume)
        if self.num_workers and not self.in_order:
            raise ArgumentError("DataLoader.state_dict: in_order=False has no place in the order to come back to")
        if self._progress is None:
            return {"version": STATE_VERSION, "begun": False,
                    "generators": generators.own_states(generators.of(self))}
        return {"version": STATE_VERSION, "begun": True, **self._progress}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on where `state` was taken. ArgumentError when it does not fit this loader."""
        if not isinstance(state, Mapping):
            raise ArgumentError(f"state: found {state!r}, expected the dict that state_dict() gave")
        if state.get("version") != STATE_VERSION:
            raise ArgumentError(f"state: version {state.get('version')!r}, expected {STATE_VERSION}")
        for key in ("begun", "generators", *(_OF_BEGUN if state.get("begun") else ())):
            if key not in state:
                raise ArgumentError(f"state: found no {key!r}, expected the dict that state_dict() gave")
        for key in ("yielded", "round") if state["begun"] else ():
            whole(f"state: {key}", state[key], 0)
        if len(state["generators"]) != len(generators.of(self)):
            raise ArgumentError(f"state: {len(state['generators'])} generator(s), but this loader has "
                                f"{len(generators.of(self))}")
        streams = state.get("streams")
        if state["begun"] and (streams is not None) != (self._dataset_kind == _DatasetKind.Iterable):
            raise ArgumentError("state: of an iterable dataset, but the loader's is map-style, or the other way round")
        if streams is not None and len(streams["workers"]) != max(1, self.num_workers):
            raise ArgumentError(f"state: {len(streams['workers'])} worker(s) of an iterable dataset, but this loader "
                                f"has {max(1, self.num_workers)}")
        self._resume = state

    # --- for copies -------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_home", "_progress", "_resume")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _home=Home(), _progress=None, _resume=None)

    # --- for the iterator -------------------------------------------------------------------------------------------

    def _job(self) -> tasks.Job:
        return tasks.Job(dataset=self.dataset, collate_fn=self.collate_fn, worker_init_fn=self.worker_init_fn,
                         iterable=self._dataset_kind == _DatasetKind.Iterable, auto_collation=self._auto_collation,
                         drop_last=self.drop_last, batch_size=self.batch_size, by_index=self._by_index)

    def _new_pool(self) -> Pool:
        iterable = self._dataset_kind == _DatasetKind.Iterable
        free = not getattr(sys, "_is_gil_enabled", lambda: True)()
        if self.workers == "threads" or self.workers is None and free and not iterable:
            from unstarve.workers.threads import ThreadPool

            return ThreadPool(self.num_workers)
        from unstarve.workers.processes import HelperPool

        return HelperPool(self.num_workers, iterable)
