"""The job of a torch dataset: fetches samples, seeds the generators, assembles batches.

Before every sample of a map-style dataset, the global generators of random, numpy.random and torch are seeded with
(base seed, position of the sample in the epoch), and again before the batch is assembled. Augmentation that draws from
them is therefore the same for any number of workers and after a resume. For iterable datasets the generators are seeded
once per worker and epoch, as in torch.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import _utils

from unstarve.errors import InputError
from unstarve.workers import batch_memory
from unstarve.workers.seeding import seed_sample
from unstarve.workers.mismatch import find_mismatch

_COLLATE = 1 << 63  # distinguishes the key of a batch from those of samples

_current = threading.local()


def worker_info() -> types.SimpleNamespace | None:
    """Returns id, num_workers, seed and dataset of the calling worker thread; None in other threads."""
    return getattr(_current, "info", None)


def epoch_seed() -> int:
    """Returns the base seed of the samples that the calling thread is fetching."""
    seed: int = _current.epoch_seed
    return seed


@dataclasses.dataclass
class TorchJob:
    """A job.Job over a torch dataset, created once per epoch."""

    dataset: Any
    collate_fn: Any
    worker_init_fn: Any
    iterable: bool  # the dataset is an IterableDataset
    auto_collation: bool  # indices are lists, one per batch
    drop_last: bool
    batch_size: int | None
    by_index: bool  # seeds depend on the indices of the samples (integers), not on their positions

    @property
    def splits(self) -> bool:
        """Whether a batch may be made in parts. A dataset with __getitems__ receives whole batches."""
        return self.auto_collation and not getattr(self.dataset, "__getitems__", None)

    def enter(self, worker: int, workers: int, base_seed: int, in_thread: bool) -> None:
        """Seeds the generators (not in threads, which share them), sets worker_info(), and calls worker_init_fn."""
        if in_thread:
            _current.info = types.SimpleNamespace(id=worker, num_workers=workers, seed=base_seed + worker,
                                                  dataset=self.dataset, worker_method="thread")
        else:
            seed = seed_all(base_seed, worker)
            _utils.worker._worker_info = _utils.worker.WorkerInfo(id=worker, num_workers=workers, seed=seed,
                                                                  dataset=self.dataset)
        if self.worker_init_fn is not None:
            self.worker_init_fn(worker)

    def leave(self) -> None:
        _utils.worker._worker_info = None

    def fetcher(self, sample_seed: int, seeded: bool = True) -> Fetcher:
        return Fetcher(self, sample_seed, seeded)

    def stream(self, resume: tuple[Any, int] | None = None) -> Stream:
        return Stream(self, resume)


def seed_all(base_seed: int, worker: int) -> int:
    """Seeds the generators of a worker at the beginning of an epoch, as torch does."""
    seed = base_seed + worker
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(_utils.worker._generate_state(base_seed, worker))
    return seed


def collate(function: Callable[[Any], Any], samples: Any) -> Any:
    """Returns function(samples).

    Hides from torch's default_collate that it runs in a worker, where it would allocate shared memory of its own.
    """
    if function is not _utils.collate.default_collate:
        return function(samples)
    info, _utils.worker._worker_info = _utils.worker._worker_info, None
    try:
        return batch_memory.collate(samples)
    finally:
        _utils.worker._worker_info = info


class Fetcher:
    """Loads samples and batches of a map-style dataset.

    `seeded` is False in threads: they share the global generators.
    """

    def __init__(self, job: TorchJob, base_seed: int, seeded: bool = True) -> None:
        self._job = job
        self._base_seed = base_seed
        self._seeded = seeded

    def samples(self, indices: list[Any], position: int) -> Any:
        """Returns the samples of `indices`, or (index, sample) pairs if the job seeds by index.

        `position` is the position in the epoch of the first one. The result is a list, except that of a __getitems__,
        which may be a whole batch, as in torch.
        """
        dataset, by_index = self._job.dataset, self._job.by_index
        if getattr(dataset, "__getitems__", None):
            self._seed(indices[0] if by_index and len(indices) else position)
            found = dataset.__getitems__(indices)
            return list(zip(indices, self._counted(list(found), len(indices)), strict=True)) if by_index else found
        made = []
        for offset, index in enumerate(indices):
            self._seed(index if by_index else position + offset)
            made.append((index, dataset[index]) if by_index else dataset[index])
        return made

    def _counted(self, samples: list[Any], expected: int) -> list[Any]:
        if len(samples) != expected:
            raise InputError(f"{type(self._job.dataset).__name__}.__getitems__: found {len(samples)} samples; expected "
                             f"{expected}, one per index")
        return samples

    def collate(self, samples: Any, position: int) -> Any:
        """Returns the batch of a result of samples(). Raises InputError naming a sample that cannot be stacked."""
        self._seed(_COLLATE | position)
        function = self._job.collate_fn
        if not self._job.by_index:
            return collate(function, samples)
        plain = [sample for _, sample in samples]
        if function is not _utils.collate.default_collate:
            return collate(function, plain)
        try:
            return collate(function, plain)
        except Exception as error:
            found = find_mismatch(plain)
            if found is None:
                raise
            odd, other, difference = found
            functions = getattr(self._job.dataset, "functions", ())
            maker = f"map({functions[-1].name})" if functions and hasattr(functions[-1], "name") else "from_torch"
            raise InputError(f"{maker}: sample {samples[odd][0]} cannot be stacked with the others of its batch, such "
                             f"as sample {samples[other][0]}: {difference}. Return one shape and structure for all "
                             "samples, or use batch(collate=).") from error

    def whole(self, index: Any, position: int) -> Any:
        """Returns the batch of a list of indices or, without automatic batching, the converted sample of one index."""
        if self._job.auto_collation:
            return self.collate(self.samples(index, position), position)
        self._seed(index if self._job.by_index else position)
        return self._job.collate_fn(self._job.dataset[index])

    def _seed(self, key: int) -> None:
        _current.epoch_seed = self._base_seed
        if self._seeded:
            seed_sample(self._base_seed, key)


class Stream:
    """Loads the batches of an IterableDataset, and its state if it has state_dict and load_state_dict."""

    def __init__(self, job: TorchJob, resume: tuple[Any, int] | None = None) -> None:
        self._job = job
        state, skip = resume or (None, 0)
        if state is not None and state[0] == "dataset":
            job.dataset.load_state_dict(state[1])
        self._fetcher = _utils.fetch._IterableDatasetFetcher(
            job.dataset, job.auto_collation, functools.partial(collate, job.collate_fn), job.drop_last)
        if state is not None and state[0] == "iterator":
            self._fetcher.dataset_iter.load_state_dict(state[1])
        if state is None:
            for _ in range(skip):
                try:
                    self._fetcher.fetch(self._request(job.batch_size))
                except StopIteration:
                    break

    @staticmethod
    def _request(size: int | None) -> range | None:
        return None if size is None else range(size)

    def next(self, size: int | None) -> Any:
        """Returns a batch of `size` samples, or one sample if it is None. Raises StopIteration at the end."""
        return self._fetcher.fetch(self._request(size))

    def state(self) -> tuple[str, Any] | None:
        """Returns ("iterator" or "dataset", its state dict), or None if neither has one."""
        for name, holder in (("iterator", self._fetcher.dataset_iter), ("dataset", self._job.dataset)):
            if hasattr(holder, "state_dict") and hasattr(holder, "load_state_dict"):
                return name, holder.state_dict()
        return None
