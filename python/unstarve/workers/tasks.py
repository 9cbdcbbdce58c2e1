"""What a worker does, whether thread or process: fetch samples, seed the generators, assemble batches.

Randomness: before every sample of a map-style dataset the global generators of random, numpy.random and torch are
seeded by (base seed, position of the sample in the epoch), and once more before the batch is assembled. So
augmentation that draws from them is the same for any number of workers, whoever gets which sample, and after a resume. Iterable datasets
draw from generators that are seeded once per worker and epoch, as torch does it.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import _utils

_MASK = (1 << 64) - 1
_COLLATE = 1 << 63  # sets a batch's key apart from its samples'


@dataclasses.dataclass
class Job:
    """What is loaded: made once per epoch, sent to the workers as it is."""

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


def seed_all(base_seed: int, worker: int) -> int:
    """The worker's generators at the beginning of an epoch, as torch seeds them."""
    seed = base_seed + worker
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(_utils.worker._generate_state(base_seed, worker))
    return seed


def seed_sample(base_seed: int, key: int) -> None:
    """Seeds the three global generators by (base_seed, key). About 9 us."""
    # splitmix64 of the pair: neighbouring keys give unrelated states.
    value = (base_seed + (key + 1) * 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    value ^= value >> 31
    random.seed(value)
    torch.default_generator.manual_seed(value)  # torch.manual_seed would queue a call for every device, each time
    np.random.seed(value & 0xFFFFFFFF)


class kept_generators:  # noqa: N801  (a context manager, named as it reads)
    """A block that may seed the global generators: they are afterwards as they were before."""

    def __enter__(self) -> None:
        self._states = random.getstate(), torch.get_rng_state(), np.random.get_state(legacy=False)

    def __exit__(self, *_: object) -> None:
        random.setstate(self._states[0])
        torch.set_rng_state(self._states[1])
        np.random.set_state(self._states[2])


def collate(function: Callable[[Any], Any], samples: list[Any]) -> Any:
    """function(samples). torch's default_collate makes plain memory here: in a worker it would make shared memory of its
    own, out of which the batch would be copied into the arena."""
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
        """A list of the samples of `indices`, the first of which is at `position` of the epoch."""
        dataset = self._job.dataset
        if getattr(dataset, "__getitems__", None):
            self._seed(indices[0] if self._job.by_index and len(indices) else position)
            return list(dataset.__getitems__(indices))
        made = []
        for offset, index in enumerate(indices):
            self._seed(index if self._job.by_index else position + offset)
            made.append(dataset[index])
        return made

    def collate(self, samples: list[Any], position: int) -> Any:
        self._seed(_COLLATE | position)
        return collate(self._job.collate_fn, samples)

    def whole(self, index: Any, position: int) -> Any:
        """The batch of a list of indices, or, without automatic batching, the converted sample of one index."""
        if self._job.auto_collation:
            return self.collate(self.samples(index, position), position)
        self._seed(index if self._job.by_index else position)
        return self._job.collate_fn(self._job.dataset[index])

    def _seed(self, key: int) -> None:
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
