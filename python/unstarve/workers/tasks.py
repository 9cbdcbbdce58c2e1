"""A job of a torch dataset: fetch samples, seed the generators, assemble batches.

Randomness: before every sample of a map-style dataset the global generators of random, numpy.random and torch are
seeded by (base seed, position of the sample in the epoch), and once more before the batch is assembled. So
augmentation that draws from them is the same for any number of workers, whoever gets which sample, and after a resume.
Iterable datasets draw from generators that are seeded once per worker and epoch, as torch does it.
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
from unstarve.workers.seeding import seed_sample
from unstarve.workers.unlike import unlike

_COLLATE = 1 << 63  # sets a batch's key apart from its samples'


_current = threading.local()


def worker_info() -> types.SimpleNamespace | None:
    """Of the calling worker thread (id, num_workers, seed, dataset), or None elsewhere."""
    return getattr(_current, "info", None)


def epoch_seed() -> int:
    """What the samples that the calling thread fetches are seeded by, with their keys."""
    seed: int = _current.epoch_seed
    return seed


@dataclasses.dataclass
class Job:
    """What is loaded (job.Job): made once per epoch, sent to the workers as it is."""

    dataset: Any
    collate_fn: Any
    worker_init_fn: Any
    iterable: bool  # the dataset is an IterableDataset
    auto_collation: bool  # an index is a list of indices
    drop_last: bool
    batch_size: int | None
    by_index: bool  # the seeds come from the samples' indices (whole numbers) instead of their positions

    @property
    def splits(self) -> bool:
        """Whether a batch may be made in parts; a dataset with __getitems__ asked for whole batches."""
        return self.auto_collation and not getattr(self.dataset, "__getitems__", None)

    def enter(self, worker: int, workers: int, base_seed: int, in_thread: bool) -> None:
        """Seeds and tells the worker who it is, then calls worker_init_fn. Threads share the generators: not seeded."""
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
    """The worker's generators at the beginning of an epoch, as torch seeds them."""
    seed = base_seed + worker
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(_utils.worker._generate_state(base_seed, worker))
    return seed


def collate(function: Callable[[Any], Any], samples: list[Any]) -> Any:
    """function(samples). torch's default_collate makes plain memory here: in a worker it would make shared memory of
    its own, out of which the batch would be copied into the arena."""
    if function is not _utils.collate.default_collate:
        return function(samples)
    info, _utils.worker._worker_info = _utils.worker._worker_info, None
    try:
        return function(samples)
    finally:
        _utils.worker._worker_info = info


class Fetcher:
    """Samples and batches of a map-style dataset.

    seeded: False leaves the global generators alone, for threads, which share them.
    """

    def __init__(self, job: Job, base_seed: int, seeded: bool = True) -> None:
        self._job = job
        self._base_seed = base_seed
        self._seeded = seeded

    def samples(self, indices: list[Any], position: int) -> list[Any]:
        """A list of the samples of `indices`, the first of which is at `position` of the epoch; where the job goes by
        index, of pairs with their index."""
        dataset, by_index = self._job.dataset, self._job.by_index
        if getattr(dataset, "__getitems__", None):
            self._seed(indices[0] if by_index and len(indices) else position)
            made = list(dataset.__getitems__(indices))
            return list(zip(indices, self._counted(made, len(indices)), strict=True)) if by_index else made
        made = []
        for offset, index in enumerate(indices):
            self._seed(index if by_index else position + offset)
            made.append((index, dataset[index]) if by_index else dataset[index])
        return made

    def _counted(self, samples: list[Any], expected: int) -> list[Any]:
        if len(samples) != expected:
            raise InputError(f"{type(self._job.dataset).__name__}.__getitems__: found {len(samples)} samples, expected "
                             f"one for each of {expected} indices")
        return samples

    def collate(self, samples: list[Any], position: int) -> Any:
        """The batch of what samples() gave. InputError that names the one that default_collate cannot stack."""
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
            found = unlike(plain)
            if found is None:
                raise
            odd, usual, how = found
            functions = getattr(self._job.dataset, "functions", ())
            maker = f"map: what {functions[-1].name} made of" if functions else "from_torch:"
            raise InputError(f"{maker} sample {samples[odd][0]} is unlike the others of its batch, such as sample "
                             f"{samples[usual][0]}: {how}; give all one shape and structure, or batch(collate=)"
                             ) from error

    def whole(self, index: Any, position: int) -> Any:
        """The batch of a list of indices, or, without automatic batching, the converted sample of one index."""
        if self._job.auto_collation:
            return self.collate(self.samples(index, position), position)
        self._seed(index if self._job.by_index else position)
        return self._job.collate_fn(self._job.dataset[index])

    def _seed(self, key: int) -> None:
        _current.epoch_seed = self._base_seed
        if self._seeded:
            seed_sample(self._base_seed, key)


class Stream:
    """The batches of an IterableDataset, with its state where it has one (state_dict and load_state_dict)."""

    def __init__(self, job: Job, resume: tuple[Any, int] | None = None) -> None:
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
        """A batch of `size` samples, or one sample where it is None. StopIteration at the end."""
        return self._fetcher.fetch(self._request(size))

    def state(self) -> tuple[str, Any] | None:
        """("iterator" or "dataset", its state dict), or None where neither has one."""
        for name, holder in (("iterator", self._fetcher.dataset_iter), ("dataset", self._job.dataset)):
            if hasattr(holder, "state_dict") and hasattr(holder, "load_state_dict"):
                return name, holder.state_dict()
        return None
